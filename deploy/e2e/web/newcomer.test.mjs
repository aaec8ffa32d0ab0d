// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestNewcomer
// From an empty server to a change by an agent that is seen and undone, with few clicks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expectHeading, expectNotice, newPerson, openBrowser } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { call, setting } from '../harness/client.mjs';
import { goTo } from '../harness/keyboard.mjs';
import { Keeper } from '../harness/keeper.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const MOST_CLICKS = 11; // after the password
const width = Number(setting('WIDTH'));
const keysOnly = width > 1000; // with a wide window: Tab and Enter instead of clicks
const MOST_STOPS = 60; // presses of Tab to reach an element

let browser;
let callback;
before(async () => { [browser, callback] = await Promise.all([openBrowser(), listenForCallback()]); });
after(async () => {
  await browser?.close();
  callback?.close();
});

test('from the printed link to an undone change', async () => {
  const owner = await newPerson(browser, { viewport: { width, height: 800 } });
  const { page, context } = owner;
  let clicks = 0;
  const click = async (on, role, name) => {
    clicks++;
    const element = on.getByRole(role, { name, exact: true }).first();
    if (!keysOnly) return element.click();
    const shown = on.keyboard ? on : page;
    await element.waitFor();
    await shown.waitForLoadState();
    await goTo(shown, element, { most: MOST_STOPS });
    return shown.keyboard.press('Enter');
  };
  const keepPicture = (on, name) => portray(on, `newcomer-${width}-${name}`);

  await page.goto(setting('OWNER_LINK'));
  await page.getByLabel('Username').fill('ada-stone');
  await page.getByLabel('Your name').fill('Ada Stone');
  await page.getByLabel('E-mail address').fill('ada.stone@people.example');
  const password = keep('password', `newcomer ${crypto.randomUUID()}`);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByLabel('The same password again').fill(password);
  await keepPicture(page, '1-owner');
  await click(page, 'button', 'Create account');

  await expectHeading(page, 'Today');
  await keepPicture(page, '2-today');
  await click(page, 'link', 'Import your contacts');
  await expectHeading(page, 'Import contacts');
  await keepPicture(page, '3-import');
  clicks++; // in the system's file dialog
  await page.locator('#file').setInputFiles(setting('SAMPLE'));
  await click(page, 'button', 'Continue');
  await expectHeading(page, 'Preview of the import');
  await keepPicture(page, '5-preview');
  await click(page, 'button', 'Import 16 people');
  await page.getByRole('link', { name: 'See your 16 people' }).waitFor();
  await keepPicture(page, '6-imported');

  await click(page.getByRole('navigation', { name: 'Kith' }), 'link', 'Today');
  await expectHeading(page, 'Today');
  await click(page, 'link', 'Connect an agent');
  await expectHeading(page, 'Connect an agent');
  await page.getByText('Waiting for an agent to connect.').waitFor();
  await keepPicture(page, '7-connect');

  // The client opens the browser; the person only allows access.
  const keeper = new Keeper('My agent', callback);
  const connect = () => {
    const transport = new StreamableHTTPClientTransport(new URL(`${setting('BASE_URL')}/mcp/v1`), { authProvider: keeper });
    return { transport, client: new Client({ name: 'newcomer', version: '1.0.0' }) };
  };
  let { client, transport } = connect();
  await client.connect(transport);
  await assert.rejects(client.callTool({ name: 'get_account', arguments: {} }));
  const consent = await context.newPage();
  await consent.goto(keeper.asked[0].href);
  await expectHeading(consent, 'Allow access to your account?');
  await keepPicture(consent, '8-consent');
  await click(consent, 'button', 'Allow');
  await transport.finishAuth(await keeper.code());
  await client.close();
  await consent.close();
  ({ client, transport } = connect());
  await client.connect(transport);
  const { hits } = await call(client, 'search_connections', { limit: 3 });
  assert.equal(hits.length, 3);
  await page.getByText('First call made').waitFor();
  await keepPicture(page, '9-connected');

  const note = 'Met at the harbour.';
  await call(client, 'add_note', { connection_ids: [hits[0].id], body: note });
  await click(page.getByRole('navigation', { name: 'Kith' }), 'link', 'Activity');
  await expectHeading(page, 'Activity');
  await page.getByRole('main').getByRole('button', { name: /^Undo “.*note/i }).waitFor();
  assert.match(await page.getByRole('main').innerText(), /My agent/);
  await keepPicture(page, '10-activity');
  await click(page, 'button', /^Undo “/);
  await expectNotice(page, 'The change is undone.');
  await keepPicture(page, '11-undone');
  const { entries } = await call(client, 'list_timeline', { connection_id: hits[0].id });
  assert.ok(!JSON.stringify(entries).includes(note));
  await client.close();
  assert.ok(clicks <= MOST_CLICKS, `${clicks} clicks`);
  await owner.leave();
});
