/** The cost of the page with 10,000 frames, in processor time of its main thread, which other programs don't change. */

import type { Page } from '@playwright/test';
import { row, test } from './browser.ts';

interface Spent {
  task: number;
  script: number;
  layout: number;
}

const STEPS = 100;

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

test('10,000 frames', async ({ page, file }) => {
  const session = await page.context().newCDPSession(page);
  // The types know the domain of an older version alone.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async (): Promise<Spent> => {
    const { metrics } = await session.send('Performance.getMetrics');
    const of = (name: string): number => 1000 * (metrics.find((it) => it.name === name)?.value ?? 0);
    return { task: of('TaskDuration'), script: of('ScriptDuration'), layout: of('LayoutDuration') + of('RecalcStyleDuration') };
  };
  const measured = async (what: string, count: number, act: () => Promise<unknown>): Promise<void> => {
    const before = await spent();
    await act();
    const after = await spent();
    const each = (name: keyof Spent): string => ((after[name] - before[name]) / count).toFixed(1);
    console.log(`${what}: ${each('task')} ms, of these ${each('script')} in scripts and ${each('layout')} in layout`);
  };
  const painted = async (count: number): Promise<void> => {
    const at = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    console.log(`first paint with ${count} frames after ${Math.round(at ?? 0)} ms by the clock`);
  };
  await file(10);
  await painted(10);
  // The address stays the same except for the part after the `#`, which alone would load nothing.
  await page.goto('about:blank');
  await measured('opened, with the first rows', 1, () => file(10_000));
  await painted(10_000);
  await measured('scrolled by three rows', STEPS, () => steps(page, 'scroll'));
  await measured('scrolled to other rows', STEPS, () => steps(page, 'jump'));
  await row(page, 'f1').waitFor({ state: 'detached' });
  await measured('a key down', STEPS, () => steps(page, 'down'));
  await measured('flame chart opened', 1, async () => {
    await page.evaluate(() => { location.hash = '#/?view=flame'; });
    await page.locator('canvas').waitFor();
    await page.waitForTimeout(500);
  });
  await steps(page, 'in');
  await measured('flame chart panned', STEPS, () => steps(page, 'pan'));
  await measured('flame chart zoomed', STEPS, () => steps(page, 'zoom'));
});
