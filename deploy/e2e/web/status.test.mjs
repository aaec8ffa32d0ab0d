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

test('screenshots at two widths', async () => {
  const context = await browser.newContext({ baseURL: admin });
  const page = await context.newPage();
  const requested = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  await page.goto('/status');
  await portray(page, 'status');
  assert.deepEqual([...new Set(requested)].filter((path) => path !== '/favicon.ico'), ['/status'], 'the page loads other resources');
  await context.close();
});
