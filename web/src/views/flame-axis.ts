/** The axis of the flame chart: beginnings of work after a pause, and round times or amounts within it. */

import { date, day, DAY, short, time, timeShort } from '../text/format.ts';
import type { Layout, Measure } from './flame-layout.ts';

/** A mark of the axis, at a place of the whole width, which is 1. */
export interface Tick {
  x: number;
  label: string;
  /** Whether work begins there. Such marks have precedence where there is no room for all. */
  begins: boolean;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TIMES = [1, 2, 5, 10, 15, 30].map((it) => it * 1000)
  .concat([1, 2, 5, 10, 15, 30].map((it) => it * MINUTE), [1, 2, 3, 6, 12].map((it) => it * HOUR), [1, 2, 7, 14, 28].map((it) => it * DAY));
const AMOUNTS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((it) => it * 10 ** power)).flat();

/** The marks in sight, `room` being the share of the whole width that a label takes. */
export function ticksOf({ runs, width }: Layout, measure: Measure, view: { from: number; to: number }, room: number): Tick[] {
  const steps = measure === 'time' ? TIMES : AMOUNTS;
  const step = steps.find((it) => it / width >= room) ?? steps.at(-1)!;
  const ticks: Tick[] = [];
  for (const { x0, x1, from } of runs) {
    if (x1 < view.from || x0 > view.to) continue;
    ticks.push({ x: x0, label: measure === 'time' ? date(from) : '0', begins: true });
    const left = from + Math.max(0, view.from - x0) * width;
    const right = from + (Math.min(x1, view.to) - x0) * width;
    // Round in the reader's zone.
    const zone = measure === 'time' ? new Date(from).getTimezoneOffset() * MINUTE : 0;
    for (let at = Math.ceil((left - zone) / step) * step + zone; at <= right; at += step) {
      if (at > from) ticks.push({ x: x0 + (at - from) / width, label: named(at, step, measure), begins: false });
    }
  }
  return ticks;
}

function named(at: number, step: number, measure: Measure): string {
  if (measure === 'tokens') return short(at);
  return step >= DAY ? day(at) : step >= MINUTE ? timeShort(at) : time(at);
}
