import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { defineConfig } from '@playwright/test';

/** A Chromium of this computer; the tests download none. */
function chromium(): string | undefined {
  const named = process.env['CALLSTACK_CHROMIUM'];
  if (named) return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const places = ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) => folders.map((folder) => join(folder, name)));
  return places.find((place) => existsSync(place));
}

const executablePath = chromium();
if (!executablePath) {
  console.log('The tests of the page are skipped: there is no Chromium on the PATH, and CALLSTACK_CHROMIUM names none.');
}

export default defineConfig({
  testDir: 'test',
  // Figures are no tests: they assert nothing, and are for docs/lab-book.md.
  testMatch: executablePath ? (process.env['MEASURE'] ? '*.figures.ts' : '*.spec.ts') : [],
  outputDir: 'node_modules/.cache/playwright',
  fullyParallel: true,
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 20_000 },
  reporter: 'list',
  use: {
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      ...(executablePath ? { executablePath } : {}),
      // Root has no sandbox in Chromium, and nothing foreign is shown.
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    },
  },
});
