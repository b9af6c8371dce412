import { computed, signal } from '@preact/signals';
import type { Frame, Session } from '../source/data.ts';
import { Refused, type Source } from '../source/source.ts';
import { chosen, route } from './route.ts';
import { type Kind, listedPlaces, matches, Tree } from './tree.ts';

/** The least time between two readings of the tree. */
const REST = 100;
/** How much longer than a reading the page rests, so that a large tree doesn't keep the computer busy. */
const PAUSES = 2;
/** The time for which the reader has to stop typing before messages are searched. */
const TYPING = 300;

let source: Source | undefined;

/** Where the page has its data from. */
export function data(): Source {
  if (!source) throw new Refused('The page has not begun.');
  return source;
}

export const steers = signal(false);
export const title = signal('');
export const remarks = signal<string[]>([]);
/** What is wrong with the connection. */
export const problem = signal('');
/** Rises whenever something may have changed: what is shown is read again. */
export const revision = signal(0);
export const tree = signal(new Tree([]));
export const sessions = signal<Session[]>([]);
/** The frames that sessions work in. */
export const active = signal(new Set<string>());
export const loaded = signal(false);
/** The time by which what is still going on is measured. */
export const now = signal(Date.now());

export const words = signal('');
export const kind = signal<Kind>('all');
/** Frames in whose texts the words were found that the tree itself does not hold. */
export const found = signal(new Set<string>());
/** Frames whose inner frames are hidden. */
export const closed = signal(new Set<string>());

export const shown = computed(() => matches(tree.value, words.value, kind.value, found.value));
/** The places of the frames that the list shows, in order. */
export const listed = computed(() => listedPlaces(tree.value, closed.value, shown.value));
const byId = computed(() => new Map(sessions.value.map((it) => [it.id, it])));

/** The session of that id. */
export const sessionOf = (id: string | undefined): Session | undefined => (id === undefined ? undefined : byId.value.get(id));
/** Whether any frame has changed lines of files. */
export const hasChanges = computed(() => tree.value.frames.some((it) => Boolean(it.added ?? it.removed)));
/** The most tokens of an outermost frame. */
export const largest = computed(() => tree.value.children().reduce((most, it) => Math.max(most, it.tokens ?? 0), 1));
export const frame = computed<Frame | undefined>(() => tree.value.get(chosen.value));

/** The session whose window, calls and requests are shown. */
export const session = computed<Session | undefined>(() => {
  const wanted = route.value.session ?? frame.value?.session;
  const all = sessions.value;
  const newest = (): Session | undefined => all.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0))[0];
  return all.find((it) => it.id === wanted) ?? newest();
});

let searching: ReturnType<typeof setTimeout> | undefined;

/** Sets the words of the filter; once the reader pauses, all texts are searched for them, too. */
export function filter(text: string): void {
  words.value = text;
  found.value = new Set();
  clearTimeout(searching);
  if (text.trim().length < 3) return;
  searching = setTimeout(async () => {
    const handles = await data().search(text).catch(() => []);
    if (words.value === text) found.value = new Set(handles);
  }, TYPING);
}

export function toggle(handle: string, open: boolean): void {
  const next = new Set(closed.value);
  if (open) next.delete(handle);
  else next.add(handle);
  closed.value = next;
}

/** Opens what is above a frame, so that the list shows it. */
export function reveal(handle: string): void {
  const target = tree.value.get(handle);
  const above = target ? tree.value.above(target) : [];
  if (above.some((it) => closed.value.has(it.handle))) {
    const next = new Set(closed.value);
    for (const it of above) next.delete(it.handle);
    closed.value = next;
  }
}

let newest: number | undefined;
let reading: Promise<void> | undefined;
let again = false;

/** Reads the tree, unless that is under way: then once more after it. */
export function read(): Promise<void> {
  if (reading) {
    again = true;
    return reading;
  }
  reading = (async () => {
    do {
      again = false;
      const begun = performance.now();
      await readOnce();
      const rest = Math.max(REST, PAUSES * (performance.now() - begun));
      if (again) await new Promise((done) => setTimeout(done, rest));
    } while (again);
  })().finally(() => {
    reading = undefined;
  });
  return reading;
}

async function readOnce(): Promise<void> {
  try {
    const answer = await data().frames(newest);
    newest = answer.revision;
    now.value = data().at ?? Date.now();
    if (!answer.unchanged) {
      tree.value = new Tree(answer.frames);
      sessions.value = answer.sessions;
      active.value = new Set(answer.sessions.flatMap((it) => it.active ?? []));
    }
    loaded.value = true;
    revision.value += 1;
  } catch (error) {
    problem.value = errorText(error);
  }
}

/** What to tell the reader of a failure. */
export function errorText(error: unknown): string {
  if (error instanceof Refused) return [error.message, error.hint ?? ''].map(sentence).join(' ').trim();
  return error instanceof Error ? error.message : String(error);
}

/** A text of the server, with a full stop where another follows. */
const sentence = (text: string): string => (text === '' || /[.!?:]$/.test(text) ? text : `${text}.`);

/** Begins to show what a source has. */
export async function begin(from: Source): Promise<void> {
  source = from;
  steers.value = from.steers;
  title.value = from.title;
  remarks.value = from.remarks;
  const changed = (): void => {
    if (document.visibilityState === 'visible') void read();
  };
  document.addEventListener('visibilitychange', changed);
  from.follow(changed, (what) => {
    problem.value = what;
  });
  await read();
}
