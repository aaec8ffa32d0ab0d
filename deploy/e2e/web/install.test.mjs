// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestInstall
// A member installs Kith as an app, and shares a contact with it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { expectHeading, expectNotice, press, signIn, signOut } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const CARD = ['BEGIN:VCARD', 'VERSION:3.0', 'FN:Ada Stone', 'ORG:Helios', 'TITLE:CTO', 'EMAIL:ada@helios.example', 'BDAY:1990-12-01', 'X-OTHER:x', 'END:VCARD', ''].join('\r\n');

let context;
let page;
const complaints = [];

before(async () => {
  // Chromium does not install apps in private windows, and other contexts are private windows.
  context = await chromium.launchPersistentContext('', { executablePath: setting('CHROMIUM'), baseURL: setting('BASE_URL') });
  context.setDefaultTimeout(30_000);
  page = context.pages()[0] ?? await context.newPage();
  page.on('console', (message) => { if (message.type() === 'error') complaints.push(message.text()); });
  await page.goto('/people');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'People');
});
after(async () => {
  for (const cookie of (await context?.cookies()) ?? []) keep(`cookie ${cookie.name}`, cookie.value);
  await context?.close();
});

/** Waits until the service worker serves the page. */
async function controlled() {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller) await new Promise((done) => { navigator.serviceWorker.addEventListener('controllerchange', done, { once: true }); });
  });
}

const kept = () => page.evaluate(async () => {
  const found = {};
  for (const name of await caches.keys()) found[name] = (await (await caches.open(name)).keys()).map((request) => new URL(request.url).pathname);
  return found;
});

/** Fetches an address in the page; returns the status, or the name of the error. */
const load = (address) => page.evaluate((to) => fetch(to).then((answer) => answer.status, (fault) => fault.name), address);

test('Chromium reports no installability errors', async () => {
  await controlled();
  const session = await context.newCDPSession(page);
  const { url, errors, data } = await session.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  assert.match(url, /\/assets\/kith\.webmanifest\?v=/);
  assert.equal(JSON.parse(data).share_target.action, '/people/share');
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  assert.deepEqual(installabilityErrors, []);
  await session.detach();
});

test('the service worker keeps the files of this version, and drops those of another', async () => {
  await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    await (await caches.open('kith-older')).put('/assets/kith.css?v=older', new Response('old'));
    await registration.unregister();
  });
  await page.reload();
  await controlled();
  const names = Object.keys(await kept());
  assert.equal(names.length, 1, `kept: ${names}`);
  assert.ok(names[0] !== 'kith-older');
});

test('offline, files come from the cache, and pages and data do not load', async () => {
  await page.goto('/people');
  await controlled();
  const files = await page.evaluate(() => [...document.querySelectorAll('link[rel=stylesheet], link[rel=icon], script[src]')].map((n) => new URL(n.href ?? n.src).pathname + new URL(n.href ?? n.src).search));
  assert.ok(files.length >= 4, `the page loads ${files}`);
  await context.setOffline(true);
  try {
    for (const file of files) assert.equal(await load(file), 200, file);
    for (const path of ['/people', '/', '/people/new', '/assets/kith.css?v=000000000000']) assert.equal(await load(path), 'TypeError', path);
    await assert.rejects(page.goto('/people'), /ERR_INTERNET_DISCONNECTED/);
  } finally {
    await context.setOffline(false);
  }
  await page.goto('/people');
  await expectHeading(page, 'People');
});

/** Posts a form like the share sheet of an operating system. */
async function share(texts, file) {
  await Promise.all([page.waitForURL('**/people/share'), page.evaluate(([words, card]) => {
    const form = document.createElement('form');
    Object.assign(form, { method: 'post', action: '/people/share', enctype: 'multipart/form-data' });
    for (const [name, value] of Object.entries(words)) form.append(Object.assign(document.createElement('input'), { name, value }));
    if (card) {
      const all = new DataTransfer();
      all.items.add(new File([card], 'ada.vcf', { type: 'text/vcard' }));
      form.append(Object.assign(document.createElement('input'), { type: 'file', name: 'file', files: all.files }));
    }
    document.body.append(form);
    form.submit();
  }, [texts, file])]);
  await expectHeading(page, 'Add a person');
}

test('a shared contact is corrected and saved', async () => {
  await share({ title: 'Contact' }, CARD);
  assert.equal(await page.getByLabel('Organisation').inputValue(), 'Helios');
  await portray(page, 'share-card', { everyView: true });
  await page.getByLabel('Title').fill('CEO');
  await press(page, 'Save');
  await expectNotice(page, 'The person is added.');
});

test('a shared text becomes the line, and the fields follow it', async () => {
  await share({ text: 'Ben Okafor, likes rowing' });
  assert.equal(await page.getByLabel('Name', { exact: false }).first().inputValue(), 'Ben Okafor');
  await portray(page, 'share-text', { everyView: true });
  await page.getByLabel('One line').fill('Ben Okafor, CFO at Tide');
  await page.waitForFunction(() => document.querySelector('#capture [name=organization]').value === 'Tide');
});

test('a file that is no contact is refused, and says what to do', async () => {
  await share({}, 'Name\nAda');
  await page.getByRole('alert').waitFor();
  await portray(page, 'share-wrong', { everyView: true });
});

test('after signing out no page is cached, and a share is repeated after signing in', async () => {
  await page.goto('/people');
  await signOut(page);
  await expectHeading(page, 'Sign in');
  for (const paths of Object.values(await kept())) assert.deepEqual(paths.filter((path) => !path.startsWith('/assets/')), []);
  await page.evaluate(() => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: '/people/share' });
    document.body.append(form);
    form.submit();
  });
  await page.getByRole('status').filter({ hasText: 'share it once more' }).waitFor();
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'Add a person');
  assert.deepEqual(complaints.filter((text) => !/ERR_INTERNET_DISCONNECTED|status of 4\d\d/.test(text)), []);
});
