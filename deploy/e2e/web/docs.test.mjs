// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDocs
// The landing page's requests (try.js) and the documentation (docs.js).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { expectHeading, newPerson, openBrowser } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';

const MOST = { bytes: 60_000, script: 15_000 };
const base = setting('BASE_URL');

let browser;
let visitor;

before(async () => {
  browser = await openBrowser();
  visitor = await newPerson(browser);
});
after(async () => {
  try {
    await visitor?.leave({ tolerate: /net::ERR_FAILED$/ }); // outages of these tests
  } finally {
    await browser?.close();
  }
});

const box = (page, title) => page.getByRole('article', { name: title });

/** Sends the request of a box with a value, and returns the status that the box then shows. */
async function send(page, title, value) {
  const article = box(page, title);
  await article.getByRole('textbox').fill(value);
  const status = article.getByRole('status');
  await article.getByRole('button', { name: 'Send' }).click();
  await status.filter({ hasText: 'milliseconds' }).waitFor();
  return { article, status, text: await status.textContent(), failed: (await status.getAttribute('class')).includes('failed') };
}

/** Runs a command line of the page in a shell. */
async function run(command) {
  return (await promisify(execFile)('sh', ['-c', command])).stdout;
}

test('each request shows its answer first', async () => {
  const { page } = visitor;
  await page.goto('/');
  await expectHeading(page, 'A personal CRM for AI agents');
  await portray(page, 'landing', { everyView: true });
  const titles = await page.locator('article.try h3').allTextContents();
  assert.equal(titles.length, 3, titles.join(', '));
  for (const title of titles) {
    const { article, text, failed } = await send(page, title, await box(page, title).getByRole('textbox').inputValue());
    assert.match(text, /^Answered with 200/, title);
    assert.equal(failed, false, title);
    const got = article.getByRole('region', { name: `Answer to: ${title}` });
    assert.ok(JSON.parse(await got.textContent()), title);
    assert.ok(await got.isVisible(), title);
    const details = article.locator('details');
    assert.equal(await details.getAttribute('open'), null, 'headers are collapsed');
    assert.equal(await article.locator('.headers').isVisible(), false);
    const place = async (part) => (await part.boundingBox()).y;
    assert.ok(await place(got) < await place(details), 'headers are above the answer');
    await article.getByText('Headers and request').click();
    assert.match(await article.locator('.headers').textContent(), /^HTTP\/1\.1 200[^\n]*\n[\s\S]*content-type: application\/json/);
    assert.match(await article.locator('.sent').textContent(), /^(GET|POST) \/sandbox\/\S+ HTTP\/1\.1\n/);
  }
  await portray(page, 'landing-answers', { everyView: true });
});

test('the exact bytes can be seen', async () => {
  const { page } = visitor;
  const article = page.locator('article.try').first();
  const got = article.locator('.got');
  const indented = await got.textContent();
  await article.getByRole('checkbox').uncheck();
  const exact = await got.textContent();
  assert.equal(exact.includes('\n  '), false);
  assert.deepEqual(JSON.parse(exact), JSON.parse(indented));
});

test('errors are shown as errors', async () => {
  const { page } = visitor;
  await page.goto('/');
  const [profile, directory, tool] = await page.locator('article.try h3').allTextContents();
  const missing = await send(page, profile, 'nobody-at-all');
  assert.match(missing.text, /^Error: answered with 404/);
  assert.equal(missing.failed, true);
  assert.equal(JSON.parse(await missing.article.locator('.got').textContent()).code, 'not_found');
  const color = (part) => part.evaluate((element) => getComputedStyle(element).color);
  const right = await send(page, directory, 'climate');
  assert.notEqual(await color(missing.status), await color(right.status), 'an error looks like a success');

  // A tool fails with status 200.
  const empty = await send(page, tool, 'x'.repeat(200));
  assert.equal(empty.failed, false, await empty.article.locator('.got').textContent());
  await page.route('**/sandbox/mcp/v1', (route) => route.fulfill({ json: { jsonrpc: '2.0', id: 1, result: { isError: true, content: [] } } }));
  const refused = await send(page, tool, 'storage');
  assert.match(refused.text, /^Error: answered with 200/);
  assert.equal(refused.failed, true);
  await page.unroute('**/sandbox/mcp/v1');

  await page.route('**/sandbox/api/human/**', (route) => route.abort());
  const article = box(page, profile);
  await article.getByRole('button', { name: 'Send' }).click();
  await article.getByRole('status').filter({ hasText: 'There was no answer' }).waitFor();
  assert.match(await article.getByRole('status').getAttribute('class'), /failed/);
  assert.equal(await article.locator('.got').isVisible(), false, 'the old answer stays');
  await page.unroute('**/sandbox/api/human/**');
  // It works again afterwards.
  assert.match((await send(page, profile, 'demo')).text, /^Answered with 200/);
});

test('the command line and the link follow what is typed', async () => {
  const { page } = visitor;
  await page.goto('/');
  for (const article of await page.locator('article.try').all()) {
    const curl = article.locator('.curl');
    const before = await curl.textContent();
    const field = article.getByRole('textbox');
    const value = await field.inputValue();
    await field.fill('$(id) "it\'s" & #é');
    const after = await curl.textContent();
    assert.notEqual(after, before);
    // The shell runs what the page shows, and the server gets what was typed.
    const answer = JSON.parse(await run(after));
    if (answer.instance) assert.equal(answer.code, 'not_found');
    else assert.ok(answer.data || answer.result, JSON.stringify(answer));
    const link = article.locator('[data-try-link]');
    if (await link.count()) assert.ok(after.replaceAll("'\\''", "'").includes(await link.getAttribute('href')), after);
    await field.fill(value);
    assert.equal(await curl.textContent(), before, 'the script writes the command as the server does');
  }
});

test('the requests are made by keyboard alone', async () => {
  const { page } = visitor;
  await page.goto('/');
  const article = page.locator('article.try').first();
  await article.getByRole('textbox').focus();
  await page.keyboard.press('Enter');
  await article.getByRole('status').filter({ hasText: 'Answered with 200' }).waitFor();
  await page.keyboard.press('Tab'); // the button
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'got', 'the answer can be scrolled');
});

test('the pages of the documentation are small, stable and accessible', async () => {
  const { page } = visitor;
  for (const [path, name] of [
    ['/docs', 'docs'], ['/docs/connect', 'docs-connect'], ['/docs/protocol', 'docs-protocol'], ['/docs/scopes', 'docs-scopes'], ['/docs/paths', 'docs-paths'], ['/docs/tools', 'docs-tools'],
    ['/docs/tools/update_connection', 'docs-tool'], ['/docs/errors', 'docs-errors'], ['/docs/errors/not_found', 'docs-error'], ['/docs/mcp', 'docs-mcp'],
    ['/docs?q=undo', 'docs-search'], ['/docs?q=xyzzy', 'docs-search-empty'],
  ]) {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      assert.equal((await page.goto(path)).status(), 200, path);
      const was = await page.evaluate(() => new Promise((resolve) => {
        let shift = 0;
        new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value; }).observe({ type: 'layout-shift', buffered: true });
        const sum = (of) => of.reduce((all, file) => all + file.encodedBodySize, 0);
        requestAnimationFrame(() => requestAnimationFrame(() => {
          const files = performance.getEntriesByType('resource');
          resolve({ shift, bytes: sum([...performance.getEntriesByType('navigation'), ...files]), script: sum(files.filter((file) => file.name.includes('.js'))) });
        }));
      }));
      assert.equal(was.shift, 0, `${path} moves at ${width}`);
      assert.ok(was.bytes > 0 && was.script > 0, `nothing was measured of ${path}`);
      for (const [what, most] of Object.entries(MOST)) assert.ok(was[what] <= most, `${path}: ${what} ${was[what]}`);
    }
    await portray(page, name, { everyView: true });
  }
  const missing = await page.goto('/docs/tools/add_notes');
  assert.equal(missing.status(), 404);
  await expectHeading(page, 'Page not found');
  await portray(page, 'docs-missing', { everyView: true });
  await page.getByRole('main').getByRole('link', { name: 'add_note', exact: true }).click();
  await expectHeading(page, 'add_note: Add a note');
});

test('results appear while the visitor types', async () => {
  const { page } = visitor;
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto('/docs/scopes');
  const field = page.getByRole('searchbox', { name: 'Search the documentation' });
  await field.pressSequentially('merge dupl');
  const main = page.getByRole('main');
  await main.getByRole('link', { name: 'merge_connections: Merge duplicates' }).waitFor();
  await page.getByRole('status').filter({ hasText: /results? for “merge dupl”/ }).waitFor({ state: 'attached' });
  assert.equal(new URL(page.url()).pathname, '/docs/scopes');
  await field.fill('xyzzy');
  await main.getByText('Nothing was found for “xyzzy”.').waitFor();
  await field.fill('');
  await expectHeading(page, 'Scopes');
  assert.equal(await page.getByRole('status').textContent(), '');
  // What is typed is text.
  await field.fill('<img src=x onerror=alert(1)>');
  await main.getByText('“<img src=x onerror=alert(1)>”').waitFor();
  assert.equal(await main.locator('img').count(), 0);
  // Enter opens the page of results, a result opens its page, and Back returns to the results.
  await field.fill('undo');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs?q=undo');
  await main.getByRole('link', { name: 'undo_change: Undo a change' }).first().click();
  await page.waitForURL('**/docs/tools/undo_change');
  await page.goBack();
  await expectHeading(page, 'Search');
  assert.equal(await field.inputValue(), 'undo');
});

test('the page stays when a search fails', async () => {
  const { page } = visitor;
  await page.goto('/docs/scopes');
  await page.route('**/docs?q=*', (route) => route.abort());
  const asked = page.waitForEvent('requestfailed');
  const field = page.getByRole('searchbox', { name: 'Search the documentation' });
  await field.fill('undo');
  await asked;
  await expectHeading(page, 'Scopes');
  await page.unroute('**/docs?q=*');
  await field.press('End');
  await field.pressSequentially('_');
  await expectHeading(page, 'Search');
});

test('the sidebar is beside the page, or opens over it on a phone', async () => {
  const { page } = visitor;
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto('/docs/tools/add_note');
  const side = page.getByRole('navigation', { name: 'Documentation' });
  assert.ok(await side.isVisible());
  assert.equal(await side.getByRole('link', { name: 'add_note' }).getAttribute('aria-current'), 'page');
  assert.equal(await side.getByRole('link', { name: 'get_account' }).isVisible(), false, 'other lists are collapsed');
  assert.equal(await page.getByRole('button', { name: 'All pages' }).isVisible(), false);
  await side.getByText('Account', { exact: true }).click();
  await side.getByRole('link', { name: 'get_account' }).click();
  await page.waitForURL('**/docs/tools/get_account');

  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await side.isVisible(), false);
  await page.getByRole('button', { name: 'All pages' }).focus();
  await page.keyboard.press('Enter');
  await side.getByRole('link', { name: 'Scopes', exact: true }).waitFor();
  await portray390(page);
  await page.keyboard.press('Escape');
  await side.waitFor({ state: 'hidden' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'All pages', 'the focus is lost');
  await page.keyboard.press('Enter');
  await side.getByRole('link', { name: 'Scopes', exact: true }).click();
  await expectHeading(page, 'Scopes');
});

/** Checks that the open sidebar does not make the page too wide, and takes a screenshot. */
async function portray390(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  assert.equal(wide, false);
  await page.screenshot({ path: `${setting('SCREENSHOTS')}/docs-sidebar-phone.png` });
}

test('it works without script', async () => {
  const plain = await browser.newContext({ baseURL: base, javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  try {
    const page = await plain.newPage();
    await page.goto('/');
    assert.equal(await page.locator('article.try form').first().isVisible(), false);
    assert.ok(JSON.parse(await run(await page.locator('article.try .curl').first().textContent())));
    await page.goto('/docs');
    await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('rate limit');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs?q=rate+limit');
    await page.getByRole('main').getByRole('link', { name: 'rate_limited' }).first().click();
    await page.waitForURL('**/docs/errors/rate_limited');
    await page.getByRole('button', { name: 'All pages' }).click();
    await page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Paths', exact: true }).click();
    await expectHeading(page, 'Paths');
  } finally {
    await plain.close();
  }
});

test('the type of a problem leads to its page, and every example of a tool works', async () => {
  const { page } = visitor;
  const problem = await (await page.request.get('/api/human/nobody-at-all')).json();
  await page.goto(problem.type);
  await expectHeading(page, 'not_found: There is nothing here');
  for (const tool of ['search_connections', 'get_account', 'list_timeline']) {
    await page.goto(`/docs/tools/${tool}`);
    const command = await page.locator('pre code.language-sh').textContent();
    const answer = JSON.parse(await run(command));
    assert.ok(answer.result && !answer.result.isError, `${command}: ${JSON.stringify(answer)}`);
  }
});
