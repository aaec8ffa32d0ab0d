// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestConsent
// A member decides what an agent may do, and changes their mind.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answerConsent, expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { setting } from '../harness/client.mjs';
import { register } from '../harness/openid.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';

const NAME = 'Claude, the assistant of a desktop application';
const EVERYTHING = 'connections timeline organize reminders insights imports directory account write';

let browser;
let callback;
let ada;
let client;
let tokens;

before(async () => {
  [browser, callback] = await Promise.all([openBrowser(), listenForCallback()]);
  ada = await newPerson(browser);
  client = await register(NAME, callback);
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
    callback?.close();
  }
});

const allow = (page) => page.getByRole('button', { name: 'Allow', exact: true });
const agent = (page) => page.getByRole('region', { name: 'Connected agents' }).getByRole('listitem').filter({ has: page.getByRole('heading', { name: NAME, exact: true }) });

test('sign-in names the application', async () => {
  const { page } = ada;
  const { url } = await client.ask({ scope: EVERYTHING });
  await page.goto(url.href);
  await page.getByText(`An application that calls itself ${NAME} waits for you to sign in.`).waitFor();
  await portray(page, 'sign-in-waiting', { everyView: true });
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'Allow access to your account?');
});

test('consent fits the window, and two of a phone', async () => {
  const { page } = ada;
  await page.setViewportSize({ width: 1280, height: 800 });
  const tall = () => page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(await tall() <= 800, `the page takes ${await tall()} pixels`);
  const box = await allow(page).boundingBox();
  assert.ok(box.y >= 0 && box.y + box.height <= 800, `Allow is at ${JSON.stringify(box)}`);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await tall() <= 2 * 844, `the page takes ${await tall()} pixels`);
  await page.setViewportSize({ width: 1280, height: 800 });
  const shown = await page.getByRole('main').innerText();
  for (const words of ['merge, archive and delete people', 'import people from files', 'export them all', '127.0.0.1', 'New to this server today']) {
    assert.ok(shown.includes(words), `${words} is missing in ${shown}`);
  }
  await portray(page, 'consent-presets', { everyView: true });
});

test('Allow works after half a second in view, and at once without a script', async () => {
  const { page } = ada;
  const { url } = await client.ask({ scope: EVERYTHING });
  await page.clock.install();
  await page.goto(url.href);
  await page.clock.pauseAt(Date.now() + 3_600_000);
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  assert.equal(await allow(page).getAttribute('aria-disabled'), 'true');
  await allow(page).click({ force: true });
  const answer = page.locator('#early');
  assert.match(await answer.textContent(), /One moment/, 'an early click is swallowed');
  await page.clock.runFor(499);
  assert.equal(await allow(page).getAttribute('aria-disabled'), 'true');
  await page.clock.runFor(1);
  assert.equal(await allow(page).getAttribute('aria-disabled'), null);
  assert.equal(page.url(), url.href, 'a click before that was taken');
  assert.match(await answer.textContent(), /You can press Allow now/);

  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false });
  try {
    const plain = await context.newPage();
    const { url: asked, checks } = await client.ask({ scope: EVERYTHING });
    await plain.goto(asked.href);
    await signIn(plain, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
    await answerConsent(plain, 'Allow', { preset: 'Read and add', duration: '30 days' });
    tokens = await client.redeem((await callback.next()).url, checks);
  } finally {
    await context.close();
  }
});

test('read and add', async () => {
  const { message: { result: made } } = await callWith(tokens.access_token, 'create_connection', { name: 'Grace Hopper' });
  assert.equal(made.isError ?? false, false);
  const { message: refused } = await callWith(tokens.access_token, 'delete_connection', { id: made.structuredContent.connection.id });
  assert.deepEqual([refused.error.code, refused.error.data.reason], [-32001, 'limited_to_tools']);
  const { message: { result: { structuredContent: { credential } } } } = await callWith(tokens.access_token);
  const days = (Date.parse(credential.grant_expires_at) - Date.now()) / 86_400_000;
  assert.ok(days > 29 && days <= 30, `it ends in ${days} days`);
});

test('pause, resume, allow less, revoke', async () => {
  const { page } = ada;
  await page.clock.resume();
  await page.goto('/settings/agents');
  const unfold = () => agent(page).locator('summary').first().click();
  assert.match(await agent(page).innerText(), /Can read everything, and add · (not used yet|used)/);
  await unfold();
  const told = await agent(page).innerText();
  for (const words of ['reads and adds', 'Its access ends on', 'Changed something 1 time']) assert.ok(told.includes(words), `${words} is missing in ${told}`);
  await portray(page, 'settings-agents', { everyView: true });

  await press(agent(page), `Pause ${NAME}`);
  await expectNotice(page, 'The agent is paused');
  const { message: paused } = await callWith(tokens.access_token);
  assert.deepEqual([paused.error.code, paused.error.data.reason], [-32001, 'agent_paused']);
  await assert.rejects(client.refresh(tokens), (error) => error.error === 'access_denied');
  await unfold();
  await press(agent(page), `Resume ${NAME}`);
  await expectNotice(page, 'The agent may work again');
  tokens = await client.refresh(tokens);

  // Three clicks allow it less: its row, the choice and the button.
  await unfold();
  await agent(page).locator('[action$=narrow]').getByLabel('Read only', { exact: true }).check();
  await portray(page, 'settings-agents-less', { everyView: true });
  await press(agent(page), `Allow only this to ${NAME}`);
  await expectNotice(page, 'The agent may do less now');
  const { message: narrowed } = await callWith(tokens.access_token, 'create_connection', { name: 'Ada Lovelace' });
  assert.deepEqual(narrowed.error.data.required_scopes, ['connections', 'write']);

  await unfold();
  await agent(page).locator('summary').filter({ hasText: 'Revoke' }).click();
  await press(agent(page), `Revoke the access of ${NAME}`);
  await expectNotice(page, 'The agent is disconnected.');
  assert.equal((await callWith(tokens.access_token)).status, 401);
});
