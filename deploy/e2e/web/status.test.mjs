// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestStatusPage
// The status page of the admin listener, as an operator's browser shows it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { until } from '../harness/raw.mjs';

const admin = setting('ADMIN_URL');
let browser;

before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

test('the key figures are charted and readable on a phone', async () => {
  const context = await browser.newContext({ baseURL: admin, javaScriptEnabled: false });
  const page = await context.newPage();
  const answer = await page.goto('/status');
  assert.equal(answer.status(), 200);
  await page.getByRole('heading', { name: 'Kith status', exact: true }).waitFor();
  // The first line needs two samples, 15 s apart.
  const memory = page.getByRole('img', { name: /^Resident memory in the last hour: [0-9.]+ to [0-9.]+ MiB$/ });
  await until('a first line', async () => {
    await page.reload();
    return (await memory.count()) === 1;
  });
  for (const title of setting('FIGURES').split(';')) {
    assert.equal(await page.getByRole('heading', { name: title, exact: true }).count(), 1, title);
  }
  await context.close();
});

test('the first line says whether all is good, and the page reloads itself', async () => {
  const context = await browser.newContext({ baseURL: admin, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto('/status');
  await until('a verdict of rates', async () => (await page.getByRole('status').textContent()) !== 'Nothing is wrong so far');
  // The disk is that of the machine on which the test runs.
  const wrong = (await page.locator('.verdict li').allTextContents()).filter((text) => !text.startsWith('Free space on the disk'));
  assert.deepEqual(wrong, []);
  assert.equal(await page.getByRole('status').textContent(), (await page.locator('.verdict li').count()) === 0 ? 'All good' : 'One thing is wrong');
  const first = await page.locator('time').textContent();
  await until('another reading', async () => (await page.locator('time').textContent()) !== first);
  await page.getByRole('link', { name: 'Stop refreshing' }).click();
  await page.getByRole('link', { name: 'Refresh every 15 seconds' }).waitFor();
  await context.close();
});

test('screenshots at two widths', async () => {
  const context = await browser.newContext({ baseURL: admin });
  const page = await context.newPage();
  const requested = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  await page.goto('/status?refresh=off');
  await portray(page, 'status', { everyView: true });
  await page.goto('/');
  await page.getByRole('link', { name: 'Status' }).waitFor();
  await portray(page, 'admin', { everyView: true });
  assert.deepEqual([...new Set(requested)].filter((path) => path !== '/').filter((path) => path !== '/favicon.ico'), ['/status'], 'the page loads other resources');
  await context.close();
});
