/** The page with the program itself: its server, its command line, its reports. */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, row, test as base } from './browser.ts';

const binary = process.env['CALLSTACK_BINARY'] ?? fileURLToPath(new URL('../../target/debug/callstack', import.meta.url));
const isBuilt = existsSync(binary);
if (!isBuilt) console.log(`Tests with the program are skipped: there is no ${binary}; \`cargo build -p callstack-cli\` builds it.`);

interface Desk {
  folder: string;
  run: (...args: string[]) => string;
  /** Starts a server; the address of its page. */
  serve: () => Promise<string>;
}

const test = base.extend<{ desk: Desk }>({
  desk: async ({}, use) => {
    const home = await mkdtemp(join(tmpdir(), 'desk-'));
    const folder = join(home, 'project');
    await mkdir(folder);
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1' };
    const options = { cwd: folder, env, encoding: 'utf8' as const };
    const started: ReturnType<typeof spawn>[] = [];
    await use({
      folder,
      run: (...args) => execFileSync(binary, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }),
      serve: () => new Promise((resolve, reject) => {
        const server = spawn(binary, ['serve', '--json'], { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
        started.push(server);
        let output = '';
        server.stdout.on('data', (chunk) => {
          output += chunk;
          const page = /"page": "([^"]*)"/.exec(output)?.[1];
          if (page) resolve(page);
        });
        server.on('exit', () => reject(new Error(`the server ended: ${output}`)));
      }),
    });
    for (const server of started) {
      const ended = new Promise((done) => server.on('exit', done));
      server.kill();
      await ended;
    }
    await rm(home, { recursive: true });
  },
});

test.skip(!isBuilt, `there is no ${binary}`);

test('what the command line does is seen, and what the page does counts', async ({ page, desk }) => {
  desk.run('push', 'Make the parser read comments', '-c', 'tests are green', '--here');
  await page.goto(await desk.serve());
  await expect(row(page, 'f1')).toContainText('Make the parser read comments');

  desk.run('push', 'Find <b>the</b> cause', '-c', 'it is known');
  await expect(row(page, 'f2')).toContainText('Find <b>the</b> cause');
  await expect(row(page, 'f2')).toHaveClass(/active/);
  await row(page, 'f2').click();

  await page.locator('.actions').getByRole('button', { name: 'Pin' }).click();
  await page.getByLabel('The rule, word for word').fill('Never touch migrations/');
  await page.locator('dialog').getByRole('button', { name: 'Pin' }).click();
  await expect(page.locator('.pinned')).toContainText('Never touch migrations/');
  expect(desk.run('show', 'f2')).toContain('Never touch migrations/');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(page.locator('.pinned')).toHaveCount(0);
  expect(desk.run('show', 'f2')).not.toContain('Never touch migrations/');

  await page.locator('.actions').getByRole('button', { name: 'Plan' }).click();
  await page.getByLabel('Titles, one a line').fill('One\nTwo');
  await page.locator('dialog').getByRole('button', { name: 'Plan' }).click();
  await expect(row(page, 'f4')).toContainText('Two');
  await row(page, 'f4').click();
  await page.getByRole('tree').focus();
  await page.keyboard.press('Alt+ArrowUp');
  await expect.poll(() => desk.run('tree')).toMatch(/f4 Two[^]*f3 One/);
  await page.keyboard.press('u');
  await page.keyboard.press('Alt+ArrowRight');
  await expect(row(page, 'f5')).toHaveAttribute('aria-level', '4');
  await expect.poll(() => desk.run('show', 'f3')).toContain('f5');

  await row(page, 'f2').click();
  await page.locator('.actions').getByRole('button', { name: 'Pop' }).click();
  await page.getByLabel('Results').fill('The tokenizer drops them');
  await page.locator('dialog').getByRole('button', { name: 'Pop' }).click();
  await expect(page.locator('.results')).toContainText('The tokenizer drops them');
  expect(desk.run('show', 'f2')).toContain('The tokenizer drops them');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(page.locator('.actions').getByRole('button', { name: 'Pop' })).toBeVisible();
  expect(desk.run('tree')).toMatch(/▶ f2/);
  await page.locator('.actions').getByRole('button', { name: 'Pop' }).click();
  await page.getByLabel('Results').fill('They are dropped');
  await page.locator('dialog').getByRole('button', { name: 'Pop' }).click();
  await page.locator('.actions').getByRole('button', { name: 'Reopen' }).click();
  await expect.poll(() => desk.run('tree')).toMatch(/▶ f2/);
  await page.keyboard.press('u');
  await expect.poll(() => desk.run('tree')).toMatch(/✓ f2/);
  expect(desk.run('show', 'f2')).toContain('They are dropped');
});

test('what begins or ends frames is taken back', async ({ page, desk }) => {
  desk.run('push', 'Make the parser read comments', '-c', 'tests are green', '--here');
  desk.run('plan', 'Printer', '-c', 'it prints them');
  desk.run('plan', '--parent', 'f2', 'Layout', '-c', 'it is stable');
  await page.goto(await desk.serve());
  const actions = page.locator('.actions');
  const tree = (wanted: RegExp) => expect.poll(() => desk.run('tree')).toMatch(wanted);
  const fill = async (name: string, fields: Record<string, string>): Promise<void> => {
    await actions.getByRole('button', { name, exact: true }).click();
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
    await page.locator('dialog').getByRole('button', { name, exact: true }).click();
    await expect(page.getByRole('dialog')).toHaveCount(0);
  };
  await row(page, 'f2').click();
  await fill('Invalidate', { 'Why it is no longer relevant': 'Nobody prints' });
  await tree(/⊘ f2[^]*⊘ f3/);
  await page.keyboard.press('u');
  await tree(/○ f2[^]*○ f3/);

  await row(page, 'f1').click();
  await fill('Push', { 'Title, two to five words': 'Find the cause', 'What “done” means, so that it can be checked': 'it is known' });
  await tree(/▶ f4/);
  await page.keyboard.press('u');
  await tree(/⊘ f4/);

  await fill('Block', { 'What it waits for, and what was done so far': 'An answer about the format' });
  await tree(/‖ f1/);
  await actions.getByRole('button', { name: 'Take up' }).click();
  await tree(/▶ f1/);
  await page.keyboard.press('u');
  await tree(/‖ f1/);
  expect(desk.run('show', 'f1')).toContain('An answer about the format');
});

test('whatever a recorded session holds is shown', async ({ page, desk }) => {
  const recordings = fileURLToPath(new URL('../../crates/recordings/tests/recordings/', import.meta.url));
  desk.run('import', '--here', '--yes', recordings);
  await page.goto(await desk.serve());
  const count = page.locator('.count').first();
  await expect(count).toContainText(/\d+ frames/);
  const frames = Number.parseInt((await count.textContent()) ?? '', 10);
  const seen = new Set<string>();
  for (let number = 1; number <= frames; number += 1) {
    for (const tab of ['', '/diff', '/log', '/fold', '/request']) {
      await page.evaluate((hash) => { location.hash = hash; }, `#/f${number}${tab}`);
      await expect(page.locator('#detail h2')).toContainText(`f${number}`);
      await expect(page.locator('#tab-panel')).toContainText(/\w/);
      await expect(page.locator('#tab-panel')).not.toContainText('Reading');
    }
    await page.evaluate((hash) => { location.hash = hash; }, `#/f${number}`);
    await expect(page.locator('#tab-panel')).toContainText('In a terminal');
    for (const heading of await page.locator('#tab-panel h3').allTextContents()) seen.add(heading.replace(/ .*/, ''));
  }
  // What the recordings have of each kind; the names of the fields are those that the program writes.
  expect([...seen].sort()).toEqual(expect.arrayContaining(['Checks', 'Files', 'In', 'Results']));
});

test('a report opens from the disk', async ({ page, desk }) => {
  desk.run('push', 'Make the parser read comments', '-c', 'tests are green', '--here');
  desk.run('push', '</script><script>document.title = "owned"</script>', '-c', 'it is known');
  desk.run('pop', '-r', 'Done <img src=x onerror=alert(1)>');
  desk.run('report', 'f2', '-o', 'report.html');
  await page.goto(`file://${join(desk.folder, 'report.html')}`);
  await expect(page.locator('#detail h2')).toContainText('</script><script>');
  await expect(page.locator('.results')).toContainText('Done <img');
  await expect(page.locator('.actions')).toHaveCount(0);
  await expect(page).toHaveTitle('callstack');
});
