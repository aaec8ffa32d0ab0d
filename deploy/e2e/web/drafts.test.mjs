// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDrafts
// Nothing that a member types is lost: reloads, expired sessions, changes by others.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn, signOut } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';

let browser;
let maria;

before(async () => {
  browser = await openBrowser();
  maria = await newPerson(browser);
  await enter();
});

after(async () => {
  try {
    await maria?.leave();
  } finally {
    await browser?.close();
  }
});

async function enter() {
  await maria.page.goto(setting('PERSON'));
  await signIn(maria.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(maria.page, 'Ada Stone');
}

const note = () => maria.page.locator('#bar-note textarea');
const typeNote = async (text) => {
  await maria.page.locator('#bar-note summary').click();
  await note().fill(text);
};
const about = () => maria.page.getByRole('textbox', { name: /^About/ });
const kept = () => maria.page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('kith-draft')));

test('a note is back after a reload, and gone once it is saved', async () => {
  const { page } = maria;
  await typeNote('Rows on Tuesdays.');
  const asked = page.waitForEvent('dialog');
  const loaded = page.reload();
  const dialog = await asked;
  assert.equal(dialog.type(), 'beforeunload', 'the page is left without a warning');
  await dialog.accept();
  await loaded;
  await page.getByText('What you typed earlier is back.').waitFor();
  assert.equal(await note().inputValue(), 'Rows on Tuesdays.');
  assert.ok(await note().isVisible(), 'the form is folded');
  await portray(page, 'draft-restored', { everyView: true });
  await press(page, 'Add the note');
  await expectNotice(page, 'The note is added.');
  assert.deepEqual(await kept(), []);
  await page.reload();
  assert.equal(await note().inputValue(), '');
});

test('a draft that is discarded or cancelled is gone', async () => {
  const { page } = maria;
  await typeNote('Never mind.');
  page.once('dialog', (dialog) => dialog.accept());
  await page.reload();
  await press(page, 'Discard it');
  assert.equal(await note().inputValue(), '');
  await page.reload();
  assert.equal(await note().inputValue(), '');
  await page.getByRole('link', { name: 'Edit About', exact: true }).click();
  await about().fill('Never mind.');
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'Edit About', exact: true }).click();
  assert.equal(await about().inputValue(), 'Likes rowing.');
  assert.deepEqual(await kept(), []);
});

test('an expired session leads back to the note', async () => {
  const { page, context } = maria;
  await page.goto(setting('PERSON'));
  await typeNote('Ask about the boat.');
  await context.clearCookies();
  await press(page, 'Add the note');
  await expectHeading(page, 'You are signed out');
  await page.getByText('Ask about the boat.').waitFor();
  await enter();
  assert.equal(await note().inputValue(), 'Ask about the boat.');
  await press(page, 'Add the note');
  await expectNotice(page, 'The note is added.');
  assert.deepEqual(await kept(), []);

  // Signing in in another tab, and sending the page that kept the text, leaves no draft behind.
  await typeNote('Ask about the oars.');
  await context.clearCookies();
  await press(page, 'Add the note');
  const [tab] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'Sign in in a new tab' }).click()]);
  await signIn(tab, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await tab.close();
  await press(page, 'I have signed in: send it');
  await press(page, 'Send it');
  await expectNotice(page, 'The note is added.');
  assert.deepEqual(await kept(), []);
});

test('a text that somebody else changed is shown beside what was typed', async () => {
  const { page } = maria;
  await page.goto(setting('PERSON'));
  await page.getByRole('link', { name: 'Edit About', exact: true }).click();
  await about().fill('Likes rowing and tea.');
  const id = setting('PERSON').split('/').at(-1);
  const { message } = await callWith(setting('ACCESS_TOKEN'), 'update_connection', { id, bio: 'Likes sailing.' });
  assert.ok(!message.result.isError, JSON.stringify(message));
  page.once('dialog', (dialog) => dialog.accept());
  await page.goto(`${setting('PERSON')}?edit=about`);
  await page.getByText('This was changed after you typed').waitFor();
  assert.equal(await about().inputValue(), 'Likes sailing.');
  await page.locator('q').getByText('Likes rowing and tea.').waitFor();
  await portray(page, 'draft-conflict');
  await press(page, 'Use what I typed');
  await page.locator('#edit-about').getByRole('button', { name: 'Save' }).click();
  await expectNotice(page, 'Your changes are saved.');
  await page.getByText('Likes rowing and tea.').first().waitFor();
});

test('signing out forgets all drafts', async () => {
  const { page } = maria;
  await typeNote('A secret.');
  assert.equal((await kept()).length, 1);
  await signOut(page);
  await expectHeading(page, 'Sign in');
  assert.deepEqual(await kept(), []);
});
