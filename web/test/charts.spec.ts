import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, expectSeen, test } from './browser.ts';
import { report } from './fixture.ts';
import { offline } from './offline.ts';

/** The number of colours in a part of the flame chart. */
const colours = (page: Page): Promise<number> =>
  page.locator('.canvas-box canvas').evaluate((canvas: HTMLCanvasElement) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
    const found = new Set<number>();
    for (let at = 0; at < data.length; at += 4) found.add((data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!);
    return found.size;
  });

/** The name of the chart, which contains the chosen frame. */
const chart = (page: Page) => page.locator('.canvas-box canvas');

test('the flame chart is drawn, and a click chooses the frame under it', async ({ page, file }) => {
  await file(60, '#/?view=flame');
  await expectSeen(page, '.canvas-box canvas');
  await expect.poll(() => colours(page)).toBeGreaterThan(5);
  await chart(page).click({ position: { x: 100, y: 30 } });
  await expect(page.locator('#detail h2')).toContainText('f1');
  await expect(chart(page)).toHaveAccessibleName(/f1, Make the parser read comments, in progress/);
});

test('keys walk through the flame chart and zoom', async ({ page, file }) => {
  await file(60, '#/f1?view=flame');
  await chart(page).focus();
  await page.keyboard.press('ArrowDown');
  await expect(page.locator('#detail h2')).toContainText('f2');
  await page.keyboard.press('ArrowRight');
  await expect(page.locator('#detail h2')).toContainText('f3');
  await expect.poll(() => colours(page)).toBeGreaterThan(5);
  const before = await chart(page).screenshot();
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  await expect.poll(async () => (await chart(page).screenshot()).equals(before)).toBe(false);
  await page.keyboard.press('0');
  await page.keyboard.press('ArrowUp');
  await expect(page.locator('#detail h2')).toContainText('f1');
});

test('the flame chart can be coloured and measured otherwise', async ({ page, file }) => {
  await file(60, '#/?view=flame');
  await page.locator('#colours').selectOption('agent');
  await expect(page.locator('.legend')).toContainText('explore');
  await page.locator('#measure').selectOption('tokens');
  await expect(chart(page)).toHaveAccessibleName(/by tokens/);
  await expect.poll(() => colours(page)).toBeGreaterThan(4);
});

test('each part of the window opens its messages', async ({ page, file }) => {
  await file(60, '#/?view=window');
  await expectSeen(page, '.stacked.large .part-live');
  await page.getByRole('button', { name: /Live work/ }).click();
  await expect(page.getByText('read src/parser.rs')).toBeVisible();
  await page.getByRole('button', { name: /Results/ }).click();
  await expect(page.getByText('read src/parser.rs')).toHaveCount(0);
  await page.locator('.part-messages').getByRole('link', { name: 'f2' }).click();
  await expect(page.locator('#detail h2')).toContainText('f2');
});

test('a recorded session is drawn as it could have been sent', async ({ page }) => {
  const made = report(60);
  const session = made.frames.sessions[0]!.id;
  const way = (name: string) => ({ way: name, whole: { largest: 5, input: 9, billed: 9, billedWithReads: 9 }, used: 4, kept: 3, edits: 2, verbatim: 1, reads: 1 });
  made.replay = {
    report: { sessions: [{ session, ways: [way('linear'), way('frames')] }], sum: [] },
    curves: [{ session, curves: [{ way: 'linear', tokens: [3, 5] }, { way: 'frames', tokens: [3, 4] }] }],
  };
  const folder = await mkdtemp(join(tmpdir(), 'replay-'));
  await writeFile(join(folder, 'replay.html'), await offline(made));
  await page.goto(`file://${join(folder, 'replay.html')}#/?view=calls`);
  await expectSeen(page, '.uplot canvas');
  await expect(page.locator('.ways tbody th')).toHaveText(['━ linear', '━ frames']);
  await page.locator('.u-over').hover({ position: { x: 5, y: 5 } });
  await expect(page.locator('.u-legend')).toContainText('linear3');
  await rm(folder, { recursive: true });
});

test('a mark of the calls opens what left beside what stands for it', async ({ page, file }) => {
  await file(60, '#/?view=calls');
  await expectSeen(page, '.uplot canvas');
  await expect(page.locator('.marks a')).toHaveCount(5);
  await page.locator('.marks a').first().click();
  await expect(page.locator('#tab-panel')).toContainText('What left');
  await expect(page.locator('#tab-panel').getByText('Make the parser read comments, please.')).toBeVisible();
  await expect(page.locator('.stands')).toContainText('<frame id="f11"');
  await page.getByLabel('Figures').selectOption('billed');
  await expect(page.locator('.calls')).toContainText('billed');
});
