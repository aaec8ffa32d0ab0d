// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestFirstRun
// A newcomer opens the printed link, imports a file, connects an agent and sees its first call.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press } from '../harness/browser.mjs';
import { call, connect, setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const password = keep('password', `first ${crypto.randomUUID()}`);

let browser;
let owner;

before(async () => {
  browser = await openBrowser();
  owner = await newPerson(browser);
});

after(async () => {
  try {
    await owner?.leave();
  } finally {
    await browser?.close();
  }
});

const step = (page, title) => page.getByRole('region', { name: 'First steps' }).getByRole('listitem').filter({ hasText: title });
const isDone = async (page, title) => (await step(page, title).getAttribute('class')) === 'done';

test('the link creates the owner', async () => {
  const { page } = owner;
  await page.goto(setting('OWNER_LINK'));
  await expectHeading(page, 'Create your account');
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  assert.equal(await page.getByLabel('Time zone').inputValue(), zone);
  await page.getByLabel('Username').fill('Ada!');
  await page.getByLabel('Your name').fill('Ada Stone');
  await page.getByLabel('E-mail address').fill('ada.stone@people.example');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByLabel('The same password again').fill(password);
  await press(page, 'Create account');
  await page.getByRole('alert').waitFor();
  await portray(page, 'owner-wrong');
  await page.getByLabel('Username').fill('ada-stone'); // the page keeps the password
  await portray(page, 'owner', { everyView: true });
  await press(page, 'Create account');
  await expectNotice(page, 'Welcome to Kith.');
  await expectHeading(page, 'Today');
  await portray(page, 'first-steps', { everyView: true });
});

test('the link works once', async () => {
  const other = await newPerson(browser);
  try {
    await other.page.goto(setting('OWNER_LINK'));
    await expectHeading(other.page, 'This link does not work any more');
    await portray(other.page, 'owner-over');
  } finally {
    await other.leave();
  }
});

test('an import ticks the first step', async () => {
  const { page } = owner;
  await step(page, 'Import your contacts').getByRole('link').click();
  await expectHeading(page, 'Import contacts');
  await page.locator('#file').setInputFiles(setting('SAMPLE'));
  await press(page, 'Continue');
  await expectHeading(page, 'Preview of the import');
  await press(page, 'Import 16 people');
  await page.getByText('16 people added').waitFor();
  await page.getByRole('link', { name: 'See your 16 people' }).click();
  await expectHeading(page, 'People of the import');
  await page.goto('/');
  assert.ok(await isDone(page, 'Import your contacts'));
  assert.ok(!(await isDone(page, 'Connect an agent')));
});

test('the page shows when an agent is connected and makes its first call', async () => {
  const { page, context } = owner;
  await step(page, 'Connect an agent').getByRole('link').click();
  await expectHeading(page, 'Connect an agent');
  await page.getByText('Waiting for an agent to connect.').waitFor();
  await portray(page, 'connect-waiting', { everyView: true });
  await page.getByRole('link', { name: 'Cursor', exact: true }).click();
  await page.getByRole('link', { name: 'Add to Cursor' }).waitFor();
  await portray(page, 'connect-cursor');
  await page.getByRole('link', { name: 'Command line' }).click();
  await page.getByRole('heading', { name: 'Command line' }).waitFor();
  await portray(page, 'connect-command-line');

  const settings = await context.newPage();
  await settings.goto('/settings/mcp/tokens');
  await settings.getByLabel('Name', { exact: true }).fill('laptop');
  await press(settings, 'Make the token');
  const token = keep('personal token', await settings.locator('#made-token').textContent());
  await settings.close();
  await page.getByText('Waiting for its first call.').waitFor();

  const { client } = await connect('/mcp/v1', { token });
  try {
    const { hits } = await call(client, 'search_connections', { limit: 3 });
    assert.equal(hits.length, 3);
  } finally {
    await client.close();
  }
  await page.getByText('First call made').waitFor();
  await portray(page, 'connect-called', { everyView: true });
  await page.goto('/');
  await expectHeading(page, 'Today');
  assert.equal(await page.getByRole('region', { name: 'First steps' }).count(), 0);
});

test('it works without a script', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false, storageState: await owner.context.storageState() });
  try {
    const page = await context.newPage();
    await page.goto('/connect');
    await page.getByRole('link', { name: 'Goose', exact: true }).click();
    await page.getByRole('link', { name: 'Add to Goose' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0);
    await page.getByRole('link', { name: 'Check again' }).click();
    await page.getByText('First call made').waitFor();
  } finally {
    await context.close();
  }
});
