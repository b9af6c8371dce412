import { useSignal } from '@preact/signals';
import { type ComponentType } from 'preact';
import type { Frame } from '../source/data.ts';
import { data, tree } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import { decide, invalidate, pin, plan, pop, push, replan, retry, rollback, unplan } from '../state/acts.ts';
import { done } from '../state/steer.ts';
import { counted, exact, tokens } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { Sheet } from './actions.tsx';
import { Line, Note, Problem, Text } from './bits.tsx';

export type FormName = 'push' | 'pop' | 'block' | 'plan' | 'edit' | 'unplan' | 'pin' | 'decide' | 'retry' | 'rollback' | 'invalidate';

interface FormProps {
  frame: Frame;
  close: () => void;
}

interface FieldProps {
  name: string;
  value: { value: string };
  long?: boolean;
  hint?: string;
  first?: boolean;
}

function Field({ name, value, long = false, hint, first = false }: FieldProps) {
  const set = (event: { currentTarget: { value: string } }): void => {
    value.value = event.currentTarget.value;
  };
  return (
    <label class="field">
      <span>{name}</span>
      {long
        ? <textarea rows={5} value={value.value} onInput={set} autofocus={first} />
        : <input type="text" value={value.value} onInput={set} autofocus={first} />}
      {hint ? <span class="dim">{hint}</span> : null}
    </label>
  );
}

const Failure = () => (done.value?.failed ? <Problem text={done.value.text} /> : null);
const NOTIFIED = 'The agent is told at its next request.';

function PushForm({ frame, close }: FormProps) {
  const [title, criteria] = [useSignal(''), useSignal('')];
  const isReady = title.value.trim() !== '' && criteria.value.trim() !== '';
  return (
    <Sheet title={`Push: open a frame below ${frame.handle}`} missing="It needs a title, and what “done” means." frame={frame} close={close} confirm="Push" ready={isReady} acts={[push(frame, title.value.trim(), criteria.value.trim())]}>
      <Field name="Title, two to five words" value={title} first />
      <Field name="What “done” means, so that it can be checked" value={criteria} long />
      <Note>The agent goes on in the new frame. {NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

function PopForm({ frame, close }: FormProps) {
  const [status, results] = [useSignal('completed'), useSignal('')];
  return (
    <Sheet title={`Pop: end ${frame.handle}`} frame={frame} close={close} confirm="Pop" ready acts={[pop(frame, status.value, results.value.trim())]}>
      <label class="field">
        <span>How it ended</span>
        <select value={status.value} onChange={(event) => { status.value = event.currentTarget.value; }}>
          <option value="completed">completed: its criteria are met</option>
          <option value="failed">failed: they can't be met</option>
        </select>
      </label>
      <Field name="Results" value={results} long hint="All that later work needs. Without any, they are extracted from its messages." first />
      <Note>
        Its steps{frame.tokens ? `, about ${tokens(frame.tokens)},` : ''} leave what the model is sent, and the results stand for
        them. Nothing is lost: the log stays. {NOTIFIED}
      </Note>
      <Failure />
    </Sheet>
  );
}

function BlockForm({ frame, close }: FormProps) {
  const results = useSignal('');
  return (
    <Sheet title={`Block: set ${frame.handle} aside`} missing="Say what it waits for." frame={frame} close={close} confirm="Block" ready={results.value.trim() !== ''} acts={[pop(frame, 'blocked', results.value.trim())]}>
      <Field name="What it waits for, and what was done so far" value={results} long first />
      <Note>It can be taken up again. {NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

function PlanForm({ frame, close }: FormProps) {
  const [titles, criteria] = [useSignal(''), useSignal('')];
  const all = titles.value.split('\n').map((title) => title.trim()).filter(Boolean);
  const children = all.map((title, at) => ({ title, successCriteria: criteria.value.split('\n')[at]?.trim() ?? '' }));
  return (
    <Sheet title={`Plan frames below ${frame.handle}`} missing="It needs a title." frame={frame} close={close} confirm="Plan" ready={children.length > 0} acts={[plan(frame, children)]}>
      <Field name="Titles, one a line, in the order of work" value={titles} long first />
      <Field name="What “done” means for each, one a line" value={criteria} long />
      <Note>{children.length > 0 ? `${counted(children.length, 'frame')} will be planned. ` : ''}{NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

function EditForm({ frame, close }: FormProps) {
  const read = useLoaded(frame.handle, () => data().details(frame.handle));
  const before = read.value.value?.successCriteria;
  const title = useSignal(frame.title);
  const criteria = useSignal<string | undefined>(undefined);
  const given = criteria.value ?? before ?? '';
  const text = { get value() { return given; }, set value(to: string) { criteria.value = to; } };
  const change = (now: string, was: string | undefined): string | undefined => (now.trim() === was ? undefined : now.trim());
  const to = { title: change(title.value, frame.title), successCriteria: change(given, before) };
  const from = { title: to.title && frame.title, successCriteria: to.successCriteria && before };
  const isChanged = Boolean(to.title ?? to.successCriteria);
  return (
    <Sheet title={`Edit the plan of ${frame.handle}`} missing="Nothing is changed yet." frame={frame} close={close} confirm="Change" ready={isChanged && title.value.trim() !== ''} acts={[replan(frame, to, from)]}>
      <Field name="Title" value={title} first />
      <Field name="What “done” means" value={text} long />
      <Failure />
    </Sheet>
  );
}

function UnplanForm({ frame, close }: FormProps) {
  const read = useLoaded(frame.handle, () => data().details(frame.handle));
  const parent = tree.value.get(frame.parent);
  const below = tree.value.children(frame.handle).length;
  const what = { title: frame.title, successCriteria: read.value.value?.successCriteria ?? '' };
  const undo = parent && below === 0 ? [plan(parent, [what])] : undefined;
  return (
    <Sheet title={`Unplan: take ${frame.handle} out of the plan`} frame={frame} close={close} confirm="Unplan" ready acts={[unplan(frame, undo)]}>
      <Note>
        {below > 0 ? `It goes with ${counted(below, 'frame')} planned right below it. ` : ''}
        To keep it in sight with a reason, invalidate it instead. {undo ? 'It can be planned again, under a new handle.' : 'This has no undo.'}
      </Note>
      <Failure />
    </Sheet>
  );
}

function PinForm({ frame, close }: FormProps) {
  const text = useSignal('');
  return (
    <Sheet title={`Pin a rule to ${frame.handle}`} missing="It needs the rule." frame={frame} close={close} confirm="Pin" ready={text.value.trim() !== ''} acts={[pin(frame, text.value.trim())]}>
      <Field name="The rule, word for word" value={text} long first />
      <Note>Every frame below sees it, and nothing trims it. {NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

function DecideForm({ frame, close }: FormProps) {
  const text = useSignal('');
  return (
    <Sheet title={`Record a decision in ${frame.handle}`} missing="It needs the decision." frame={frame} close={close} confirm="Record" ready={text.value.trim() !== ''} acts={[decide(frame, text.value.trim())]}>
      <Field name="What was decided, and why" value={text} long first />
      <Note>It holds in frames below, and stays with the frame: a decision has no undo. {NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

function RetryForm({ frame, close }: FormProps) {
  const read = useLoaded(frame.handle, () => data().details(frame.handle));
  const details = read.value.value;
  const pins = Object.values(details?.pins ?? {});
  return (
    <Sheet title={`Retry: try ${frame.handle} again`} frame={frame} close={close} confirm="Retry" ready acts={[retry(frame)]}>
      <p>A fresh frame beside it, with:</p>
      <ul>
        <li>the title <strong><Line text={frame.title} /></strong></li>
        <li>its criteria: {details?.successCriteria ? <Text text={details.successCriteria} /> : 'none'}</li>
        <li>{pins.length > 0 ? <>its pins: {pins.map((text, at) => <Text key={at} text={text} />)}</> : 'no pins'}</li>
        <li>what was learnt from this try, as its first decision</li>
      </ul>
      <Note>Files stay as they are: roll them back first if they should not. {NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

interface Rollback {
  restored: { path: string; how: string }[];
  left: { path: string; why: string }[];
  fromBefore?: boolean;
}

const HOW: Record<string, string> = {
  reverted: 'gets the content that it had when the frame began',
  removed: 'is deleted: it was not there when the frame began',
  brought_back: 'comes back: it was there when the frame began',
};
const WHY: Record<string, string> = { changed_since: 'was changed since the frame ended' };

/** The name of the button of a rollback. */
function toDo(restored: Rollback['restored']): string {
  const deleted = restored.filter((it) => it.how === 'removed').length;
  const others = restored.length - deleted;
  if (deleted === 0) return `Restore ${counted(others, 'file')}`;
  return others === 0 ? `Delete ${counted(deleted, 'file')}` : `Restore ${counted(others, 'file')}, delete ${exact(deleted)}`;
}

function RollbackForm({ frame, close }: FormProps) {
  const read = useLoaded(frame.handle, async () => {
    const answer = await data().run('stack_frame_rollback', { frame: frame.handle, dryRun: true }, frame.session);
    return answer.data as Rollback;
  }, true);
  const { value, problem } = read.value;
  const files = value?.restored.map((it) => it.path) ?? [];
  return (
    <Sheet title={`Roll back the files of ${frame.handle}`} danger frame={frame} close={close} confirm={toDo(value?.restored ?? [])} ready={files.length > 0} acts={[rollback(frame, files)]}>
      {problem ? <Note>{problem}</Note> : null}
      {!value && !problem ? <Note>Looking …</Note> : null}
      {value && files.length === 0 ? <Note>There is nothing to restore.</Note> : null}
      {files.length > 0 ? <ul class="files">{value?.restored.map((it) => <li key={it.path}><bdi class="path">{line(it.path)}</bdi> {HOW[it.how] ?? it.how}</li>)}</ul> : null}
      {value && value.left.length > 0 ? (
        <>
          <p>Left as they are:</p>
          <ul class="files">{value.left.map((it) => <li key={it.path}><bdi class="path">{line(it.path)}</bdi> {WHY[it.why] ?? it.why.replaceAll('_', ' ')}</li>)}</ul>
        </>
      ) : null}
      {value?.fromBefore ? <Note>The state nearest to the frame's begin is older: earlier changes go, too.</Note> : null}
      <Failure />
    </Sheet>
  );
}

function InvalidateForm({ frame, close }: FormProps) {
  const reason = useSignal('');
  return (
    <Sheet title={`Invalidate: declare ${frame.handle} irrelevant`} danger missing="Say why." frame={frame} close={close} confirm="Invalidate" ready={reason.value.trim() !== ''} acts={[invalidate(frame, reason.value.trim())]}>
      <Field name="Why it is no longer relevant" value={reason} first />
      <Note>Planned frames below it go with it, completed ones stay. All of it can be opened again. {NOTIFIED}</Note>
      <Failure />
    </Sheet>
  );
}

export const FORMS: Record<FormName, ComponentType<FormProps>> = {
  push: PushForm,
  pop: PopForm,
  block: BlockForm,
  plan: PlanForm,
  edit: EditForm,
  unplan: UnplanForm,
  pin: PinForm,
  decide: DecideForm,
  retry: RetryForm,
  rollback: RollbackForm,
  invalidate: InvalidateForm,
};
