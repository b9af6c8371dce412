/** Where frames stand in the flame chart. */

import type { Frame } from '../source/data.ts';
import type { Tree } from '../state/tree.ts';

export type Measure = 'time' | 'tokens';

/** A frame's place: from `x0` to `x1` of the whole width, which is 1, in a row from the top. */
export interface Rect {
  frame: Frame;
  x0: number;
  x1: number;
  row: number;
  /** The row of the frame above it; its own for an outermost frame. */
  above: number;
}

export interface Layout {
  rects: Rect[];
  rows: number;
  /** The whole width in milliseconds, or tokens. */
  width: number;
  /** Stretches without a pause, each with the time or amount at its left. */
  runs: { x0: number; x1: number; from: number }[];
}

/** Share of the width that a time without work takes, whatever its length. */
const PAUSE = 0.01;

/** The time at which work in a frame ended, or was last seen. */
function end(frame: Frame, now: number): number {
  if (frame.endedAt) return frame.endedAt;
  const seen = frame.workedMs === undefined ? 0 : begin(frame) + frame.workedMs;
  return frame.active ? now : Math.max(frame.updatedAt, seen);
}

const begin = (frame: Frame): number => frame.begunAt ?? frame.createdAt;

/** The duration of the work on a frame. */
export function worked(frame: Frame, now: number): number {
  if (frame.status === 'planned') return 0;
  return frame.workedMs ?? Math.max(0, end(frame, now) - begin(frame));
}

interface Span {
  frame: Frame;
  from: number;
  to: number;
  below: Span[];
}

export function layout(tree: Tree, measure: Measure, now: number): Layout {
  const made = measure === 'time' ? times(tree, now) : amounts(tree);
  const scale = measure === 'time' ? withoutPauses(made) : evenly(made);
  const rects: Rect[] = [];
  const rows = placed(made, 0, 0, scale.to, rects);
  return { rects, rows, width: scale.width, runs: scale.runs };
}

function times(tree: Tree, now: number): Span[] {
  const grown = (frame: Frame): Span[] => {
    const below = tree.children(frame.handle).flatMap(grown);
    // A planned frame took no time.
    if (frame.status === 'planned') return below;
    const from = Math.min(begin(frame), ...below.map((it) => it.from));
    const to = Math.max(end(frame, now), from, ...below.map((it) => it.to));
    return [{ frame, from, to, below }];
  };
  return tree.children().flatMap(grown);
}

function amounts(tree: Tree): Span[] {
  const grown = (frame: Frame, from: number): Span => {
    const below: Span[] = [];
    let to = from;
    for (const child of tree.children(frame.handle)) {
      const span = grown(child, to);
      below.push(span);
      to = span.to;
    }
    return { frame, from, to: Math.max(to, from + (frame.tokens ?? 0)), below };
  };
  let from = 0;
  return tree.children().map((root) => {
    const span = grown(root, from);
    from = span.to;
    return span;
  });
}

interface Scale {
  width: number;
  to: (value: number) => number;
  runs: Layout['runs'];
}

function evenly(spans: Span[]): Scale {
  const width = Math.max(1, spans.at(-1)?.to ?? 1);
  return { width, to: (value) => value / width, runs: [{ x0: 0, x1: 1, from: 0 }] };
}

/** A scale of time on which times without any frame are short: days may lie between two sessions. */
function withoutPauses(spans: Span[]): Scale {
  const runs: { from: number; to: number; x: number }[] = [];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const current = runs.at(-1);
    if (current && from <= current.to) current.to = Math.max(current.to, to);
    else runs.push({ from, to, x: 0 });
  }
  const total = Math.max(1, runs.reduce((sum, run) => sum + run.to - run.from, 0));
  const pause = total * Math.min(PAUSE, 0.5 / Math.max(1, runs.length));
  let x = 0;
  for (const run of runs) {
    run.x = x;
    x += run.to - run.from + pause;
  }
  const width = Math.max(1, x - pause);
  const before = (time: number) => {
    let [low, high] = [0, runs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (runs[middle]!.from <= time) low = middle + 1;
      else high = middle;
    }
    return runs[Math.max(0, low - 1)];
  };
  return {
    width,
    to: (time) => {
      const run = before(time);
      return run ? (run.x + Math.min(time, run.to) - run.from) / width : 0;
    },
    runs: runs.map(({ from, to, x: at }) => ({ x0: at / width, x1: (at + to - from) / width, from })),
  };
}

/** Places spans side by side where they don't overlap, and else below one another. Returns the number of rows. */
function placed(spans: Span[], row: number, above: number, scale: (value: number) => number, rects: Rect[]): number {
  const lanes: { end: number; spans: Span[] }[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const lane = lanes.find((it) => it.end <= span.from);
    if (lane) {
      lane.spans.push(span);
      lane.end = span.to;
    } else lanes.push({ end: span.to, spans: [span] });
  }
  let next = row;
  for (const lane of lanes) {
    let deepest = next + 1;
    for (const { frame, from, to, below } of lane.spans) {
      rects.push({ frame, x0: scale(from), x1: scale(to), row: next, above: row === 0 ? next : above });
      deepest = Math.max(deepest, placed(below, next + 1, next, scale, rects));
    }
    next = deepest;
  }
  return next;
}
