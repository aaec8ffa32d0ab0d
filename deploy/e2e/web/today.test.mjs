// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestToday
// The page that a member opens first: by mouse, by keyboard alone, and without script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';
import { keep } from '../harness/secrets.mjs';

let browser;
let ada;
let bearer;

const day = (offset) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
const tool = async (name, args) => {
  const { result } = (await callWith(bearer, name, args)).message;
  assert.equal(result.isError ?? false, false, JSON.stringify(result));
  return result.structuredContent;
};
const entry = (page, text) => page.getByRole('main').getByRole('listitem').filter({ hasText: text });
const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim());

before(async () => {
  browser = await openBrowser();
  ada = await newPerson(browser);
});
after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
  }
});

test('a visitor gets the landing page, a member their own', async () => {
  const { page } = ada;
  await page.goto('/');
  await page.getByRole('link', { name: /sign in/i }).first().waitFor();
  assert.equal(await page.getByRole('heading', { level: 1, name: 'Today', exact: true }).count(), 0);
  await page.goto('/sign-in');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'Today');
  assert.equal(new URL(page.url()).pathname, '/');
  await page.getByRole('main').getByRole('link', { name: 'Import your contacts' }).waitFor();
  await portray(page, 'today-empty', { everyView: true });
});

test('what is due is done, snoozed and logged with one click each, and undone', async () => {
  const { page } = ada;
  await page.goto('/settings/mcp/tokens');
  const form = page.getByRole('region', { name: 'Make a token', exact: true });
  await form.getByLabel('Name', { exact: true }).fill('assistant');
  await form.getByLabel('Add, change and delete things').check();
  await press(form, 'Make the token');
  bearer = keep('personal token', (await page.locator('#made-token').innerText()).trim());

  const people = [];
  for (const name of ['Grace Hopper', 'Mary <b>Somerville</b>', 'Annie Easley']) people.push((await tool('create_connection', { name })).connection.id);
  await tool('create_reminder', { text: 'Send Grace the paper', due_on: day(0), connection_id: people[0] });
  await tool('create_reminder', { text: 'Book a table', due_on: day(3) });
  await tool('create_reminder', { text: 'Water the plants', due_on: day(2) });
  await tool('log_interaction', { connection_ids: [people[1]], kind: 'meeting', occurred_at: day(-40) });
  await tool('set_cadence', { connection_ids: [people[1]], days: 14 });

  await page.goto('/');
  assert.match(await entry(page, 'Mary <b>Somerville</b>').first().innerText(), /Every 14 days, last contact 4[01] days ago/);
  assert.match(await page.getByRole('region', { name: 'What agents did this week' }).innerText(), /assistant · /);
  await portray(page, 'today', { everyView: true });

  await page.getByRole('button', { name: 'Done with Send Grace the paper', exact: true }).click();
  await expectNotice(page, 'Done.');
  await portray(page, 'today-done');
  assert.equal(await page.getByRole('button', { name: 'Done with Send Grace the paper', exact: true }).count(), 0);
  await press(page, 'Undo what was just done');
  await expectNotice(page, 'The change is undone.');
  await page.getByRole('button', { name: 'Done with Send Grace the paper', exact: true }).waitFor();

  await page.locator('summary').filter({ hasText: 'Snooze Book a table' }).click();
  await page.getByRole('button', { name: 'In 3 weeks for Book a table', exact: true }).click();
  await expectNotice(page, 'Snoozed.');
  assert.equal(await page.getByRole('button', { name: /Book a table/ }).count(), 0);

  const mary = page.getByRole('region', { name: 'Overdue' });
  await mary.locator('summary').filter({ hasText: /^Log/ }).click();
  await mary.getByRole('combobox', { name: 'What it was', exact: true }).selectOption('Call');
  await mary.getByRole('textbox', { name: 'What it was about' }).fill('The solar eclipse');
  await portray(page, 'today-log');
  await mary.getByRole('button', { name: 'Log it with Mary <b>Somerville</b>' }).click();
  await expectNotice(page, 'Logged: call with Mary <b>Somerville</b>, ');
  assert.equal(await page.getByRole('region', { name: 'Overdue' }).count(), 0);
  const { entries } = await tool('list_timeline', { connection_id: people[1] });
  assert.equal(entries[0].text, 'The solar eclipse');
});

test('the palette and the keys lead everywhere', async () => {
  const { page } = ada;
  await page.goto('/');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  await palette.waitFor();
  await portray(page, 'palette', { everyView: true });
  await page.keyboard.type('annie');
  await palette.getByRole('option', { name: /Annie Easley/ }).waitFor();
  await page.keyboard.press('Enter');
  await expectHeading(page, 'Annie Easley');

  await page.keyboard.press('Control+k');
  await page.keyboard.type('activ');
  assert.match(await palette.getByRole('option', { selected: true }).innerText(), /Activity/);
  await page.keyboard.press('Escape');
  assert.equal(await palette.isVisible(), false);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('imports');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/settings\/imports/);

  await page.goto('/');
  await page.keyboard.press('j');
  const first = await focused(page);
  await page.keyboard.press('j');
  assert.notEqual(await focused(page), first);
  await page.keyboard.press('k');
  assert.equal(await focused(page), first);
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'q');
  await page.keyboard.type('c?jgrace');
  assert.equal(await page.evaluate(() => document.activeElement.value), 'c?jgrace', 'a key acts while typing');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.waitFor();
  await portray(page, 'shortcuts', { everyView: true });
  await help.getByLabel('Use the keys of one letter').uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  assert.notEqual(await page.evaluate(() => document.activeElement.name), 'q', 'the keys are still on');
  await page.reload();
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await help.getByLabel('Use the keys of one letter').check();
  await press(help, 'Close');
  await page.keyboard.press('c');
  await page.waitForURL(/\/people\/new/);
});

test('it works without script, and a stale session leads to sign-in', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await page.getByRole('button', { name: 'Done with Send Grace the paper', exact: true }).click();
  await expectNotice(page, 'Done.');
  await press(page, 'Undo what was just done');
  await expectNotice(page, 'The change is undone.');
  await page.getByRole('searchbox', { name: 'Search people' }).first().fill('grace');
  await page.keyboard.press('Enter');
  await expectHeading(page, 'People');
  await page.getByRole('main').getByRole('link', { name: 'Grace Hopper' }).waitFor();

  await context.clearCookies();
  const name = setting('BASE_URL').startsWith('https:') ? '__Host-kith_session' : 'kith_session';
  await context.addCookies([{ name, value: 'A'.repeat(43), url: setting('BASE_URL') }]);
  await page.goto('/');
  await expectHeading(page, 'Sign in');
  await page.goto('/');
  assert.equal(await page.getByRole('heading', { level: 1, name: 'Sign in' }).count(), 0, 'the landing page cannot be reached');
  await context.close();
});
