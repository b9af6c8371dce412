import { signal } from '@preact/signals';
import type { Answer } from '../source/source.ts';
import { data, errorText, read } from './model.ts';

/** One change, as an operation and as the command that does the same in a terminal. */
export interface Act {
  /** What it does, such as `Pin a rule`. */
  name: string;
  operation: string;
  args: Record<string, unknown>;
  session: string | undefined;
  command: string;
  /** The changes that take it back, in this order; none if nothing does. */
  undo?: (answer: Answer) => Act[] | undefined;
}

/** What was done last, for the reader. */
export interface Done {
  text: string;
  failed: boolean;
  undo: Act[] | undefined;
}

export const done = signal<Done | undefined>(undefined);
export const busy = signal(false);

/** Carries out changes, each after the one before it. Returns whether all went well. */
export async function perform(acts: Act[], name = acts[0]?.name ?? ''): Promise<boolean> {
  busy.value = true;
  const back: Act[] = [];
  let text = name;
  let isReversible = true;
  try {
    for (const act of acts) {
      const answer = await data().run(act.operation, act.args, act.session);
      const undo = act.undo?.(answer);
      if (undo) back.unshift(...undo);
      else isReversible = false;
      text = firstLine(answer.text) || answer.title || act.name;
    }
    done.value = { text, failed: false, undo: isReversible && back.length > 0 ? back : undefined };
    return true;
  } catch (error) {
    // What went well before the failure can still be taken back.
    done.value = { text: errorText(error), failed: true, undo: isReversible && back.length > 0 ? back : undefined };
    return false;
  } finally {
    busy.value = false;
    settled = read();
  }
}

let last: Promise<unknown> = Promise.resolve();
/** Resolves once the frames are read after the last change. */
let settled: Promise<void> = Promise.resolve();

/** Takes a step after those before it, once the frames are read again. */
export function inTurn(step: () => Promise<unknown> | undefined): void {
  last = last.then(() => settled).then(step).catch((error: unknown) => {
    done.value = { text: errorText(error), failed: true, undo: undefined };
  });
}

/** Takes the last change back, after it has ended. */
export function undoLast(): void {
  inTurn(() => {
    const undo = done.value?.undo;
    if (!undo) return undefined;
    done.value = undefined;
    return perform(undo, 'Undone');
  });
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
