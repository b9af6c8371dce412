/** Draws the flame chart. */

import type { Frame } from '../source/data.ts';
import { line } from '../text/visible.ts';
import type { Rect } from './flame-layout.ts';
import { standing } from './words.ts';

/** The height of a row, where texts have their usual size. */
export const ROW = 22;
/** The width from which on a bar has a text. */
const READABLE = 26;
/** Narrower bars aren't drawn by themselves. */
const SEEN = 0.3;
/** Room between two labels of the axis. */
const LABELS = 130;

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
  label: (x: number) => string;
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
    const left = Math.max(-2, (rect.x0 - view.from) * scale);
    const right = Math.min(width + 2, (rect.x1 - view.from) * scale);
    const gap = right - left > 3 ? 1 : 0;
    return [left, axis + rect.row * row, Math.max(SEEN, right - left - gap), row - 1];
  };
  for (const [group, members] of groups) {
    context.fillStyle = look.colours[group] ?? property('--aside');
    for (const rect of members) context.fillRect(...box(rect));
  }
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
    context.lineWidth = weight;
    context.strokeRect(left + weight / 2, top + weight / 2, Math.max(1, wide - weight), tall - weight);
  }
  context.fillStyle = style.color;
  context.globalAlpha = 0.7;
  const labels = Math.max(1, Math.floor(width / (LABELS * zoom)));
  let last = '';
  for (let at = 0; at < labels; at += 1) {
    const x = (at / labels) * width;
    const text = look.label(view.from + (view.to - view.from) * (at / labels));
    if (text !== last) context.fillText(text, x + 3, axis / 2);
    last = text;
    context.fillRect(x, 2, 1, axis - 4);
  }
  context.globalAlpha = 1;
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
