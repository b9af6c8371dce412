// Steers a session of an agent in Chromium: sees its open frame, reads what a fold replaced, pins a rule, pops the frame.
// `node agent.mjs CHROMIUM ADDRESS`; the test with the real OpenCode runs it.
import { chromium } from '@playwright/test';

const [executablePath, address] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(40_000);
  const seen = (place, text) => page.locator(place).filter({ hasText: text }).first().waitFor();
  const row = (title) => page.locator('.row').filter({ hasText: title });
  await page.goto(address);
  await seen('.row.active', 'Second part');

  await row('First part').click();
  await page.getByRole('tab', { name: 'Fold' }).click();
  await seen('.stands', 'It has 400 lines.');
  await page.locator('section[aria-label="What left"] summary').filter({ hasText: 'of what is shown of one' }).click();
  await seen('section[aria-label="What left"]', 'line 7 of what is shown of one');
  await page.getByRole('tab', { name: 'Window' }).click();
  await page.getByRole('button', { name: /^Results/ }).click();
  await seen('.part-messages', 'f2');
  await page.getByRole('tab', { name: 'Calls' }).click();
  await seen('.folds', 'First part');
  await page.getByRole('tab', { name: 'Frames' }).click();

  await row('Count the lines').click();
  await page.locator('.actions').getByRole('button', { name: 'Pin' }).click();
  await page.getByLabel('The rule, word for word').fill('Never touch migrations/');
  await page.locator('dialog').getByRole('button', { name: 'Pin' }).click();
  await seen('.pinned', 'Never touch migrations/');

  await row('Second part').click();
  await page.locator('.actions').getByRole('button', { name: 'Pop' }).click();
  await page.getByLabel('Results').fill('A person counted 200 lines.');
  await page.locator('dialog').getByRole('button', { name: 'Pop' }).click();
  await seen('.results', 'A person counted 200 lines.');
} finally {
  await browser.close();
}
