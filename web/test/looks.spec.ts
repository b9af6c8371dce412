import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from '@playwright/test';
import { expect, expectSeen, row, test } from './browser.ts';

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const PLACES: Record<string, string> = {
  '#/f2': '#row-f2',
  '#/f2/diff?view=flame': '.patch',
  '#/f2/log?view=window': '.messages',
  '#/f2/fold?view=calls': '.uplot',
  '#/f2/request?view=request': '.messages',
};

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`in ${colorScheme}`, () => {
    test.use({ colorScheme });
    for (const width of [360, 1280, 3840]) {
      test(`axe finds nothing and nothing is cut off at ${width} pixels`, async ({ page, served }) => {
        await page.setViewportSize({ width, height: width === 360 ? 740 : 1000 });
        await served(60);
        for (const [hash, seen] of Object.entries(PLACES)) {
          await page.evaluate((to) => { location.hash = to; }, hash);
          await expect(page.locator(seen).first()).toBeAttached();
          await expectSeen(page, seen);
          await expectSeen(page, '#detail h2');
          expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${hash} is too wide`).toBe(true);
          await page.evaluate(await axe);
          const found = await page.evaluate(() => (window as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe.run({ resultTypes: ['violations'] }));
          expect(found.violations.map(({ id, nodes }) => [id, nodes.map((node) => `${node.html} ${node.failureSummary}`)]), hash).toEqual([]);
        }
      });
    }
  });
}

for (const width of [360, 1280]) {
  test(`what is below a frame stands further in at ${width} pixels`, async ({ page, file }) => {
    await page.setViewportSize({ width, height: 740 });
    await file(60);
    const places = await page.locator('.row').evaluateAll((rows) =>
      rows.map((row) => [Number(row.getAttribute('aria-level')), row.querySelector('.sign')?.getBoundingClientRect().left ?? 0] as const));
    const left = new Map(places);
    for (const level of [2, 3, 4]) expect(left.get(level), `level ${level}`).toBeGreaterThan(left.get(level - 1) ?? Infinity);
  });
}

test('on a narrow screen a chosen frame comes into sight, and has room', async ({ page, file }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await file(60);
  await row(page, 'f2').click();
  await expect(page.locator('#detail h2')).toBeInViewport();
  await expect(page.locator('.results')).toBeInViewport();
  await page.getByRole('button', { name: 'All frames' }).click();
  await expect(row(page, 'f2')).toBeInViewport();
});

const faults = async (page: Page): Promise<string[]> => {
  await page.evaluate(await axe);
  const found = await page.evaluate(() => (window as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string }[] }> } }).axe.run({ resultTypes: ['violations'] }));
  return found.violations.map(({ id }) => id);
};

test('axe finds nothing in a form, the help, a filtered list, and where nothing is chosen or there', async ({ page, served }) => {
  await served(12);
  await expect(page.locator('.now')).toContainText('Planned');
  expect(await faults(page)).toEqual([]);
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
  expect(await faults(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await row(page, 'f9').click();
  await page.locator('.actions').getByRole('button', { name: 'Pop', exact: true }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
  expect(await faults(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.locator('#filter').fill('result of 3');
  await expect(page.locator('.why').first()).toHaveText('in its result');
  expect(await faults(page)).toEqual([]);
  await served(0);
  await expect(page.locator('.empty')).toBeVisible();
  expect(await faults(page)).toEqual([]);
});

test.describe('for a reader of another language', () => {
  test.use({ locale: 'de-DE' });
  test('figures are in their form', async ({ page, served }) => {
    const project = await served(0).catch(() => undefined);
    expect(project).toBeDefined();
    project!.report.frames = (await import('./fixture.ts')).report(1200).frames;
    project!.changed();
    await expect(page.locator('.count')).toHaveText('1.200 frames');
  });
});
