import { type Signal, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { errorText, revision } from './model.ts';

/** Something that is read for a view. */
export interface Loaded<T> {
  value: T | undefined;
  problem: string;
}

/**
 * Reads something for a view: when it is first shown, when `key` changes, and, unless `once` is set, when something may
 * have changed. What was read last for the same key stays until there is something newer.
 */
export function useLoaded<T>(key: string | undefined, load: () => Promise<T>, once = false): Signal<Loaded<T>> {
  const state = useSignal<Loaded<T>>({ value: undefined, problem: '' });
  const current = useSignal(key);
  useEffect(() => {
    if (current.value !== key) state.value = { value: undefined, problem: '' };
    current.value = key;
  }, [key]);
  useSignalEffect(() => {
    if (!once) void revision.value;
    const asked = current.value;
    if (asked === undefined) return;
    const stays = (): boolean => current.peek() === asked;
    load().then(
      (value) => {
        if (stays()) state.value = { value, problem: '' };
      },
      (error: unknown) => {
        if (stays()) state.value = { value: undefined, problem: errorText(error) };
      },
    );
  });
  return state;
}
