// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestPeople
// A member filters their people, does things with several at once, and saves views: with the
// script and without it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chooseIn, expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';

const LONG = 'Hubert Blaine Wolfeschlegelsteinhausenbergerdorff the Very Elder of Somewhere Quite Far Away Indeed';

let browser;
let ada;
let plain; // a page of the same browser profile without scripts

before(async () => {
  browser = await openBrowser();
  ada = await newPerson(browser);
  await ada.page.goto('/people');
  await signIn(ada.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(ada.page, 'People');
  plain = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false, storageState: await ada.context.storageState() });
});

after(async () => {
  try {
    await plain?.close();
    await ada?.leave();
  } finally {
    await browser?.close();
  }
});

const rows = (page) => page.locator('.people > li');
const choose = (page, name) => page.getByRole('checkbox', { name: `Choose ${name}`, exact: true }).check();

test('the empty list has a text of its own', async () => {
  await ada.page.getByText('You have nobody here yet.').waitFor();
  await portray(ada.page, 'people-empty', { everyView: true });
});

test('filters narrow the list and are shown as chips', async () => {
  for (let i = 0; i < 55; i++) {
    const { status } = await callWith(setting('BEARER'), 'create_connection', { name: i ? `Person ${String(i).padStart(2, '0')}` : LONG, tags: [i < 5 ? 'few' : 'many'] });
    assert.equal(status, 200);
  }
  const { page } = ada;
  await page.goto('/people');
  assert.equal(await rows(page).count(), 50);
  await portray(page, 'people', { everyView: true });
  await page.locator('.filters > summary').click();
  await portray(page, 'people-filters', { everyView: true });
  const address = page.waitForURL(/tag=few/);
  await page.getByRole('textbox', { name: 'Tag, first one' }).fill('few');
  await page.getByRole('textbox', { name: 'Tag, first one' }).press('Tab');
  await address;
  await page.locator('.chips').getByText('Tag: few').waitFor();
  assert.equal(await rows(page).count(), 5);
  await page.locator('#found').getByText('5 people').waitFor();
  assert.ok(await page.locator('#found').evaluate((found) => found.getBoundingClientRect().bottom <= innerHeight), 'the number of people is out of sight');
  await page.getByRole('textbox', { name: 'Tag, first one' }).press('Enter');
  await page.locator('details.filters:not([open])').waitFor({ state: 'attached' });
  assert.ok(await rows(page).first().evaluate((row) => row.getBoundingClientRect().bottom <= innerHeight), 'the results are out of sight');
});

test('a mistake is shown at its filter', async () => {
  const { page } = ada;
  await page.goto('/people?tag=feew&has=email&missing=email');
  await page.getByRole('alert').waitFor();
  await portray(page, 'people-wrong');
});

test('a view is saved, named and shown', async () => {
  const { page } = ada;
  await page.goto('/people?tag=few');
  await page.getByText('Save this view', { exact: true }).click();
  await page.getByLabel('Name of the view').fill('The few');
  await press(page, 'Save view');
  await expectNotice(page, 'The view is saved.');
  await page.goto('/people');
  await page.getByRole('link', { name: 'The few', exact: true }).click();
  await page.locator('.chips').getByText('Tag: few').waitFor();
  assert.equal(await page.getByRole('link', { name: 'The few', exact: true }).getAttribute('aria-current'), 'page');
  await portray(page, 'people-view');
  await chooseIn(page, 'More about people', 'Saved views');
  await expectHeading(page, 'Saved views');
  await portray(page, 'people-views', { everyView: true });
});

test('several people are tagged at once, and that is undone', async () => {
  const { page } = ada;
  await page.goto('/people?tag=few');
  const first = page.locator('[data-choose]').first();
  await first.check();
  await page.locator('[data-choose]').nth(2).click({ modifiers: ['Shift'] });
  assert.equal(await page.locator('[data-choose]:checked').count(), 3);
  await press(page, 'Tag');
  await expectHeading(page, 'Tag 3 people');
  await portray(page, 'people-tag', { everyView: true });
  await page.getByRole('combobox', { name: 'Tag', exact: true }).fill('chosen');
  await press(page, 'Tag');
  await expectNotice(page, 'The tags are changed.');
  await page.goto('/people?tag=chosen');
  assert.equal(await rows(page).count(), 3);
});

test('people are merged into the one who stays', async () => {
  const { page } = ada;
  await page.goto('/people?q=person+1');
  await page.goto('/people?tag=many');
  await choose(page, 'Person 05');
  await choose(page, 'Person 06');
  await press(page, 'Merge');
  await expectHeading(page, 'Merge 2 people');
  await portray(page, 'people-merge', { everyView: true });
  await page.getByRole('radio', { name: 'Person 06' }).check();
  await press(page, 'Merge');
  await expectNotice(page, 'Merged into one person.');
  assert.equal(await page.getByRole('link', { name: 'Person 05', exact: true }).count(), 0);
});

test('everything works without the script', async () => {
  const page = await plain.newPage();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/people');
  await page.locator('.filters > summary').click();
  await page.getByRole('textbox', { name: 'Tag, first one' }).fill('many');
  await press(page, 'Show');
  await page.locator('.chips').getByText('Tag: many').waitFor();
  await page.getByRole('checkbox', { name: /^Choose all \d+$/ }).check();
  await press(page, 'Delete');
  await page.getByRole('heading', { level: 1, name: /^Delete \d+ people$/ }).waitFor();
  await press(page, 'Delete');
  await expectNotice(page, 'Moved to the bin.');
  await page.goto('/people');
  assert.equal(await page.locator('.people > li').count(), 5);
});
