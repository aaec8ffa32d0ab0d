// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDecide
// An agent asks first; the member decides, with and without a script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { goTo } from '../harness/keyboard.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';

let browser;
let ada;
let grace;
let asked;

const call = async (tool, args) => (await callWith(setting('ACCESS_TOKEN'), tool, args)).message.result;
const remove = (id, name) => call('delete_connection', { id, confirm_name: name });
const create = async (name) => (await call('create_connection', { name })).structuredContent.connection.id;
const outcome = async (task) => (await call('get_job', { task_id: task, wait_seconds: 20 })).structuredContent.job;

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

test('the member chooses before what the agent asks', async () => {
  const { page } = ada;
  await page.goto('/settings/agents');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await page.locator('.agent > summary').click();
  await page.getByText('Ask me first').click();
  await page.getByLabel('Deleting or archiving people').check();
  await portray(page, 'agents-ask-first', { everyView: true });
  await page.locator('form.ask').getByRole('button', { name: /^Save/ }).click();
  await expectNotice(page, 'Saved. It applies from the next call on.');
  await page.locator('.agent > summary').click();
  await page.getByText('Asks you before deleting.').waitFor();
});

test('the agent is told that it has to wait, and nothing is done', async () => {
  grace = await create('Grace Hopper');
  const answer = await remove(grace, 'Grace Hopper');
  assert.equal(answer.isError, true);
  assert.match(answer.content[0].text, /^approval_needed: .*"delete Grace Hopper"/);
  asked = answer._meta;
  assert.match(asked.decide_url, /^https?:\/\/.*\/decide$/);
  assert.deepEqual((await remove(grace, 'Grace Hopper'))._meta, asked);
  assert.equal((await call('get_job', { task_id: asked.task_id })).structuredContent.job.state, 'queued');
  assert.equal((await call('get_connection', { id: grace })).isError, false);
});

test('Today leads to the question, and approving does it', async () => {
  const { page } = ada;
  await page.goto('/');
  await page.getByRole('link', { name: 'Details of “delete Grace Hopper”' }).click();
  await expectHeading(page, 'Decide');
  await page.getByText('would be removed').first().waitFor();
  await portray(page, 'decide', { everyView: true });
  await goTo(page, page.getByRole('button', { name: 'Approve “delete Grace Hopper”', exact: true }));
  await page.keyboard.press('Enter');
  await expectNotice(page, 'Approved. The result is below.');
  const done = await outcome(asked.task_id);
  assert.equal(done.state, 'succeeded');
  assert.equal(done.result.deleted, true);
  await page.goto('/decide');
  await page.getByText('Approved and done').waitFor();
  await portray(page, 'decided', { everyView: true });
  await page.getByRole('link', { name: /^Undo/ }).click();
  await page.getByRole('main').getByRole('button', { name: /^Undo/ }).click();
  assert.equal((await call('get_connection', { id: grace })).isError, false);
});

test('refusing tells the agent', async () => {
  const { page } = ada;
  const { _meta: { task_id: task } } = await remove(grace, 'Grace Hopper');
  await page.goto('/decide');
  await goTo(page, page.getByRole('button', { name: 'Refuse “delete Grace Hopper”', exact: true }));
  await page.keyboard.press('Enter');
  await expectNotice(page, 'Refused. Nothing is done, and the agent is told.');
  assert.equal((await outcome(task)).error.code, 'refused');
});

test('the demo shows the page, with nothing to decide', async () => {
  const { page } = ada;
  await page.goto('/demo/decide');
  await page.getByRole('heading', { name: 'Nothing to decide' }).waitFor();
});
