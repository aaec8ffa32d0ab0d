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
const controlled = () => page.waitForFunction(() => navigator.serviceWorker.controller !== null);

/** Waits until what the page looks up is so. */
async function until(check, ...given) {
  const end = Date.now() + 30_000;
  while (!(await page.evaluate(check, given))) assert.ok(Date.now() < end, `waited in vain for ${check}`);
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

/** Runs an act without a network. */
async function withoutNetwork(act) {
  await context.setOffline(true);
  try {
    await act();
  } finally {
    await context.setOffline(false);
  }
}

const keptPeople = async () => (await kept())[`kith-pages-${member}`]?.filter((path) => path.startsWith('/people/')) ?? [];
let member;

test('without a network, files come from the cache, and a page says so: data does not load', async () => {
  await page.goto('/people');
  await controlled();
  const files = await page.evaluate(() => [...document.querySelectorAll('link[rel=stylesheet], link[rel=icon], script[src]')].map((n) => new URL(n.href ?? n.src).pathname + new URL(n.href ?? n.src).search));
  assert.ok(files.length >= 4, `the page loads ${files}`);
  await withoutNetwork(async () => {
    // A kept page of an older version has the stylesheet of this one.
    for (const file of [...files, '/assets/kith.css?v=000000000000']) assert.equal(await load(file), 200, file);
    for (const path of ['/people', '/', '/people/new']) assert.equal(await load(path), 'TypeError', path);
    await page.goto('/people');
    await expectHeading(page, 'No connection');
    assert.equal(await page.getByText('On this device').isVisible(), false);
    await portray(page, 'offline', { everyView: true });
  });
  await page.getByRole('link', { name: 'Try again' }).click();
  await expectHeading(page, 'People');
});

test('a member keeps pages on this device, and reads them without a network', async () => {
  await page.goto('/people/new');
  await page.getByLabel('Name').first().fill('Ngozi Offline');
  await press(page, 'Save');
  await expectNotice(page, 'The person is added.');
  await page.goto('/people');
  const person = await page.getByRole('link', { name: 'Ngozi Offline' }).getAttribute('href');
  await page.goto('/settings/devices');
  member = await page.evaluate(() => document.body.dataset.drafts);
  await press(page, 'Keep pages on this device');
  await page.getByRole('button', { name: 'Delete the pages kept here' }).waitFor();
  assert.ok((await keptPeople()).includes(person), `kept: ${await keptPeople()}`);
  await page.goto('/people?q=nobody-has-this-name');
  await page.goto(person);
  await withoutNetwork(async () => {
    await page.goto(person);
    await expectHeading(page, 'Ngozi Offline');
    await page.getByText('Kith cannot be reached now.').waitFor();
    await portray(page, 'offline-person', { everyView: true });
    assert.equal(await page.locator('form[method=post] button:enabled').count(), 0);
    await page.goto('/people');
    await page.getByRole('link', { name: 'Ngozi Offline' }).waitFor(); // the whole list, not the last search
    await page.goto('/');
    await expectHeading(page, 'Today');
    await page.goto('/network');
    await page.locator('#kept-pages').getByRole('link', { name: 'Ngozi Offline' }).click();
    await expectHeading(page, 'Ngozi Offline');
  });
});

test('a changed person is kept as it is now, and a deleted one no longer', async () => {
  const person = (await keptPeople()).at(-1);
  await page.goto(`${person}/edit`);
  await page.getByRole('textbox', { name: 'Name' }).first().fill('Ngozi Changed');
  await press(page, 'Save');
  await expectHeading(page, 'Ngozi Changed');
  await until(async ([cache, path]) => (await (await (await caches.open(cache)).match(path)).text()).includes('Ngozi Changed'), `kith-pages-${member}`, person);
  await withoutNetwork(async () => {
    await page.goto(person);
    await expectHeading(page, 'Ngozi Changed');
    assert.equal(await page.getByRole('status').count(), 0); // what was done is not said again
  });
});

test('at most 50 people are kept, and another member has none', async () => {
  await page.goto('/');
  await page.evaluate(async ([name]) => {
    const cache = await caches.open(name);
    for (let i = 0; i < 60; i++) await cache.put(`/people/con_x${i}`, new Response('<title>x</title>'));
  }, [`kith-pages-${member}`]);
  await page.goto('/people');
  await until(async ([name]) => (await (await caches.open(name)).keys()).filter((r) => new URL(r.url).pathname.startsWith('/people/')).length === 50, `kith-pages-${member}`);
  await page.evaluate(async ([name]) => {
    localStorage.removeItem('kith-offline');
    await caches.delete(name);
    await caches.open('kith-pages-mem_other');
  }, [`kith-pages-${member}`]);
  await page.goto('/people');
  await page.goto('/');
  assert.deepEqual((await kept())['kith-pages-mem_other'], []);
  await page.evaluate(() => caches.delete('kith-pages-mem_other'));
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

/** Waits until no page is kept. */
const nothingKept = () => until(async () => (await caches.keys()).every((name) => !name.startsWith('kith-pages-')));

test('a session that ended elsewhere deletes the pages, and signing in again keeps them again', async () => {
  await page.goto('/settings/devices');
  if (await page.getByRole('button', { name: 'Keep pages on this device' }).isVisible()) await press(page, 'Keep pages on this device');
  await page.getByRole('button', { name: 'Delete the pages kept here' }).waitFor();
  await context.clearCookies();
  await page.goto('/people');
  await expectHeading(page, 'Sign in');
  await nothingKept();
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'People');
  await until(async ([name]) => (await caches.has(name)) && (await (await caches.open(name)).match('/people')) !== undefined, `kith-pages-${member}`);
});

test('after signing out no page is kept, and a share is repeated after signing in', async () => {
  await page.goto('/people');
  await signOut(page);
  await expectHeading(page, 'Sign in');
  await nothingKept();
  for (const paths of Object.values(await kept())) assert.deepEqual(paths.filter((path) => !path.startsWith('/assets/') && path !== '/offline'), []);
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
