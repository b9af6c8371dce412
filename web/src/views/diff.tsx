import { diffWordsWithSpace } from 'diff';
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Diff, FileDiff } from '../source/data.ts';
import { data, errorText } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import { counted, exact } from '../text/format.ts';
import { line, visible } from '../text/visible.ts';
import { Changed, Note, Problem } from './bits.tsx';
import { type Row, rowsOf } from './patch.ts';

/** Longer lines are not compared word by word. */
const LONGEST = 500;
/** The longest time for which two lines are compared before they are shown as they are. */
const TIMEOUT = 20;
/** Lines of a file that are shown before it is opened. */
const FIRST = 300;

/** The changes of a frame's files. */
export function DiffView({ handle }: { handle: string }) {
  const loaded = useLoaded(handle, () => data().diff(handle));
  const further = useSignal<{ handle: string; pages: Diff[] }>({ handle, pages: [] });
  const problem = useSignal('');
  const { value, problem: wrong } = loaded.value;
  if (wrong) return <Note>{wrong}</Note>;
  if (!value) return <Note>Reading …</Note>;
  const pages = [value, ...(further.value.handle === handle ? further.value.pages : [])];
  const files = pages.flatMap((page) => page.files);
  const next = pages.at(-1)?.more;
  const more = async (): Promise<void> => {
    try {
      further.value = { handle, pages: [...pages.slice(1), await data().diff(handle, next)] };
    } catch (error) {
      problem.value = errorText(error);
    }
  };
  return (
    <div class="diffs">
      {files.length === 0 ? <Note>{value.why ?? 'No file was changed.'}</Note> : null}
      {files.length > 0 ? (
        <p class="dim">
          {counted(value.total, 'file')}
          {value.source === 'calls' ? '; rebuilt from the edits of the frame, since no states of files were recorded: line numbers may be off, or missing' : ''}
          {value.since === 'before' ? '; the state before is older than the frame, so earlier changes may be among these' : ''}
          {value.until === 'now' ? '; up to now' : ''}.
        </p>
      ) : null}
      {files.map((file) => <FileView key={file.path} file={file} handle={handle} isRebuilt={value.source === 'calls'} />)}
      <Problem text={problem.value} />
      {next !== undefined ? <button type="button" onClick={more}>Show more files</button> : null}
    </div>
  );
}

function FileView({ file, handle, isRebuilt }: { file: FileDiff; handle: string; isRebuilt: boolean }) {
  const whole = useSignal<FileDiff | undefined>(undefined);
  const problem = useSignal('');
  const all = useSignal(false);
  const it = whole.value ?? file;
  const rows = useMemo(() => rowsOf(it.patch ?? '', isRebuilt), [it.patch, isRebuilt]);
  const shown = all.value ? rows : rows.slice(0, FIRST);
  const readWhole = async (): Promise<void> => {
    try {
      whole.value = (await data().diff(handle, undefined, file.path)).files[0];
    } catch (error) {
      problem.value = errorText(error);
    }
  };
  return (
    <details class="file" open={rows.length < 2 * FIRST}>
      <summary>
        <bdi class="path">{line(it.path)}</bdi> <span class="tag">{it.kind}</span>{' '}
        {it.binary ? <span class="tag">binary</span> : <Changed added={it.added} removed={it.removed} />}
        {it.seen === false ? <span class="tag" title="No tool of the frame was seen writing it">not seen</span> : null}
      </summary>
      {rows.length === 0 ? <Note>{it.binary ? 'A binary file; its content is not shown.' : 'Its content is not recorded.'}</Note> : null}
      {rows.length > 0 ? (
        <div class="patch" tabIndex={0} role="region" aria-label={`Changes of ${line(it.path)}`}>
          <table>
            <tbody>{shown.map((row, at) => <RowView key={at} row={row} />)}</tbody>
          </table>
        </div>
      ) : null}
      {shown.length < rows.length ? (
        <button type="button" onClick={() => { all.value = true; }}>Show {exact(rows.length - shown.length)} further lines</button>
      ) : null}
      {it.cut ? <button type="button" onClick={readWhole}>Read the whole file's changes</button> : null}
      <Problem text={problem.value} />
    </details>
  );
}

const SIGNS = { same: ' ', added: '+', removed: '−', place: '' };
const SPOKEN = { same: '', added: 'added', removed: 'removed', place: '' };

function RowView({ row }: { row: Row }) {
  if (row.kind === 'place') return <tr class="place"><td colSpan={4}>{visible(row.text)}</td></tr>;
  return (
    <tr class={row.kind}>
      <td class="number">{row.before ?? ''}</td>
      <td class="number">{row.after ?? ''}</td>
      <td class="mark"><span aria-hidden="true">{SIGNS[row.kind]}</span><span class="unseen">{SPOKEN[row.kind]}</span></td>
      <td class="code">{row.pair === undefined ? visible(row.text) : <Words row={row} />}</td>
    </tr>
  );
}

/** A line with the words that its pair does not have. */
function Words({ row }: { row: Row }) {
  const other = row.pair ?? '';
  const isLong = row.text.length > LONGEST || other.length > LONGEST;
  const [from, to] = row.kind === 'removed' ? [row.text, other] : [other, row.text];
  const changes = isLong ? undefined : diffWordsWithSpace(from, to, { timeout: TIMEOUT });
  const own = changes?.filter((change) => (row.kind === 'removed' ? !change.added : !change.removed));
  // Lines with hardly anything in common are no pair.
  const kept = own?.filter((change) => !change.added && !change.removed).reduce((sum, it) => sum + it.value.trim().length, 0) ?? 0;
  if (!own || kept * 3 < row.text.trim().length) return <>{visible(row.text)}</>;
  return (
    <>
      {own.map((change, at) => (change.added || change.removed ? <mark key={at}>{visible(change.value)}</mark> : visible(change.value)))}
    </>
  );
}
