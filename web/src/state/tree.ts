import type { Frame } from '../source/data.ts';

/** Frames in drawing order, with answers to frequent questions. */
export class Tree {
  readonly frames: Frame[];
  readonly #places = new Map<string, number>();
  /** The place after the last frame below each. */
  readonly #ends: number[] = [];
  /** Which of the frames beside it each is, counted from 1. */
  readonly #positions: number[] = [];
  readonly #children = new Map<string | undefined, Frame[]>();

  constructor(frames: Frame[]) {
    this.frames = frames;
    frames.forEach((frame, place) => this.#places.set(frame.handle, place));
    const open: number[] = [];
    frames.forEach((frame, place) => {
      while (open.length > 0 && (frames[open.at(-1)!]?.depth ?? 0) >= frame.depth) this.#ends[open.pop()!] = place;
      open.push(place);
      const above = this.get(frame.parent)?.handle;
      const beside = this.#children.get(above);
      if (beside) this.#positions.push(beside.push(frame));
      else {
        this.#children.set(above, [frame]);
        this.#positions.push(1);
      }
    });
    for (const place of open) this.#ends[place] = frames.length;
  }

  get(handle: string | null | undefined): Frame | undefined {
    const place = handle == null ? undefined : this.#places.get(handle);
    return place === undefined ? undefined : this.frames[place];
  }

  place(handle: string): number {
    return this.#places.get(handle) ?? -1;
  }

  /** The place after the last frame below one. */
  end(place: number): number {
    return this.#ends[place] ?? place + 1;
  }

  /** Which of the frames beside it the one at a place is, counted from 1. */
  position(place: number): number {
    return this.#positions[place] ?? 1;
  }

  /** The frames right below one; the outermost ones without it. */
  children(handle?: string): Frame[] {
    return this.#children.get(handle) ?? [];
  }

  /** The frames above one, the outermost first. */
  above(frame: Frame): Frame[] {
    const found: Frame[] = [];
    for (let at = this.get(frame.parent); at && !found.includes(at); at = this.get(at.parent)) found.unshift(at);
    return found;
  }

  /** The frames right beside one, with it. */
  beside(frame: Frame): Frame[] {
    return this.children(this.get(frame.parent)?.handle);
  }
}

const haystacks = new WeakMap<Frame, string>();

function haystack(frame: Frame): string {
  let text = haystacks.get(frame);
  if (text === undefined) {
    const { handle, title, result = '', files = [], agent = '', status, session = '' } = frame;
    text = [handle, title, result, ...files, agent, status, session].join('\n').toLowerCase();
    haystacks.set(frame, text);
  }
  return text;
}

/** The parts of a frame in which a filter found its words, apart from the title. */
export function whyFound(frame: Frame, words: string): string {
  const has = (text: string | undefined, word: string): boolean => Boolean(text?.toLowerCase().includes(word));
  const places = new Set<string>();
  for (const word of words.toLowerCase().split(/\s+/).filter(Boolean)) {
    if (has(`${frame.handle} ${frame.title}`, word)) continue;
    const file = frame.files?.find((it) => has(it, word));
    if (has(frame.result, word)) places.add('in its result');
    else if (file) places.add(`in ${file.split('/').at(-1)}`);
    else if (has(frame.agent, word) || has(frame.session, word) || has(frame.status, word)) continue;
    else places.add('in its texts');
  }
  return [...places].join(', ');
}

export const KINDS = ['all', 'unfinished', 'failed', 'changed', 'sent'] as const;
export type Kind = (typeof KINDS)[number];

function isOf(frame: Frame, kind: Kind): boolean {
  switch (kind) {
    case 'all':
      return true;
    case 'unfinished':
      return Boolean(frame.unfinished) || ['planned', 'in_progress', 'blocked'].includes(frame.status);
    case 'failed':
      return frame.status === 'failed' || frame.checked === 'failed';
    case 'changed':
      return (frame.files?.length ?? 0) > 0;
    case 'sent':
      return frame.status === 'in_progress' || Boolean(frame.stillSent);
  }
}

/** The places of the frames that a filter lets through; nothing where it lets all through. */
export function matches(tree: Tree, words: string, kind: Kind, found: Set<string>): Set<number> | undefined {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0 && kind === 'all') return undefined;
  const places = new Set<number>();
  tree.frames.forEach((frame, place) => {
    if (!isOf(frame, kind)) return;
    if (found.has(frame.handle) || wanted.every((word) => haystack(frame).includes(word))) places.add(place);
  });
  return places;
}

/** The places of the rows of the list: all frames not below a closed one, or those that a filter finds, with those above them. */
export function listedPlaces(tree: Tree, closed: Set<string>, shown: Set<number> | undefined): number[] {
  if (shown) return [...withAbove(tree, shown)].sort((a, b) => a - b);
  const places: number[] = [];
  for (let place = 0; place < tree.frames.length; place += 1) {
    places.push(place);
    if (closed.size > 0 && closed.has(tree.frames[place]!.handle)) place = tree.end(place) - 1;
  }
  return places;
}

/** A frame as a row of the list. */
export interface Row {
  frame: Frame;
  /** Counted from 1. */
  position: number;
  siblings: number;
  /** Whether frames below it are shown; nothing if there are none. */
  open: boolean | undefined;
  /** Whether it is shown only for the frames below it. */
  aside: boolean;
}

/** The row of the frame at a place. */
export function rowAt(tree: Tree, closed: Set<string>, shown: Set<number> | undefined, place: number): Row {
  const frame = tree.frames[place]!;
  return {
    frame,
    position: tree.position(place),
    siblings: tree.beside(frame).length,
    open: tree.end(place) > place + 1 ? Boolean(shown) || !closed.has(frame.handle) : undefined,
    aside: Boolean(shown && !shown.has(place)),
  };
}

function withAbove(tree: Tree, shown: Set<number>): Set<number> {
  const kept = new Set(shown);
  for (const place of shown) {
    for (let frame = tree.get(tree.frames[place]?.parent); frame; frame = tree.get(frame.parent)) {
      const above = tree.place(frame.handle);
      if (kept.has(above)) break;
      kept.add(above);
    }
  }
  return kept;
}
