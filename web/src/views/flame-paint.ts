/** Draws the flame chart. */

import type { Frame } from '../source/data.ts';
import { line } from '../text/visible.ts';
import type { Tick } from './flame-axis.ts';
import type { Layout, Rect } from './flame-layout.ts';
import { standing } from './words.ts';

/** The height of a row, where texts have their usual size. */
export const ROW = 22;
/** The width from which on a bar has a text. */
const READABLE = 26;
/** Narrower bars aren't drawn by themselves. */
const SEEN = 0.3;
/** The least width of those that are. */
const LEAST = 1.5;
/** The width from which on a bar has a border. */
const BORDERED = 4;
/** Room between two labels of the axis. */
export const LABELS = 100;

export interface Look {
  width: number;
  height: number;
  axis: number;
  /** The height of a row. */
  row: number;
  view: { from: number; to: number };
  chosen: string | undefined;
  over: string | undefined;
  /** The frames that a filter lets through. */
  shown: Set<string | undefined> | undefined;
  colourOf: (frame: Frame) => number;
  colours: string[];
  ticks: Tick[];
  /** The stretches of work, with pauses between them. */
  runs: Layout['runs'];
  style: CSSStyleDeclaration;
}

export function paint(context: CanvasRenderingContext2D, rects: Rect[], look: Look): void {
  const { width, height, axis, row, view, style } = look;
  const zoom = row / ROW;
  const ratio = devicePixelRatio;
  const scale = width / (view.to - view.from);
  const property = (name: string): string => style.getPropertyValue(name);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, width, height);
  context.font = `${12 * zoom}px ${style.fontFamily}`;
  context.textBaseline = 'middle';

  const place = (x: number): number => (x - view.from) * scale;
  context.fillStyle = property('--pause');
  look.runs.forEach(({ x1 }, at) => {
    const next = look.runs[at + 1];
    if (next && x1 < view.to && next.x0 > view.from) context.fillRect(place(x1), 0, Math.max(2, place(next.x0) - place(x1)), height);
  });

  // Setting a colour costs more than a rectangle, so that bars are drawn colour by colour.
  const groups = new Map<number, Rect[]>();
  const texts: Rect[] = [];
  for (const rect of rects) {
    if (rect.x1 < view.from || rect.x0 > view.to) continue;
    const wide = (rect.x1 - rect.x0) * scale;
    if (wide < SEEN) continue;
    const isAside = look.shown && !look.shown.has(rect.frame.handle);
    const group = isAside ? -1 : look.colourOf(rect.frame);
    const known = groups.get(group);
    if (known) known.push(rect);
    else groups.set(group, [rect]);
    if (wide > READABLE * zoom && !isAside) texts.push(rect);
  }
  const box = (rect: Rect): [number, number, number, number] => {
    const left = Math.max(-2, place(rect.x0));
    const right = Math.min(width + 2, place(rect.x1));
    const gap = right - left > 3 ? 1 : 0;
    return [left, axis + rect.row * row, Math.max(LEAST, right - left - gap), row - 1];
  };
  for (const [group, members] of groups) {
    context.fillStyle = look.colours[group] ?? property('--aside');
    for (const rect of members) context.fillRect(...box(rect));
  }
  context.strokeStyle = property('--strong-line');
  context.lineWidth = 1;
  context.beginPath();
  for (const members of groups.values()) {
    for (const rect of members) {
      const [left, top, wide, tall] = box(rect);
      if (wide >= BORDERED) context.rect(left + 0.5, top + 0.5, wide - 1, tall - 1);
      // Concurrent work stands further below: a line connects it with the frame above it.
      if (rect.row > rect.above + 1) {
        context.moveTo(left + 0.5, axis + (rect.above + 1) * row - 1);
        context.lineTo(left + 0.5, top);
      }
    }
  }
  context.stroke();
  context.fillStyle = property('--bar-text');
  for (const rect of texts) {
    const [left, top, wide] = box(rect);
    const from = Math.max(0, left);
    const text = fitted(context, rect.frame, left + wide - from - 8);
    if (text) context.fillText(text, from + 4, top + row / 2);
  }
  const marked = [[look.over, 1], [look.chosen, 2.5]] as const;
  context.strokeStyle = style.color;
  for (const [handle, weight] of marked) {
    const rect = handle === undefined ? undefined : rects.find((it) => it.frame.handle === handle);
    if (!rect) continue;
    const [left, top, wide, tall] = box(rect);
    if (wide < 3 * weight) {
      // An outline would hide it.
      const middle = left + wide / 2;
      context.fillStyle = style.color;
      context.beginPath();
      context.moveTo(middle, top);
      context.lineTo(middle - 5 * zoom, top - 8 * zoom);
      context.lineTo(middle + 5 * zoom, top - 8 * zoom);
      context.fill();
      continue;
    }
    context.lineWidth = weight;
    context.strokeRect(left + weight / 2, top + weight / 2, Math.max(1, wide - weight), tall - weight);
  }
  context.fillStyle = style.color;
  context.globalAlpha = 0.75;
  axisLabels(context, look, place, zoom);
  context.globalAlpha = 1;
}

/** Writes the labels of the axis: first the beginnings of work, then others where there is room. */
function axisLabels(context: CanvasRenderingContext2D, look: Look, place: (x: number) => number, zoom: number): void {
  const taken: [number, number][] = [];
  for (const tick of look.ticks.toSorted((a, b) => Number(b.begins) - Number(a.begins))) {
    const left = Math.max(0, Math.round(place(tick.x)));
    const right = left + context.measureText(tick.label).width + 10 * zoom;
    if (right > look.width || taken.some(([from, to]) => left < to && right > from)) continue;
    taken.push([left, right]);
    context.fillText(tick.label, left + 4, look.axis / 2);
    context.fillRect(left, 2, 1, look.axis - 4);
  }
}

/** The widths of characters in a font: measuring each text again would take longer than everything else. */
let widths = new Map<string, number>();
let measured = '';

function fitted(context: CanvasRenderingContext2D, frame: Frame, room: number): string {
  if (measured !== context.font) {
    measured = context.font;
    widths = new Map();
  }
  const text = `${standing(frame).sign} ${frame.handle} ${line(frame.title)}`;
  let used = 0;
  let at = 0;
  for (const character of text) {
    let wide = widths.get(character);
    if (wide === undefined) {
      wide = context.measureText(character).width;
      widths.set(character, wide);
    }
    used += wide;
    if (used > room) return at > 2 ? `${text.slice(0, at - 1)}…` : '';
    at += character.length;
  }
  return text;
}

/** The bar at a place of the window; of bars too narrow to point at, the nearest. */
export function hit(
  rects: Rect[],
  view: { from: number; to: number },
  x: number,
  row: number,
  width: number,
): Rect | undefined {
  const at = view.from + x * (view.to - view.from);
  const near = (2 / width) * (view.to - view.from);
  const inRow = rects.filter((rect) => rect.row === row && rect.x0 - near <= at && rect.x1 + near >= at);
  return inRow.find((rect) => rect.x0 <= at && rect.x1 >= at) ?? inRow[0];
}
