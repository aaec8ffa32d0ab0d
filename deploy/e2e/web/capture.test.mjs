// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestCapture
// A member adds people from one line: with the script and without it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';

const LINE = 'Ada Stone, CTO at Helios, met at Tideline Days, ada@helios.example, #investor';

let browser;
let maria;

before(async () => {
  browser = await openBrowser();
  maria = await newPerson(browser);
  await maria.page.goto('/people');
  await signIn(maria.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(maria.page, 'People');
});

after(async () => {
  try {
    await maria?.leave();
  } finally {
    await browser?.close();
  }
});

const field = (page, name) => page.locator(`#capture [name=${name}]`);

test('the fields follow the line, and keep what was changed', async () => {
  const { page } = maria;
  await page.keyboard.press('c');
  await expectHeading(page, 'Add a person');
  await portray(page, 'capture-empty', { everyView: true });
  await page.getByLabel('One line').fill(LINE);
  await page.waitForFunction(() => document.querySelector('#capture [name=emails]').value === 'ada@helios.example');
  await field(page, 'title').fill('CEO');
  await page.getByLabel('One line').fill(`${LINE}, in Lisbon`);
  await page.waitForFunction(() => document.querySelector('#capture [name=location]').value === 'Lisbon');
  assert.equal(await field(page, 'title').inputValue(), 'CEO');
  await portray(page, 'capture', { everyView: true });
  await press(page, 'Save');
  await expectNotice(page, 'The person is added.');
  await portray(page, 'capture-added');
});

test('a mistake is shown at its field', async () => {
  const { page } = maria;
  await page.goto('/people/new');
  await field(page, 'phones').fill('call her');
  await press(page, 'Save');
  await page.getByRole('alert').waitFor();
  assert.equal(await field(page, 'phones').inputValue(), 'call her');
  await portray(page, 'capture-wrong', { everyView: true });
});

test('a person who may be known is offered while typing', async () => {
  const { page } = maria;
  await page.goto('/people/new');
  await page.getByLabel('One line').fill('Ada Stone, likes rowing');
  await page.getByText('You may know this person already').waitFor();
  await portray(page, 'capture-known', { everyView: true });
  await page.getByLabel(/^Add to Ada Stone/).check();
  await press(page, 'Save');
  await expectNotice(page, 'What was new is added');
  await page.getByText('likes rowing').first().waitFor();
});

test('one line logs a contact with two people, and three clicks do it all', async () => {
  const { page } = maria;
  for (const name of ['Heike Brandt', 'Kofi Mensah']) {
    await page.goto(`/people/new?line=${encodeURIComponent(name)}`);
    await press(page, 'Save');
    await expectNotice(page, 'The person is added.');
  }
  await page.goto('/');
  await page.locator('.menu.add > summary').click(); // 1
  await page.getByRole('link', { name: 'Log, note or remind' }).click(); // 2
  await page.getByLabel('One line').fill('coffee with Heike and Kofi yesterday');
  await expectHeading(page, 'Log a contact');
  assert.equal(await page.locator('#act [name=with]').inputValue(), 'Heike, Kofi');
  assert.equal(await page.locator('#capture').isVisible(), false);
  await portray(page, 'capture-log', { everyView: true });
  await press(page, 'Log it'); // 3
  await expectNotice(page, 'Logged: meeting with Heike Brandt and Kofi Mensah, ');
  await page.getByRole('button', { name: /^Undo/ }).click();
  await expectNotice(page, 'The change is undone.');

  await page.goto('/people/new?line=remind+me+to+call+Heike+in+3+weeks');
  await page.getByLabel('What to do').waitFor();
  await portray(page, 'capture-remind');
  await press(page, 'Set the reminder');
  await expectNotice(page, 'The reminder is set.');
});

test('it works without a script', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false, storageState: await maria.context.storageState() });
  try {
    const page = await context.newPage();
    await page.goto('/people/new');
    await page.getByLabel('One line').fill(LINE);
    await press(page, 'Fill in');
    assert.equal(await field(page, 'organization').inputValue(), 'Helios');
    await page.getByText('You may know this person already').waitFor();
    await press(page, 'Save');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Somebody else: add a new person').check();
    await press(page, 'Save');
    await expectNotice(page, 'The person is added.');
    await page.getByRole('button', { name: /^Undo/ }).click();
    await expectNotice(page, 'The change is undone.');
  } finally {
    await context.close();
  }
});
