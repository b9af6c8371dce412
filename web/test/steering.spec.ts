import { expect, row, test } from './browser.ts';

/** Of 12 frames the last three are planned, and the one before them is open. */
const OPEN = 'f9';

test('the token leaves the address, and a tab without it says what to do', async ({ page, served }) => {
  await served(12);
  expect(page.url()).not.toContain('0123456789');
  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await expect(page.getByRole('alert')).toContainText('This tab is not let in.');
});

test('what an agent does appears by itself', async ({ page, served }) => {
  const project = await served(12);
  await expect.poll(() => project.streams).toBe(1);
  project.frame('f10').title = 'A title of just now';
  project.changed();
  await expect(row(page, 'f10')).toContainText('A title of just now');
});

test('tabs share one stream, and another takes over', async ({ page, served, context }) => {
  const project = await served(12);
  await expect.poll(() => project.streams).toBe(1);
  const second = await context.newPage();
  // A page that was opened by another one has its storage; these two were not.
  const token = await page.evaluate(() => sessionStorage.getItem('token'));
  await second.goto(`${page.url().replace(/#.*/, '')}#${token}`);
  await expect(second.locator('#row-f1')).toBeVisible();
  expect(project.streams).toBe(1);
  project.frame('f10').title = 'Told by the first tab';
  project.changed();
  await second.bringToFront();
  await expect(second.locator('#row-f10')).toContainText('Told by the first tab');
  await page.close();
  await expect.poll(() => project.streams).toBe(1);
});

test('a rule is pinned in the session of its frame, and the pin taken back', async ({ page, served }) => {
  const project = await served(12, `/${OPEN}`);
  project.answers.set('stack_pin', () => ({ text: 'Pinned p3 to f9', data: { frame: OPEN, pin: 'p3' } }));
  await page.getByRole('button', { name: 'Pin', exact: true }).click();
  await page.getByLabel('The rule, word for word').fill("Don't touch 'migrations'");
  await page.getByText('As a command').click();
  await expect(page.locator('dialog code')).toHaveText(`callstack pin --frame ${OPEN} 'Don'\\''t touch '\\''migrations'\\'''`);
  await page.locator('dialog').getByRole('button', { name: 'Pin' }).click();
  await expect(page.locator('.toast')).toContainText('Pinned p3');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => project.changes.length).toBe(2);
  const session = project.frame(OPEN).session!;
  expect(project.changes).toEqual([
    { operation: 'stack_pin', session, args: { text: "Don't touch 'migrations'", frame: OPEN } },
    { operation: 'stack_unpin', session, args: { pin: 'p3', frame: OPEN } },
  ]);
});

test('frames are pushed, popped, blocked, planned, started, and retried', async ({ page, served }) => {
  const project = await served(12, `/${OPEN}`);
  const fill = async (button: string, fields: Record<string, string>, confirm: string): Promise<void> => {
    await page.locator('.actions').getByRole('button', { name: button, exact: true }).click();
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
    await page.locator('dialog').getByRole('button', { name: confirm, exact: true }).click();
    await expect(page.locator('dialog[open]')).toHaveCount(0);
  };
  await fill('Push', { 'Title, two to five words': 'Look closer', 'What “done” means, so that it can be checked': 'a test' }, 'Push');
  await fill('Pop', { Results: 'It works' }, 'Pop');
  await fill('Block', { 'What it waits for, and what was done so far': 'An answer' }, 'Block');
  await fill('Plan', { 'Titles, one a line, in the order of work': 'One\nTwo', 'What “done” means for each, one a line': 'first' }, 'Plan');
  await fill('Decide', { 'What was decided, and why': 'TOML' }, 'Record');
  await fill('Invalidate', { 'Why it is no longer relevant': 'Not wanted' }, 'Invalidate');
  await row(page, 'f10').click();
  await page.locator('.actions').getByRole('button', { name: 'Start' }).click();
  await row(page, 'f3').click();
  await expect(page.locator('#detail h2')).toContainText('f3');
  await page.locator('.actions').getByRole('button', { name: 'Retry' }).click();
  await expect(page.locator('dialog')).toContainText('All samples in tests/samples parse');
  await page.locator('dialog').getByRole('button', { name: 'Retry' }).click();
  await expect.poll(() => project.changes.map(({ operation, args }) => [operation, args])).toEqual([
    ['stack_frame_push', { title: 'Look closer', successCriteria: 'a test' }],
    ['stack_frame_pop', { frame: OPEN, status: 'completed', results: 'It works' }],
    ['stack_frame_pop', { frame: OPEN, status: 'blocked', results: 'An answer' }],
    ['stack_frame_plan', { parent: OPEN, children: [{ title: 'One', successCriteria: 'first' }, { title: 'Two', successCriteria: '' }] }],
    ['stack_add_decision', { decision: 'TOML', frame: OPEN }],
    ['stack_frame_invalidate', { frame: OPEN, reason: 'Not wanted' }],
    ['stack_frame_activate', { frame: 'f10' }],
    ['stack_frame_retry', { frame: 'f3' }],
  ]);
});

test('a refusal keeps the form and says what to do', async ({ page, served }) => {
  const project = await served(12, `/${OPEN}`);
  project.refuse('f9 has open frames below it');
  await page.locator('.actions').getByRole('button', { name: 'Pop', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Pop' }).click();
  await expect(page.locator('dialog').getByRole('alert')).toHaveText('f9 has open frames below it. Do something else.');
});

test('files are rolled back after a look at them', async ({ page, served }) => {
  const project = await served(12, '/f3');
  project.answers.set('stack_frame_rollback', () => ({
    text: 'Rolled back',
    data: { frame: 'f3', restored: [{ path: 'src/a.rs', how: 'reverted' }], left: [{ path: 'b.rs', why: 'changed_since' }] },
  }));
  await page.locator('.actions').getByRole('button', { name: 'Roll back' }).click();
  await expect(page.locator('dialog')).toContainText('b.rs was changed since the frame ended');
  await page.getByRole('button', { name: 'Restore 1 file' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => project.changes.map(({ args }) => args)).toEqual([
    { frame: 'f3', dryRun: true },
    { frame: 'f3', files: ['src/a.rs'] },
    { frame: 'f3', undo: true },
  ]);
});

test('what is planned is moved by keys and by the mouse', async ({ page, served }) => {
  const project = await served(12, '/f11');
  project.answers.set('stack_frame_plan', () => ({ data: [{ handle: 'f13', sessionID: 'plan-1', title: 'x' }] }));
  await page.getByRole('tree').focus();
  // Keys wait until the change before them is done.
  project.slowness = 200;
  for (const key of ['Alt+ArrowUp', 'Alt+ArrowDown', 'Alt+ArrowRight']) await page.keyboard.press(key);
  await expect.poll(() => project.changes.length).toBe(4);
  expect(project.atOnce).toBe(1);
  project.slowness = 0;
  await expect(page.getByRole('button', { name: 'Undo' })).toBeEnabled();
  await row(page, 'f12').dragTo(row(page, 'f10'), { targetPosition: { x: 200, y: 3 } });
  await expect.poll(() => project.changes.map(({ operation, args }) => [operation, args])).toEqual([
    ['stack_frame_replan', { frame: 'f11', before: 'f10' }],
    ['stack_frame_replan', { frame: 'f12', before: 'f11' }],
    ['stack_frame_plan', { parent: 'f10', children: [{ title: project.frame('f11').title, successCriteria: project.report.details['f11']!.successCriteria }] }],
    ['stack_frame_unplan', { frame: 'f11' }],
    ['stack_frame_replan', { frame: 'f12', before: 'f10' }],
  ]);
});

test('what ends, opens or takes up a frame is taken back with what it was before', async ({ page, served }) => {
  const project = await served(12, `/${OPEN}`);
  const { results } = project.report.details['f3']!;
  project.report.details['f8'] = { ...project.report.details['f8']!, results: 'Waits for an answer' };
  Object.assign(project.frame('f8'), { status: 'blocked' });
  project.changed();
  project.answers.set('stack_frame_invalidate', () => ({ data: { invalidated: [OPEN, 'f10'], inProgress: [] } }));
  project.answers.set('stack_frame_push', () => ({ data: { handle: 'f13' } }));
  const undone = async (text: string): Promise<void> => {
    await expect(page.locator('.toast')).toContainText(text);
    await page.keyboard.press('u');
    await expect(page.locator('.toast')).not.toContainText(text);
  };
  const actions = page.locator('.actions');
  await actions.getByRole('button', { name: 'Invalidate' }).click();
  await page.getByLabel('Why it is no longer relevant').fill('Not wanted');
  await page.locator('dialog').getByRole('button', { name: 'Invalidate' }).click();
  await undone('stack_frame_invalidate done');
  await actions.getByRole('button', { name: 'Push' }).click();
  await page.getByLabel('Title, two to five words').fill('Look closer');
  await page.getByLabel('What “done” means, so that it can be checked').fill('a test');
  await page.locator('dialog').getByRole('button', { name: 'Push' }).click();
  await undone('stack_frame_push done');
  await row(page, 'f3').click();
  await actions.getByRole('button', { name: 'Reopen' }).click();
  await undone('stack_frame_reopen done');
  await row(page, 'f8').click();
  await actions.getByRole('button', { name: 'Take up' }).click();
  await undone('stack_frame_activate done');
  await expect.poll(() => project.changes.map(({ operation, args }) => [operation, args])).toEqual([
    ['stack_frame_invalidate', { frame: OPEN, reason: 'Not wanted' }],
    ['stack_frame_reopen', { frame: OPEN }],
    ['stack_frame_reopen', { frame: 'f10' }],
    ['stack_frame_push', { title: 'Look closer', successCriteria: 'a test' }],
    ['stack_frame_invalidate', { frame: 'f13', reason: 'opened by mistake' }],
    ['stack_frame_reopen', { frame: 'f3' }],
    ['stack_frame_pop', { frame: 'f3', status: 'completed', results }],
    ['stack_frame_activate', { frame: 'f8' }],
    ['stack_frame_pop', { frame: 'f8', status: 'blocked', results: 'Waits for an answer' }],
  ]);
});

test('messages are searched once the reader pauses', async ({ page, served }) => {
  await served(12);
  await page.locator('#filter').fill('zebra');
  await expect(page.locator('.count')).toHaveText('1 of 12');
  await expect(row(page, 'f9')).toBeVisible();
});
