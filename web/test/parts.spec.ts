/** Parts that need no browser. */

import { expect, test } from '@playwright/test';
import type { Frame } from '../src/source/data.ts';
import { Tree } from '../src/state/tree.ts';
import { command, option, texts } from '../src/text/command.ts';
import { visible } from '../src/text/visible.ts';
import { ticksOf } from '../src/views/flame-axis.ts';
import { layout } from '../src/views/flame-layout.ts';
import { rowsOf } from '../src/views/patch.ts';
import { report } from './fixture.ts';

function frame(handle: string, parent: string | undefined, depth: number, begunAt: number, endedAt: number): Frame {
  return { handle, id: handle, ...(parent ? { parent } : {}), depth, title: handle, status: 'completed', createdAt: begunAt, updatedAt: endedAt, begunAt, endedAt };
}

test('bars of a row never overlap, and each stands right below the one above it', () => {
  for (const measure of ['time', 'tokens'] as const) {
    const { frames } = report(2000).frames;
    const tree = new Tree(frames);
    const { rects, rows } = layout(tree, measure, Date.UTC(2026, 10, 30));
    expect(Math.max(...rects.map((rect) => rect.row))).toBeLessThan(rows);
    const near = 1e-9;
    const wrong: string[] = [];
    for (let row = 0; row < rows; row += 1) {
      const sorted = rects.filter((rect) => rect.row === row).sort((a, b) => a.x0 - b.x0 || a.x1 - b.x1);
      sorted.forEach((rect, at) => {
        const before = sorted[at - 1];
        if (before && rect.x0 < before.x1 - near) wrong.push(`${rect.frame.handle} lies on ${before.frame.handle}`);
      });
    }
    const places = new Map(rects.map((rect) => [rect.frame.handle, rect]));
    for (const rect of rects) {
      const above = places.get(rect.frame.parent ?? '');
      if (!above) continue;
      const isInside = rect.row > above.row && rect.x0 >= above.x0 - near && rect.x1 <= above.x1 + near;
      if (!isInside) wrong.push(`${rect.frame.handle} does not stand below ${above.frame.handle}`);
    }
    expect(wrong).toEqual([]);
    expect(rects.length).toBeGreaterThan(1900);
  }
});

test('work side by side stands in rows of its own, and pauses are short', () => {
  const day = 86_400_000;
  const tree = new Tree([
    frame('f1', undefined, 0, 0, 1000),
    frame('f2', 'f1', 1, 100, 900),
    frame('f3', 'f1', 1, 200, 800),
    frame('f4', undefined, 0, day, day + 1000),
  ]);
  const laid = layout(tree, 'time', 2 * day);
  const { rects, runs } = laid;
  const of = (handle: string) => rects.find((rect) => rect.frame.handle === handle)!;
  expect([of('f1').row, of('f2').row, of('f3').row, of('f4').row]).toEqual([0, 1, 2, 0]);
  expect(of('f1').x1 - of('f1').x0).toBeGreaterThan(0.45);
  expect(of('f4').x0 - of('f1').x1).toBeLessThan(0.05);
  expect(runs.map(({ x0, x1, from }) => [x0, x1, from])).toEqual([[0, of('f1').x1, 0], [of('f4').x0, 1, day]]);
  // No time is told of a pause, and each piece of work begins with its date.
  const ticks = ticksOf(laid, 'time', { from: 0, to: 1 }, 0.1);
  expect(ticks.filter(({ begins }) => begins).map(({ x }) => x)).toEqual([0, of('f4').x0]);
  expect(ticks.filter(({ x }) => x > of('f1').x1 + 1e-9 && x < of('f4').x0)).toEqual([]);
  expect(ticksOf(layout(tree, 'tokens', 0), 'tokens', { from: 0, to: 1 }, 0.1)[0]).toEqual({ x: 0, label: '0', begins: true });
});

test('a patch is numbered, its pairs are known, and a cut one still shows', () => {
  const rows = rowsOf('@@ -3,2 +3,3 @@ fn main\n same\n-old\n+new\n+more\n\\ No newline at end of file\n');
  expect(rows.map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ['place', undefined, undefined], ['same', 3, 3], ['removed', 4, undefined], ['added', undefined, 4], ['added', undefined, 5], ['place', undefined, undefined],
  ]);
  // One line that became two has no pair.
  expect(rows.some((row) => row.pair !== undefined)).toBe(false);
  expect(rowsOf('@@ -1 +1 @@\n-a\n+b\n').map((row) => row.pair)).toEqual([undefined, 'b', 'a']);
  expect(rowsOf('@@ -1,5 +1,5 @@\n a\n-b')).toHaveLength(3);
  expect(rowsOf('@@ -0,1 +0,2 @@\n-a\n+b\n+c\n@@ -4 +4 @@\n-d\n+e\n', true).map(({ text, before, after }) => [text, before ?? after])).toEqual([
    ['Edit 1', undefined], ['a', undefined], ['b', undefined], ['c', undefined], ['Edit 2, from line 4', undefined], ['d', 4], ['e', 4],
  ]);
  // A removed line that begins with dashes is no header.
  expect(rowsOf('@@ -1,2 +0,0 @@\n--- a\n-b\n').map((row) => row.text).slice(1)).toEqual(['-- a', 'b']);
});

test('a command says to a shell what was meant', () => {
  expect(command('pin', '--frame', 'f1', ...texts("it's $HOME `x`"))).toBe("callstack pin --frame f1 'it'\\''s $HOME `x`'");
  expect(command('pop', 'f1', false, ...option('--results', ''))).toBe('callstack pop f1');
  expect(command('pin', ...texts('-x y'))).toBe("callstack pin -- '-x y'");
  expect(command('pop', ...option('--results', '-x y'))).toBe("callstack pop '--results=-x y'");
});

test('no character hides', () => {
  expect(visible('a\u202Eb\u0000c\u200Bd\r\ne\tf')).toBe('a⟨U+202E⟩b⟨U+0000⟩c⟨U+200B⟩d\ne\tf');
  expect(visible('naïve 日本 👩🏽')).toBe('naïve 日本 👩🏽');
});
