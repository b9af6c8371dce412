/**
 * The cost of the page with 10,000 frames, in processor time of its main thread, which other programs hardly change.
 * `MEASURE=1 npm test` prints medians of ten runs; with `BESIDE=FOLDER` also of the build in that folder, in turn.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type Page, test } from '@playwright/test';
import { report } from './fixture.ts';
import { offline } from './offline.ts';

interface Spent {
  task: number;
  script: number;
  layout: number;
}

const RUNS = Number(process.env['RUNS'] ?? 10);
const STEPS = 50;

/** Does something in every frame of the screen. */
const steps = (page: Page, step: string): Promise<void> =>
  page.evaluate(async ([count, what]) => {
    const key = (selector: string, name: string, shiftKey = false): boolean | undefined =>
      document.querySelector(selector)?.dispatchEvent(new KeyboardEvent('keydown', { key: name, shiftKey, bubbles: true }));
    const acts: Record<string, (at: number) => unknown> = {
      jump: (at) => { document.querySelector('.tree-box')!.scrollTop = (at * 2477) % 290_000; },
      scroll: (at) => { document.querySelector('.tree-box')!.scrollTop = at * 90; },
      down: () => key('[role=tree]', 'ArrowDown'),
      pan: (at) => key('canvas', at % 20 < 10 ? 'ArrowRight' : 'ArrowLeft', true),
      zoom: (at) => key('canvas', at % 20 < 10 ? '+' : '-'),
      in: () => key('canvas', '+'),
    };
    for (let at = 0; at < count; at += 1) {
      acts[what]!(at);
      await new Promise((drawn) => requestAnimationFrame(drawn));
    }
  }, [step === 'in' ? 3 : STEPS, step] as const);

/** Figures by what was measured, a list of runs each. */
type Figures = Map<string, { time: number; script: number; layout: number }[]>;

/** Opens a file of one build and works in it. */
async function run(browser: Browser, path: string, frames: number, figures: Figures): Promise<void> {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  // The types know the domain of an older version alone.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async (): Promise<Spent> => {
    const { metrics } = await session.send('Performance.getMetrics');
    const of = (name: string): number => 1000 * (metrics.find((it) => it.name === name)?.value ?? 0);
    return { task: of('TaskDuration'), script: of('ScriptDuration'), layout: of('LayoutDuration') + of('RecalcStyleDuration') };
  };
  const note = (what: string, time: number, script = 0, layout = 0): void => {
    figures.set(what, [...(figures.get(what) ?? []), { time, script, layout }]);
  };
  const measured = async (what: string, count: number, act: () => Promise<unknown>): Promise<void> => {
    const before = await spent();
    await act();
    const after = await spent();
    note(what, (after.task - before.task) / count, (after.script - before.script) / count, (after.layout - before.layout) / count);
  };
  await measured(`opened with ${frames} frames`, 1, async () => {
    await page.goto(pathToFileURL(path).href);
    await page.locator('.row').first().waitFor();
  });
  const [paint, rows] = await page.evaluate(() => {
    const painted = (name: string): number => performance.getEntriesByName(name)[0]?.startTime ?? 0;
    return [painted('first-contentful-paint'), painted('rows')];
  });
  note(`first paint with ${frames} frames, by the clock`, paint ?? 0);
  if (rows) note(`first rows of ${frames} frames, by the clock`, rows);
  if (frames > 1000) {
    await measured('scrolled by three rows', STEPS, () => steps(page, 'scroll'));
    await measured('scrolled to other rows', STEPS, () => steps(page, 'jump'));
    await page.locator('#row-f1').waitFor({ state: 'detached' });
    await measured('a key down', STEPS, () => steps(page, 'down'));
    await measured('flame chart opened', 1, async () => {
      await page.evaluate(() => { location.hash = '#/?view=flame'; });
      await page.locator('canvas').waitFor();
      await page.waitForTimeout(500);
    });
    await steps(page, 'in');
    await measured('flame chart panned', STEPS, () => steps(page, 'pan'));
    await measured('flame chart zoomed', STEPS, () => steps(page, 'zoom'));
  }
  await context.close();
}

const median = (all: number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0;

test('10,000 frames', async ({ browser }) => {
  test.setTimeout(3_600_000);
  const folder = await mkdtemp(join(tmpdir(), 'figures-'));
  const beside = process.env['BESIDE'];
  const builds = [...(beside ? [{ name: 'beside', assets: pathToFileURL(`${beside}/`) }] : []), { name: 'this build', assets: undefined }];
  const figures = new Map<string, Figures>(builds.map(({ name }) => [name, new Map()]));
  for (let at = 0; at < RUNS; at += 1) {
    for (const frames of [10, 10_000]) {
      for (const { name, assets } of builds) {
        const path = join(folder, `${name} ${frames}.html`);
        if (at === 0) await writeFile(path, await offline(report(frames), assets));
        await run(browser, path, frames, figures.get(name)!);
      }
    }
  }
  await rm(folder, { recursive: true });
  for (const [name, all] of figures) {
    for (const [what, runs] of all) {
      const of = (part: 'time' | 'script' | 'layout'): string => median(runs.map((it) => it[part])).toFixed(1);
      const least = Math.min(...runs.map((it) => it.time)).toFixed(1);
      console.log(`${name}: ${what}: ${of('time')} ms (least ${least}), of these ${of('script')} in scripts and ${of('layout')} in layout`);
    }
  }
});
