// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestAtTheKeyboard
// Sign-in and consent with the keyboard only: Tab, Enter, the space bar and letters.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AREAS, BOXES, expectHeading, expectNotice, newPerson, openBrowser } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { setting } from '../harness/client.mjs';
import { goTo, skipToContent } from '../harness/keyboard.mjs';
import { register } from '../harness/openid.mjs';
import { callWith } from '../harness/raw.mjs';

let browser;
let callback;
let ada;
let bearer; // of the agent with access

before(async () => {
  [browser, callback] = await Promise.all([openBrowser(), listenForCallback()]);
  ada = await newPerson(browser);
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
    callback?.close();
  }
});

test('from sign-in to the code', async () => {
  const { page } = ada;
  const client = await register('Keyboard client', callback);
  const { url, checks } = await client.ask();
  await page.goto(url.href);

  // First an error: its summary links to the field.
  await expectHeading(page, 'Sign in');
  await goTo(page, page.getByLabel('Username or e-mail address'));
  await page.keyboard.type(setting('MEMBER_USERNAME'));
  await goTo(page, page.getByLabel('Password'));
  await page.keyboard.type('not the password');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  assert.match(await page.title(), /^Error: Sign in/);
  await skipToContent(page);
  await goTo(page, page.getByRole('alert').getByRole('link'));
  await page.keyboard.press('Enter');
  await page.locator('[name=login]:focus').waitFor();
  await goTo(page, page.getByLabel('Password'));
  await page.keyboard.type(setting('MEMBER_PASSWORD'));
  await goTo(page, page.getByRole('button', { name: 'Sign in', exact: true }));
  await page.keyboard.press('Enter');

  await expectHeading(page, 'Allow access to your account?');
  await goTo(page, page.locator('summary').filter({ hasText: AREAS }));
  await page.keyboard.press('Enter');
  await goTo(page, page.getByLabel(BOXES.timeline, { exact: true }));
  await page.keyboard.press('Space');
  await goTo(page, page.getByRole('button', { name: 'Allow', exact: true }));
  await page.locator('button:not([aria-disabled])').getByText('Allow', { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  const tokens = await client.redeem((await callback.next()).url, checks);
  await expectHeading(page, 'Back at the client'); // the browser was redirected too
  assert.deepEqual(tokens.scope.split(' ').sort(), ['account', 'connections', 'write']);
  bearer = tokens.access_token;
});

test('from a change to its undo', async () => {
  const { page } = ada;
  const { message: { result } } = await callWith(bearer, 'create_connection', { name: 'Grace Hopper' });
  await page.goto('/activity');
  await expectHeading(page, 'Activity');
  await goTo(page, page.getByRole('button', { name: /^Undo “Added Grace Hopper” of / }));
  await page.keyboard.press('Enter');
  await expectNotice(page, 'The change is undone.');
  const { message: gone } = await callWith(bearer, 'get_connection', { id: result.structuredContent.connection.id });
  assert.equal(gone.result.isError, true);
});
