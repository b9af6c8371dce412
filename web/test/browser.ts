import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, type Page, test as base } from '@playwright/test';
import { report } from './fixture.ts';
import { offline } from './offline.ts';
import { Project } from './server.ts';

interface Given {
  /** Opens the page as a file from the disk, with so many frames. */
  file: (count: number, hash?: string) => Promise<void>;
  /** Opens the page of a server, whose project has so many frames. */
  served: (count: number, route?: string) => Promise<Project>;
}

/** Tests in which nothing may go wrong in the page: no exception, nothing that its policy refuses. */
export const test = base.extend<Given & { wrong: string[] }>({
  wrong: [
    async ({ page }, use) => {
      const wrong: string[] = [];
      page.on('pageerror', (error) => wrong.push(String(error.stack)));
      page.on('console', (message) => {
        // A browser reports every answer that is an error, and a server that has gone.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text());
      });
      await use(wrong);
      expect(wrong).toEqual([]);
    },
    { auto: true },
  ],
  file: async ({ page }, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'page-'));
    await use(async (count, hash = '#/') => {
      const path = join(folder, 'report.html');
      await writeFile(path, await offline(report(count)));
      await page.goto(`file://${path}${hash}`);
      await ready(page, count);
    });
    await rm(folder, { recursive: true });
  },
  served: async ({ page }, use) => {
    const started: Project[] = [];
    await use(async (count, route = '') => {
      const project = new Project(report(count));
      started.push(project);
      await page.goto(`${await project.start()}${route}`);
      await ready(page, count);
      return project;
    });
    for (const project of started) project.stop();
  },
});

/** Waits until the frames are there. */
async function ready(page: Page, count: number): Promise<void> {
  await expect(page.locator('.count').first()).toContainText(count.toLocaleString('en-GB'));
}

export const row = (page: Page, handle: string) => page.locator(`#row-${handle}`);

/** That an element is on the screen, and not only in the document. */
export async function expectSeen(page: Page, selector: string): Promise<void> {
  // A view that reads anew shows nothing for a moment.
  await expect.poll(async () => {
    const box = await page.locator(selector).first().boundingBox();
    return Math.min(box?.width ?? 0, box?.height ?? 0);
  }, selector).toBeGreaterThan(4);
}

export { expect };
