import { signal } from '@preact/signals';
import type { Details, Frame } from '../source/data.ts';
import { data, tree } from '../state/model.ts';
import { activate, reopen } from '../state/acts.ts';
import { type Act, busy, inTurn, perform } from '../state/steer.ts';
import { Command, Line, Modal } from './bits.tsx';
import { FORMS, type FormName } from './forms.tsx';

/** The form that is open. */
export const form = signal<{ name: FormName; frame: Frame } | undefined>(undefined);

interface Offer {
  name: string;
  /** A short description. */
  what: string;
  form?: FormName;
  act?: (frame: Frame) => Promise<Act>;
  /** Whether it removes something. */
  danger?: boolean;
}

/** The details of a frame before a change, for its undo. */
const before = (frame: Frame): Promise<Details> => data().details(frame.handle);

/** What can be done with a frame as it stands. */
export function offers(frame: Frame): Offer[] {
  const isOpen = frame.status === 'in_progress' && !frame.imported;
  const isPlanned = frame.status === 'planned';
  const isBlocked = frame.status === 'blocked';
  const hasEnded = ['completed', 'failed', 'invalidated'].includes(frame.status);
  const isInnermost = !tree.value.children(frame.handle).some((it) => it.status === 'in_progress');
  const all: (Offer | false)[] = [
    (isPlanned || isBlocked) && { name: isPlanned ? 'Start' : 'Take up', what: 'The agent goes on in it', act: async (it) => activate(it, isBlocked ? await before(it) : undefined) },
    isOpen && isInnermost && { name: 'Push', what: 'Open a frame below it', form: 'push' },
    isOpen && isInnermost && { name: 'Pop', what: 'End it with its results', form: 'pop' },
    isOpen && isInnermost && { name: 'Block', what: 'Set it aside until something is there', form: 'block' },
    { name: 'Plan', what: 'Plan frames below it', form: 'plan' },
    isPlanned && { name: 'Edit', what: 'Change its title or what “done” means', form: 'edit' },
    isPlanned && { name: 'Unplan', what: 'Take it out of the plan', form: 'unplan' },
    { name: 'Pin', what: 'Pin a rule that holds in it and below', form: 'pin' },
    { name: 'Decide', what: 'Record a decision', form: 'decide' },
    hasEnded && { name: 'Reopen', what: 'Open it again', act: async (it) => reopen(it, await before(it)) },
    hasEnded && { name: 'Retry', what: 'Open a second attempt beside it', form: 'retry' },
    !isPlanned && { name: 'Roll back', what: 'Undo what it did to files, after a look', form: 'rollback', danger: true },
    !hasEnded && isInnermost && { name: 'Invalidate', what: 'Declare it irrelevant', form: 'invalidate', danger: true },
  ];
  return all.filter((it): it is Offer => it !== false);
}

/** Buttons for what can be done with a frame. */
export function Actions({ frame }: { frame: Frame }) {
  return (
    <div class="actions" role="group" aria-label={`Change ${frame.handle}`}>
      {offers(frame).map(({ name, what, form: which, act, danger }) => (
        <button
          key={name}
          type="button"
          class={danger ? 'danger' : ''}
          title={what}
          disabled={busy.value}
          aria-haspopup={which ? 'dialog' : undefined}
          onClick={() => {
            if (which) form.value = { name: which, frame };
            else if (act) inTurn(async () => perform([await act(frame)]));
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** The open form, above everything else. */
export function FormDialog() {
  const open = form.value;
  if (!open) return null;
  const close = (): void => {
    form.value = undefined;
  };
  const Inner = FORMS[open.name];
  return (
    <Modal name="form-title" close={close} key={`${open.name} ${open.frame.handle}`}>
      <Inner frame={open.frame} close={close} />
    </Modal>
  );
}

interface SheetProps {
  title: string;
  frame: Frame;
  acts: Act[];
  ready: boolean;
  close: () => void;
  confirm: string;
  /** A hint at fields that are still to be filled in. */
  missing?: string;
  /** Whether it removes something. */
  danger?: boolean;
  children: preact.ComponentChildren;
}

/** A form with what it does, the command that does the same, and its buttons. */
export function Sheet({ title, frame, acts, ready, close, confirm, missing, danger = false, children }: SheetProps) {
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (ready && (await perform(acts))) close();
  };
  const [act] = acts;
  return (
    <form onSubmit={send}>
      <h2 id="form-title">{title}</h2>
      <p class="dim">{frame.handle} <Line text={frame.title} /></p>
      {children}
      {act ? <details><summary>As a command</summary><Command text={acts.map((it) => it.command).join(' && ')} /></details> : null}
      <p class="buttons">
        <button type="submit" class={danger ? 'primary danger' : 'primary'} disabled={!ready || busy.value}>{confirm}</button>
        <button type="button" onClick={close}>Cancel</button>
        {missing && !ready ? <span class="dim">{missing}</span> : null}
      </p>
    </form>
  );
}
