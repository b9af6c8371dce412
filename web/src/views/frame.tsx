import { useEffect, useRef } from 'preact/hooks';
import type { ChangedFile, Details, Evidence, Frame } from '../source/data.ts';
import { data, frame, loaded, now, session, sessionOf, steers, tree } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import { address, go, route, type Tab, TABS, towards } from '../state/route.ts';
import { perform } from '../state/steer.ts';
import { unpin } from '../state/acts.ts';
import { ago, counted, date, duration, exact, isSameDay, timeShort, tokens } from '../text/format.ts';
import { command } from '../text/command.ts';
import { line } from '../text/visible.ts';
import { Actions } from './actions.tsx';
import { Now } from './now.tsx';
import { Changed, Command, Copy, Guard, Line, Note, Sign, Tabs, Text } from './bits.tsx';
import { DiffView } from './diff.tsx';
import { FoldView } from './fold.tsx';
import { worked } from './flame-layout.ts';
import { MessageList } from './messages.tsx';
import { RequestView } from './request.tsx';
import { standing } from './words.ts';

const NAMES: Record<Tab, string> = { overview: 'Overview', diff: 'Diff', log: 'Log', fold: 'Fold', request: 'As sent' };

/** All about the chosen frame. */
export function FrameView() {
  const it = frame.value;
  const wanted = route.value.frame;
  const box = useRef<HTMLElement>(null);
  // Another frame is shown from its top.
  useEffect(() => {
    box.current?.scrollTo(0, 0);
    if ((box.current?.getBoundingClientRect().top ?? 0) < 0) box.current?.scrollIntoView();
  }, [it?.handle]);
  if (!it) {
    return (
      <section id="detail" class="detail" tabIndex={-1} aria-label="Frame" ref={box}>
        {wanted || !loaded.value ? null : <Now />}
        <Note>{loaded.value && tree.value.frames.length === 0 ? '' : wanted && loaded.value ? <>There is no frame <Line text={wanted} />.</> : 'Choose a frame to see its results, files and messages.'}</Note>
      </section>
    );
  }
  const { tab } = route.value;
  const above = tree.value.above(it);
  return (
    <section id="detail" class="detail" tabIndex={-1} aria-label={`Frame ${it.handle}`} ref={box}>
      <header>
        <button type="button" class="back" onClick={() => go({ frame: undefined, tab: 'overview' })}>← All frames</button>
        {above.length > 0 ? (
          <nav class="above" aria-label="Frames above it">
            {above.map((one, at) => <span key={one.handle}>{at > 0 ? <span aria-hidden="true"> › </span> : null}<Above frame={one} /></span>)}
          </nav>
        ) : null}
        <h2><Sign frame={it} /> <span class="handle">{it.handle}</span> <Line text={it.title} /></h2>
        <p class="dim facts-line">{facts(it)}</p>
        {it.unfinished ? <p class="unfinished">Unfinished: <Line text={it.unfinished} /></p> : null}
        {steers.value ? <Actions frame={it} /> : null}
      </header>
      <Tabs
        name="About the frame"
        id="tab"
        all={TABS.map((one) => ({ id: one, name: NAMES[one], note: one === 'diff' && it.files?.length ? exact(it.files.length) : '' }))}
        chosen={tab}
        choose={(to) => go({ tab: to }, true)}
      />
      <div class="panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} tabIndex={0} key={`${it.handle} ${tab}`}>
        <Guard>
          {tab === 'overview' ? <Overview frame={it} /> : null}
          {tab === 'diff' ? <DiffView handle={it.handle} /> : null}
          {tab === 'log' ? <Log handle={it.handle} /> : null}
          {tab === 'fold' ? <FoldView handle={it.handle} /> : null}
          {tab === 'request' ? <Request frame={it} /> : null}
        </Guard>
      </div>
    </section>
  );
}

/** A link to a frame above, with its title. */
const Above = ({ frame: it }: { frame: Frame }) => (
  <a href={address(towards({ frame: it.handle, tab: 'overview' }))} title={line(it.title)}><span class="handle">{it.handle}</span> <Line text={it.title} /></a>
);

function facts(it: Frame): string {
  const time = worked(it, now.value);
  const isGoingOn = it.status === 'in_progress' && !it.imported && !sessionOf(it.session)?.recorded;
  const last = isGoingOn ? sessionOf(it.session)?.at : undefined;
  return [
    standing(it).name,
    it.agent ? line(it.agent) : '',
    it.status === 'planned' ? `planned ${date(it.createdAt)}` : `begun ${date(it.begunAt ?? it.createdAt)}`,
    it.endedAt ? `ended ${isSameDay(it.endedAt, it.begunAt ?? it.createdAt) ? timeShort(it.endedAt) : date(it.endedAt)}` : '',
    time > 0 ? `${isGoingOn ? 'open for' : 'took'} ${duration(time)}` : '',
    last ? `its session was last active ${ago(last, now.value)}` : '',
    it.tokens ? `about ${tokens(it.tokens)} of work${it.ownTokens !== undefined && it.ownTokens < it.tokens ? `, ${exact(it.ownTokens)} of them in it and the others below` : ''}` : '',
  ].filter(Boolean).join(' · ');
}

function Request({ frame: it }: { frame: Frame }) {
  const id = it.session ?? session.value?.id;
  return id ? <RequestView session={id} frame={it.handle} /> : <Note>No session has worked in it yet.</Note>;
}

function Log({ handle }: { handle: string }) {
  const read = useLoaded(handle, () => data().log(handle));
  const { value, problem } = read.value;
  return (
    <>
      <Command text={command('log', handle)} />
      {problem ? <Note>{problem}</Note> : null}
      {!value && !problem ? <Note>Reading …</Note> : null}
      {value ? <MessageList first={value} more={(from) => data().log(handle, from)} /> : null}
    </>
  );
}

function Overview({ frame: it }: { frame: Frame }) {
  const read = useLoaded(it.handle, () => data().details(it.handle));
  const { value, problem } = read.value;
  if (problem) return <Note>{problem}</Note>;
  if (!value) return <Note>Reading …</Note>;
  return <Facts details={value} frame={it} />;
}

const SOURCES: Record<string, string> = {
  user: 'written by the user',
  compaction: "from the agent's compaction",
  agent_and_compaction: "from the agent and its compaction",
  model: 'written by the model that was set for it',
  last_words: "the agent's last words",
  extracted: 'extracted from its messages',
  children: 'the results of the frames that it replaces',
  callstack: '',
};

const FATES: Record<NonNullable<ChangedFile['fate']>, string> = { created: 'new', rewritten: 'written anew', removed: 'removed' };

/** The commands with which agents open a session. */
const OPENERS: Record<string, string> = { opencode: 'opencode -s', 'claude-code': 'claude --resume', codex: 'codex resume', pi: 'pi --session' };

/** The command that opens the frame's session in its agent, where there is one. */
function resume({ view, workedIn = '' }: Details): string | undefined {
  const opener = OPENERS[view?.host ?? ''];
  // An id that begins like an option would be taken for one.
  return opener && /^[\w.][\w.-]*$/.test(workedIn) ? `${opener} ${workedIn}` : undefined;
}

/** The checks of the work, its failures, and the files that no check has covered. */
function Checks({ evidence: { checks = [], failures = [], neverChecked, unchecked = [] } }: { evidence: Evidence }) {
  if (checks.length + failures.length + unchecked.length === 0 && !neverChecked) return null;
  return (
    <section>
      <h3>Checks</h3>
      <ul class="checks">
        {checks.map((check, at) => {
          const [standing, verdict] = check.passed === undefined ? ['', '? unknown'] : check.passed ? ['passed', '✓ passed'] : ['failed', '✗ failed'];
          return (
            <li key={at} class={standing}>
              <span class="verdict">{verdict}</span> <code>{line(check.line)}</code> {check.said ? <Line text={check.said} class="dim" /> : null}
            </li>
          );
        })}
        {failures.map(({ what, how }, at) => (
          <li key={`failure ${at}`} class="failed">
            <span class="verdict">✗ failed</span> <code>{line(what)}</code> <Line text={how} class="dim" />
          </li>
        ))}
      </ul>
      {neverChecked ? <p class="dim">Files were changed, and no test, linter or build was seen.</p> : null}
      {unchecked.length > 0 ? <p class="dim">Changed after the last check: {unchecked.map((path, at) => <>{at > 0 ? ', ' : ''}<bdi class="path">{line(path)}</bdi></>)}</p> : null}
    </section>
  );
}

function Facts({ details, frame: it }: { details: Details; frame: Frame }) {
  const { evidence = {}, view } = details;
  const files = evidence.changes ?? [];
  const resumed = resume(details);
  const pins = Object.entries(details.pins ?? {});
  const besides = [...new Set([...details.artifacts, ...(evidence.writtenBesides ?? [])])].filter((path) => !files.some((file) => file.path === path));
  const source = SOURCES[details.resultsSource ?? ''];
  return (
    <>
      {details.invalidationReason ? <p>Declared irrelevant: <Line text={details.invalidationReason} /></p> : null}
      {details.successCriteria && details.successCriteria !== details.title ? (
        <section><h3>What “done” means</h3><Text text={details.successCriteria} /></section>
      ) : null}
      {details.results ? (
        <section>
          <h3>Results {source ? <span class="dim">{source}</span> : null} <Copy text={details.results} name="Copy results" /></h3>
          <Text text={details.results} class="results" />
        </section>
      ) : <Note>{it.status === 'in_progress' ? 'It is being worked on; there are no results yet.' : 'It has no results.'}</Note>}
      {files.length + besides.length > 0 ? (
        <section>
          <h3>Files</h3>
          <ul class="files">
            {files.map((file) => (
              <li key={file.path}>
                <button type="button" class="link path" onClick={() => go({ tab: 'diff' })}><bdi>{line(file.path)}</bdi></button> <Changed added={file.added} removed={file.removed} />{' '}
                {file.fate ? <span class="tag">{FATES[file.fate]}</span> : null}{' '}
                {details.changedArtifacts?.[file.path] ? <span class="tag">changed since</span> : null}
              </li>
            ))}
            {besides.map((path) => <li key={path}><bdi class="path">{line(path)}</bdi></li>)}
            {evidence.moreChanges ? <li class="dim">and {counted(evidence.moreChanges, 'further file')}</li> : null}
          </ul>
        </section>
      ) : null}
      <Checks evidence={evidence} />
      {pins.length > 0 ? (
        <section>
          <h3>Pins</h3>
          <ul class="pinned">
            {pins.map(([number, text]) => (
              <li key={number}>
                <span class="handle">{number}</span> <Text text={text} />
                {steers.value ? <button type="button" onClick={() => perform([unpin(it, number, text)])}>Take back</button> : null}
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {details.decisions.length > 0 ? (
        <section>
          <h3>Decisions</h3>
          <ul>{details.decisions.map((decision, at) => <li key={at}><Text text={decision} /></li>)}</ul>
        </section>
      ) : null}
      <section>
        <h3>In a terminal</h3>
        <Command text={command('show', it.handle)} />
        {resumed ? <Command text={resumed} /> : null}
        {details.logPath ? <p>Log: <bdi class="path">{line(details.logPath)}</bdi> <Copy text={details.logPath} name="Copy path" /></p> : null}
        {details.workedIn ? <p>Session: <bdi class="path">{line(details.workedIn)}</bdi>{view?.sessionParent ? <>, a child of <bdi class="path">{line(view.sessionParent)}</bdi></> : null}</p> : null}
      </section>
    </>
  );
}
