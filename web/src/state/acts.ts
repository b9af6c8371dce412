import type { Details, Frame } from '../source/data.ts';
import { command, option, texts } from '../text/command.ts';
import { tree } from './model.ts';
import type { Answer } from '../source/source.ts';
import type { Act } from './steer.ts';

/** The session in which a change of a frame is made: the one that works in it, or in the nearest frame above. */
function of(frame: Frame): string | undefined {
  return frame.session ?? tree.value.above(frame).findLast((it) => it.session)?.session;
}

const handle = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const inSession = (frame: Frame): string[] => option('--session', of(frame));

export const push = (frame: Frame, title: string, criteria: string): Act => ({
  name: `Open a frame below ${frame.handle}`,
  operation: 'stack_frame_push',
  args: { title, successCriteria: criteria },
  session: of(frame),
  command: command('push', ...option('--criteria', criteria), ...inSession(frame), ...texts(title)),
  undo: (answer) => discard(frame, answer),
});

/** Declares a frame irrelevant that was just opened: no operation removes it from the tree. */
function discard(near: Frame, { data }: Answer): Act[] | undefined {
  const made = handle((data as { handle?: unknown } | null)?.handle);
  return made ? [{ ...invalidate({ ...near, handle: made }, 'opened by mistake'), undo: () => undefined }] : undefined;
}

export const pop = (frame: Frame, status: string, results: string): Act => ({
  name: `End ${frame.handle} as ${status}`,
  operation: 'stack_frame_pop',
  args: { frame: frame.handle, status, results: results || undefined },
  session: of(frame),
  command: command('pop', frame.handle, '--status', status, ...option('--results', results)),
  undo: () => [status === 'blocked' ? activate(frame) : reopen(frame)],
});

export interface Plan {
  title: string;
  successCriteria: string;
  children?: Plan[];
}

export const plan = (parent: Frame, children: Plan[]): Act => ({
  name: `Plan below ${parent.handle}`,
  operation: 'stack_frame_plan',
  args: { parent: parent.handle, children },
  session: of(parent),
  command: command(
    'plan',
    '--parent',
    parent.handle,
    ...children.flatMap((it) => option('--criteria', it.successCriteria)),
    ...texts(...children.map((it) => it.title)),
  ),
  undo: ({ data }) => planned(data).map((made) => unplan({ ...parent, handle: made })),
});

/** The handles of frames that a plan has made. */
export function planned(made: unknown): string[] {
  return Array.isArray(made) ? made.flatMap((it: { handle?: unknown } | null) => handle(it?.handle) ?? []) : [];
}

/** Takes a frame out of the plan. Only a plan that was just made is taken back this way: nothing is lost by it. */
export const unplan = (frame: Frame, undo?: Act[]): Act => ({
  name: `Take ${frame.handle} out of the plan`,
  operation: 'stack_frame_unplan',
  args: { frame: frame.handle },
  session: of(frame),
  command: command('plan', '--remove', frame.handle),
  undo: () => undo,
});

export interface Change {
  title?: string | undefined;
  successCriteria?: string | undefined;
  before?: string | undefined;
}

export const replan = (frame: Frame, to: Change, from?: Change): Act => ({
  name: `Change the plan of ${frame.handle}`,
  operation: 'stack_frame_replan',
  args: { frame: frame.handle, ...to },
  session: of(frame),
  command: command(
    'plan',
    '--edit',
    frame.handle,
    ...option('--criteria', to.successCriteria),
    ...option('--before', to.before),
    ...(to.title ? texts(to.title) : []),
  ),
  undo: () => from && [replan(frame, from, to)],
});

/** Starts a planned frame, or takes up a blocked one. The undo of the latter blocks it again, for the same reason. */
export const activate = (frame: Frame, before?: Details): Act => ({
  name: `${frame.status === 'blocked' ? 'Take up' : 'Start'} ${frame.handle}`,
  operation: 'stack_frame_activate',
  args: { frame: frame.handle },
  session: of(frame),
  command: command('activate', frame.handle),
  undo: () => (frame.status === 'blocked' && before?.results ? [pop(frame, 'blocked', before.results)] : undefined),
});

/** Opens a frame again. The undo ends it again with the results, or the reason, that it had. */
export const reopen = (frame: Frame, before?: Details): Act => ({
  name: `Open ${frame.handle} again`,
  operation: 'stack_frame_reopen',
  args: { frame: frame.handle },
  session: of(frame),
  command: command('reopen', frame.handle),
  undo: () => {
    if (frame.status === 'invalidated') return before?.invalidationReason ? [invalidate(frame, before.invalidationReason)] : undefined;
    return before?.results ? [pop(frame, frame.status, before.results)] : undefined;
  },
});

export const retry = (frame: Frame): Act => ({
  name: `Try ${frame.handle} again`,
  operation: 'stack_frame_retry',
  args: { frame: frame.handle },
  session: of(frame),
  command: command('retry', frame.handle),
  undo: (answer) => discard(frame, answer),
});

/** Declares a frame irrelevant, with the planned ones below it. The undo opens them again; a blocked frame has none. */
export const invalidate = (frame: Frame, reason: string): Act => ({
  name: `Declare ${frame.handle} irrelevant`,
  operation: 'stack_frame_invalidate',
  args: { frame: frame.handle, reason },
  session: of(frame),
  command: command('invalidate', frame.handle, ...option('--reason', reason)),
  undo: ({ data }) => {
    const gone = (data as { invalidated?: unknown } | null)?.invalidated;
    if (frame.status === 'blocked' || !Array.isArray(gone)) return undefined;
    return gone.flatMap((it) => (typeof it === 'string' ? reopen({ ...frame, handle: it }) : []));
  },
});

export const pin = (frame: Frame, text: string): Act => ({
  name: `Pin a rule to ${frame.handle}`,
  operation: 'stack_pin',
  args: { text, frame: frame.handle },
  session: of(frame),
  command: command('pin', '--frame', frame.handle, ...texts(text)),
  undo: ({ data }) => {
    const number = handle((data as { pin?: unknown }).pin);
    return number ? [unpin(frame, number, text)] : undefined;
  },
});

export const unpin = (frame: Frame, number: string, text: string): Act => ({
  name: `Take ${number} back`,
  operation: 'stack_unpin',
  args: { pin: number, frame: frame.handle },
  session: of(frame),
  command: command('unpin', number, '--frame', frame.handle),
  undo: () => [pin(frame, text)],
});

export const decide = (frame: Frame, decision: string): Act => ({
  name: `Record a decision in ${frame.handle}`,
  operation: 'stack_add_decision',
  args: { decision, frame: frame.handle },
  session: of(frame),
  command: command('decision', '--frame', frame.handle, ...texts(decision)),
});

export const rollback = (frame: Frame, files: string[], undo = false): Act => ({
  name: undo ? `Take the rollback of ${frame.handle} back` : `Roll back the files of ${frame.handle}`,
  operation: 'stack_frame_rollback',
  args: undo ? { frame: frame.handle, undo } : { frame: frame.handle, files },
  session: of(frame),
  command: command('rollback', frame.handle, undo && '--undo'),
  undo: () => [rollback(frame, files, !undo)],
});

/** The plan of a frame with what is planned below it, to be made elsewhere. */
export function copied(frame: Frame, details: Map<string, Details>, below: (frame: Frame) => Frame[]): Plan {
  const inner = below(frame).filter((it) => it.status === 'planned');
  return {
    title: frame.title,
    successCriteria: details.get(frame.handle)?.successCriteria ?? '',
    ...(inner.length > 0 ? { children: inner.map((it) => copied(it, details, below)) } : {}),
  };
}
