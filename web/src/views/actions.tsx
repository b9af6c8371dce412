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
  form?: FormName;
  act?: (frame: Frame) => Promise<Act>;
}

/** What a frame is before it is changed, so that it can be again. */
const before = (frame: Frame): Promise<Details> => data().details(frame.handle);

/** What can be done with a frame as it stands. */
export function offers(frame: Frame): Offer[] {
  const isOpen = frame.status === 'in_progress' && !frame.imported;
  const isPlanned = frame.status === 'planned';
  const isBlocked = frame.status === 'blocked';
  const hasEnded = ['completed', 'failed', 'invalidated'].includes(frame.status);
  const isInnermost = !tree.value.children(frame.handle).some((it) => it.status === 'in_progress');
  const all: (Offer | false)[] = [
    (isPlanned || isBlocked) && { name: isPlanned ? 'Start' : 'Take up', act: async (it) => activate(it, isBlocked ? await before(it) : undefined) },
    isOpen && isInnermost && { name: 'Push', form: 'push' },
    isOpen && isInnermost && { name: 'Pop', form: 'pop' },
    isOpen && isInnermost && { name: 'Block', form: 'block' },
    { name: 'Plan', form: 'plan' },
    isPlanned && { name: 'Edit', form: 'edit' },
    isPlanned && { name: 'Unplan', form: 'unplan' },
    { name: 'Pin', form: 'pin' },
    { name: 'Decide', form: 'decide' },
    hasEnded && { name: 'Reopen', act: async (it) => reopen(it, await before(it)) },
    hasEnded && { name: 'Retry', form: 'retry' },
    !isPlanned && { name: 'Roll back', form: 'rollback' },
    !hasEnded && isInnermost && { name: 'Invalidate', form: 'invalidate' },
  ];
  return all.filter((it): it is Offer => it !== false);
}

/** Buttons for what can be done with a frame. */
export function Actions({ frame }: { frame: Frame }) {
  return (
    <div class="actions" role="group" aria-label={`Change ${frame.handle}`}>
      {offers(frame).map(({ name, form: which, act }) => (
        <button
          key={name}
          type="button"
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
  children: preact.ComponentChildren;
}

/** A form with what it does, the command that does the same, and its buttons. */
export function Sheet({ title, frame, acts, ready, close, confirm, children }: SheetProps) {
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
        <button type="submit" class="primary" disabled={!ready || busy.value}>{confirm}</button>
        <button type="button" onClick={close}>Cancel</button>
      </p>
    </form>
  );
}
