import { expect, expectSeen, row, test } from './browser.ts';
import { HOSTILE } from './fixture.ts';

test('a file from the disk shows everything, changes nothing and asks for nothing', async ({ page, file }) => {
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await file(60);
  await expectSeen(page, '#row-f1');
  await row(page, 'f2').click();
  await expect(page.getByRole('heading', { level: 2 })).toContainText('f2');
  await expect(page.getByText('The tokenizer dropped every line')).toBeVisible();
  await expect(page.locator('.checks li')).toHaveText(['✓ passed cargo test -p parser 12 passed', '✗ failed cargo clippy ', '✗ failed ls samples no such folder']);
  await expect(page.locator('#tab-panel')).toContainText('Changed after the last check: docs/notes.md');
  await expect(page.locator('.actions')).toHaveCount(0);
  for (const [tab, seen] of [['Diff', 'without_comments'], ['Log', 'Make the parser read comments, please.'], ['Fold', 'stand for them']] as const) {
    await page.getByRole('tab', { name: tab }).click();
    await expect(page.locator('#tab-panel').getByText(seen).first()).toBeVisible();
  }
  for (const [view, seen] of [['Flame chart', 'completed'], ['Window', 'Live work'], ['Calls', '40 requests'], ['Request', 'the next one']] as const) {
    await page.getByRole('tablist', { name: 'Views' }).getByRole('tab', { name: view }).click();
    await expect(page.locator('#view-panel')).toContainText(seen);
  }
  await row(page, 'f59').waitFor({ state: 'detached' });
  expect(asked.filter((url) => !url.startsWith('file:'))).toEqual([]);
});

test('what is not in a file is said', async ({ page, file }) => {
  await file(60, '#/f9/log');
  await expect(page.locator('#tab-panel')).toContainText('This is not in the file.');
  await expect(page.locator('#tab-panel')).toContainText('callstack serve');
});

test('of several projects one is shown, and another can be chosen', async ({ page, served }) => {
  const one = await served(3);
  await expect(page.getByRole('combobox', { name: 'Project' })).toHaveCount(0);
  one.projects.push({ id: '02', folder: '/home/ada/lexer', name: HOSTILE[0]! });
  await page.reload();
  const choice = page.getByRole('combobox', { name: 'Project' });
  await expect(choice).toHaveValue('01');
  expect([...one.asked]).toEqual(['01']);
  await expect(page).toHaveURL(/\?project=01/);
  await choice.selectOption('02');
  await expect(page).toHaveURL(/\?project=02/);
  await expect(choice).toHaveValue('02');
  await expect(row(page, 'f1')).toBeVisible();
  expect([...one.asked]).toEqual(['01', '02']);
  await expect.poll(() => one.streams).toBe(1);
  one.changed();
  await expect(row(page, 'f1')).toBeVisible();
});

test('texts stay texts', async ({ page, file }) => {
  await file(60, '#/f2');
  await expect(row(page, 'f2')).toContainText(HOSTILE[0]!);
  await expect(page.locator('#detail h2')).toContainText('<script>');
  await expect(row(page, 'f4')).toContainText('⟨U+202E⟩');
  for (const hash of ['#/f2/diff', '#/f2/log', '#/f2/fold?view=calls', '#/f11/fold?view=window', '#/%3Cimg%20src=x%20onerror=alert(1)%3E', '#/f3?view=flame']) {
    await page.goto(page.url().replace(/#.*/, hash));
    await expect(page.locator('#detail')).toBeVisible();
  }
  await expect(page).toHaveTitle('callstack');
  expect(await page.locator('main img, main script, main b').count()).toBe(0);
  expect(await page.evaluate(() => document.querySelectorAll('a[href^="javascript"]').length)).toBe(0);
});

test('keys do all that a mouse does in the list', async ({ page, file }) => {
  await file(60);
  const tree = page.getByRole('tree');
  await tree.focus();
  await page.keyboard.press('Home');
  await expect(row(page, 'f1')).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('ArrowLeft');
  await expect(row(page, 'f1')).toHaveAttribute('aria-expanded', 'false');
  await expect(row(page, 'f2')).toHaveCount(0);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await expect(row(page, 'f2')).toHaveAttribute('aria-selected', 'true');
  await expect(tree).toHaveAttribute('aria-activedescendant', 'row-f2');
  await page.keyboard.press('End');
  await expect(row(page, 'f60')).toHaveAttribute('aria-selected', 'true');
  await expect(row(page, 'f60')).toBeInViewport();
  await page.keyboard.press('ArrowLeft');
  await expect(row(page, 'f1')).toBeInViewport();
  await page.keyboard.press('Enter');
  await expect(page.locator('#detail')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(tree).toBeFocused();
  await page.keyboard.press('2');
  await expect(page.getByRole('tab', { name: 'Flame chart' })).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog', { name: 'Keys' })).toBeVisible();
});

test('the filter finds titles, results and files, with the frames above them', async ({ page, file }) => {
  await file(60);
  await page.keyboard.press('/');
  await page.keyboard.type('part25.rs');
  await expect(page.locator('.count')).toHaveText('1 of 60');
  await expect(row(page, 'f25')).toBeVisible();
  await expect(row(page, 'f1')).toHaveClass(/aside/);
  await expect(row(page, 'f2')).toHaveCount(0);
  await page.locator('#filter').fill('the 22 (');
  await expect(page.getByText('No frame matches.')).toBeVisible();
  await page.locator('#filter').fill('THE 22');
  await expect(row(page, 'f22').locator('mark')).toHaveText(['the', '22']);
  await page.locator('#filter').fill('tokenizer dropped');
  await expect(row(page, 'f2')).toBeVisible();
  await page.locator('#filter').fill('nothing has this');
  await expect(page.getByText('No frame matches.')).toBeVisible();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByLabel('Frames to show').selectOption('unfinished');
  await expect(row(page, 'f59')).toBeVisible();
  await expect(row(page, 'f2')).toHaveCount(0);
});

test('letters typed right after the key of the filter belong to it, in any view', async ({ page, file }) => {
  await file(60);
  await page.keyboard.press('4');
  await expect(page.locator('#filter')).toHaveCount(0);
  // A page that is busy draws nothing between two keys.
  await page.evaluate(() => { window.requestAnimationFrame = () => 0; });
  await page.keyboard.type('/part25.rs');
  await expect(page.locator('#filter')).toHaveValue('part25.rs');
  await expect(page.locator('.count')).toHaveText('1 of 60');
});

test('what can not be drawn leaves the rest of the page as it is', async ({ page, served, wrong }) => {
  const project = await served(12);
  project.report.details['f3'] = { ...project.report.details['f3']!, artifacts: null as unknown as string[] };
  await row(page, 'f3').click();
  await expect(page.locator('#tab-panel')).toContainText("This can't be shown");
  await page.getByRole('tab', { name: 'Diff' }).click();
  await expect(page.locator('#tab-panel')).toContainText('Nothing is recorded.');
  await row(page, 'f4').click();
  await expect(page.locator('#tab-panel')).toContainText('cargo clippy');
  // It is told to whoever looks for it.
  expect(wrong.length).toBeGreaterThan(0);
  wrong.length = 0;
});

test('an address leads to a frame, and the history back', async ({ page, file }) => {
  await file(60, '#/f40/diff?view=flame');
  await expect(page.locator('#detail h2')).toContainText('f40');
  await expect(page.getByRole('tab', { name: 'Diff' })).toHaveAttribute('aria-selected', 'true');
  await page.getByRole('tab', { name: 'Frames' }).click();
  await expect(row(page, 'f40')).toBeInViewport();
  await row(page, 'f39').click();
  expect(new URL(page.url()).hash).toBe('#/f39');
  await page.goBack();
  await expect(page.locator('#detail h2')).toContainText('f40');
  await page.goto(page.url().replace(/#.*/, '#/f4711'));
  await expect(page.locator('#detail')).toContainText('There is no frame');
});

test('of 10,000 frames only those in sight are in the document', async ({ page, file }) => {
  await file(10_000);
  await expectSeen(page, '#row-f1');
  expect(await page.locator('.row').count()).toBeLessThan(100);
  await page.getByRole('tree').focus();
  await page.keyboard.press('End');
  await expect(row(page, 'f10000')).toBeInViewport();
  expect(await page.locator('.row').count()).toBeLessThan(100);
  await page.locator('.tree-box').evaluate((box) => { box.scrollTop = 0; });
  await expect(row(page, 'f1')).toBeInViewport();
  // The chosen row stays for screen readers.
  await expect(row(page, 'f10000')).toHaveCount(1);
});

test('an empty project says what to do', async ({ page, served }) => {
  await served(0);
  await expect(page.getByText('There are no frames yet.')).toBeVisible();
  await expect(page.getByText('callstack init opencode')).toBeVisible();
});
