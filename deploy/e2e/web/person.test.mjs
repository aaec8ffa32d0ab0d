// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestPersonPage
// A member keeps one person up to date in a browser: with the script, at the keyboard, and without a script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chooseIn, expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';

let browser;
let maria;

before(async () => {
  browser = await openBrowser();
  maria = await newPerson(browser);
  await enter(maria.page);
});

after(async () => {
  try {
    await maria?.leave();
  } finally {
    await browser?.close();
  }
});

async function enter(page) {
  await page.goto(`/sign-in?return_to=${encodeURIComponent(setting('PERSON'))}`);
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'Ada Stone');
}

const part = (page, title) => page.getByRole('region', { name: title, exact: true });
const open = (page, title) => part(page, title).getByRole('link', { name: `Edit ${title}` }).click();

test('facts are edited in place', async () => {
  const { page } = maria;
  await page.goto(setting('PERSON'));
  await portray(page, 'person', { everyView: true });
  await open(page, 'Name and how you met');
  await page.getByLabel('Place').fill('Porto');
  assert.ok(await page.evaluate(() => document.activeElement.closest('.part')), 'the form has no focus');
  await portray(page, 'person-edit', { everyView: true });
  await page.getByLabel('When you met').fill('in spring');
  await part(page, 'Name and how you met').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByLabel('Place').inputValue(), 'Porto');
  await portray(page, 'person-wrong');
  await page.getByLabel('When you met').fill('2025-05');
  await part(page, 'Name and how you met').getByRole('button', { name: 'Save' }).click();
  await expectNotice(page, 'Your changes are saved.');
  await chooseIn(page, 'More about', 'History');
  await page.getByText('About Ada Stone').waitFor();
  await portray(page, 'person-history');
  await page.goto(setting('PERSON'));
  for (const title of ['Parts of the name', 'Phone and e-mail', 'Messengers and networks', 'Addresses', 'Positions', 'Dates', 'Relations', 'Groups and tags', 'Keeping in touch', 'About']) {
    const open = page.getByRole('link', { name: `Edit ${title}`, exact: true }).or(page.getByRole('link', { name: `+ ${title}`, exact: true }));
    await open.click();
    await part(page, title).getByRole('link', { name: 'Cancel' }).waitFor();
    await portray(page, `person-edit-${title.split(' ')[0].toLowerCase()}`);
    await part(page, title).getByRole('link', { name: 'Cancel' }).press('Enter');
    await open.waitFor();
  }
});

test('two tabs lose nothing', async () => {
  const { page, context } = maria;
  await page.goto(`${setting('PERSON')}?edit=about`);
  const other = await context.newPage();
  await other.goto(`${setting('PERSON')}?edit=about`);
  await other.getByRole('textbox', { name: /^About/ }).fill('From the other tab');
  await press(other, 'Save');
  await expectNotice(other, 'Your changes are saved.');
  await page.getByRole('textbox', { name: /^About/ }).fill('From this tab');
  await press(page, 'Save');
  await page.getByText('Stored now: From the other tab').waitFor();
  assert.equal(await page.getByRole('textbox', { name: /^About/ }).inputValue(), 'From this tab');
  await portray(page, 'person-conflict');
  await page.getByRole('link', { name: 'Keep what is stored' }).click();
  await part(page, 'About').getByText('From the other tab').waitFor();
});

/** Adds a note, a contact and a reminder, and undoes; the same with and without the script. */
async function keep(page, words) {
  await page.goto(setting('PERSON'));
  await page.locator('#bar-note summary').click();
  await page.getByRole('textbox', { name: 'Note', exact: true }).fill(`Note ${words}`);
  await press(page, 'Add the note');
  await expectNotice(page, 'The note is added.');
  await page.getByText(`Note ${words}`).waitFor();
  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.getByText(`Note ${words}`).waitFor({ state: 'detached' });
  await page.locator('#bar-log summary').click();
  await page.getByLabel('What it was about').fill(`Contact ${words}`);
  await press(page, 'Log it');
  await page.getByText(`Contact ${words}`).waitFor();
  await page.locator('#bar-remind summary').click();
  await page.getByLabel('What to do').fill(`Remind ${words}`);
  await press(page, 'Set the reminder');
  await expectNotice(page, 'The reminder is set.');
  await page.getByRole('button', { name: /^Done/ }).first().click();
  await expectNotice(page, 'Done. A repeating reminder moved to its next day.');
}

test('people are suggested while one types their names', async () => {
  const { page } = maria;
  await page.goto(setting('PERSON'));
  await page.locator('#bar-log summary').click();
  await page.getByLabel('Other people').pressSequentially('Grace, Ada St');
  const suggested = page.locator('#with-people option');
  await suggested.first().waitFor({ state: 'attached' });
  assert.match(await suggested.first().getAttribute('value'), /^Grace, (Ada Stone|http.*\/people\/con_)/);
});

test('note, log, remind, undo', async () => {
  await keep(maria.page, 'with a script');
  await portray(maria.page, 'person-kept', { everyView: true });
});

test('merge asks first, and a person is restored from the bin', async () => {
  const { page } = maria;
  await page.goto(setting('PERSON'));
  await chooseIn(page, 'More about', 'Merge with …');
  await page.getByRole('link', { name: 'Choose somebody else' }).click();
  await page.getByRole('search').last().getByRole('searchbox').fill('Okafor');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await portray(page, 'person-merge');
  await page.getByRole('link', { name: 'Ben Okafor' }).click();
  await portray(page, 'person-merge-preview');
  await press(page, 'Merge');
  await expectNotice(page, 'The two are merged.');
  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.goto(setting('PERSON'));
  await chooseIn(page, 'More about', 'Move to the bin');
  await expectNotice(page, 'The person is in the bin');
  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.goto(setting('PERSON'));
  await expectHeading(page, 'Ada Stone');
});

test('a suggested duplicate is merged with three clicks, side by side', async () => {
  const { page } = maria;
  await page.goto(setting('PERSON'));
  await page.locator('details.menu > summary[aria-label^="More about"]').click();
  await page.getByRole('link', { name: 'Merge with …', exact: true }).click();
  await expectHeading(page, 'Merge Ada Stone and Adah Stone');
  const left = (locator) => locator.evaluate((e) => e.getBoundingClientRect().left);
  const [first, second] = ['first', 'second'].map((value) => page.locator(`.pair input[name=name][value=${value}]`));
  assert.ok(await left(first) < await left(second), 'the two stand side by side');
  await portray(page, 'person-merge-suggested', { everyView: true });
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await left(first), await left(second), 'on a phone they stand below each other');
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'Merge', exact: true }).click();
  await expectNotice(page, 'The two are merged.');
  await page.getByText('Name: Adah Stone').first().waitFor();
});

test('it works without a script', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await enter(page);
    await open(page, 'Name and how you met');
    await page.getByLabel('Nickname').fill('Addie');
    await press(page, 'Save');
    await expectNotice(page, 'Your changes are saved.');
    await page.getByText('Addie').first().waitFor();
    await keep(page, 'without one');
  } finally {
    await context.close();
  }
});
