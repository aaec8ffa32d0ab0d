// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestEveryPage
// Every page in /openapi.json: screenshots, axe, the bytes that a browser loads, layout shift and
// first paint.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { expectHeading, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';

const MOST = { bytes: 60_000, script: 15_000, plainScript: 15_000, paint: 1000 }; // without photos; milliseconds
const WIDTHS = [1280, 390];
// On a busy machine a single paint may be slow; the fastest of this many loads counts.
const PAINTS = 5;

// Paths that this test cannot load, with the reason.
const LEFT_OUT = {
  '/people/{id}/photo': 'a picture', '/demo/people/{id}/photo': 'a picture', '/settings': 'redirects',
  '/sign-in/provider/callback': 'needs an identity provider', '/sign-in/provider/link': 'needs an identity provider',
  '/settings/security/email/confirm': 'needs a mailed link: settings.test.mjs', '/forgot': 'sends mail: mail.test.mjs', '/reset': 'needs a mailed link: mail.test.mjs', '/verify': 'needs a mailed link: mail.test.mjs', '/not-me': 'needs a mailed link: mail.test.mjs', '/not-me/object': 'needs a mailed link: page_test.go', '/unsubscribe': 'needs a mailed link: digest_test.go',
  '/demo/activity/undo': 'the demo has no changes', '/demo/people/bin/delete': 'the bin of the demo is empty',
  '/sign-in/two-step': 'needs a password first', '/owner': 'needs a printed link: first.test.mjs',
  '/oauth/authorize': 'needs a client: pages.test.mjs',
};

const { paths } = await (await fetch(`${setting('BASE_URL')}/openapi.json`)).json();
const PAGES = Object.entries(paths)
  .filter(([path, { get }]) => /\/(Public)?Page$/.test(get?.responses[200]?.$ref) && !LEFT_OUT[path])
  .map(([path, { get }]) => ({ path, member: get.security.length > 0 }));

let browser;
let member;
let visitor;
const examples = { '/today': '/', '/@{username}': '/@demo' };
const report = [];

async function tool(name, args) {
  const { message } = await callWith(setting('BEARER'), name, args);
  assert.ok(message.result && !message.result.isError, JSON.stringify(message));
  return message.result.structuredContent;
}

/** Fills the account with data, so that pages are as long as in daily use. */
async function fill() {
  const day = (offset) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
  const create = async (args) => (await tool('create_connection', args)).connection.id;
  for (let i = 0; i < 55; i++) {
    await create({ name: `Person ${i} of Somewhere`, title: 'Head of things', organization: `Firm ${i % 9}`, location: 'Lisbon', tags: ['few', `tag ${i % 7}`] });
  }
  const ada = await create({
    name: 'Ada Stone', title: 'CTO', organization: 'Helios', location: 'Lisbon', emails: ['ada@helios.example', 'ada@home.example'], phones: ['+1 415 200 0000'],
    bio: 'Likes rowing, and says so at length. '.repeat(20), tags: ['few'], met_how: 'At Tideline Days', important_dates: [{ kind: 'birthday', date: '1990-12-01' }],
  });
  await create({ name: 'Ada Stone', emails: ['ada@helios.example'], location: 'Porto', on_duplicate: 'create' });
  const gone = await create({ name: 'Gone Person' });
  await tool('delete_connection', { id: gone, confirm_name: 'Gone Person' });
  for (let i = 0; i < 12; i++) await tool('add_note', { connection_ids: [ada], body: `Note ${i}. ${'She hands out nanoseconds. '.repeat(8)}` });
  await tool('log_interaction', { connection_ids: [ada], kind: 'meeting', occurred_at: day(-40), summary: 'The solar eclipse' });
  await tool('set_cadence', { connection_ids: [ada], days: 14 });
  for (let i = 0; i < 5; i++) await tool('create_reminder', { text: `Send the paper ${i}`, due_on: day(i), connection_id: ada });
  await tool('save_group', { name: 'Book club' });
  await tool('update_membership', { connection_ids: [ada], add_groups: ['Book club'] });
}

/** Imports a file, and uploads another one, so that the pages of imports have something to show. */
async function bring(page) {
  const upload = async (name, rows) => {
    const buffer = Buffer.from(['Name,E-mail,Company,Shoe size', ...Array.from({ length: rows }, (_, i) => `${name} ${i},${name}${i}@bring.example,Firm ${i % 9},${30 + i}`)].join('\n'));
    await page.goto('/import');
    await page.locator('#file').setInputFiles({ name: `${name}.csv`, mimeType: 'text/csv', buffer });
    await press(page, 'Continue');
    await expectHeading(page, 'What the columns mean');
    const file = new URL(page.url()).pathname;
    await press(page, 'Preview');
    await expectHeading(page, 'Preview of the import');
    return file;
  };
  await upload('Imported', 20);
  await press(page, 'Import 20 people');
  await page.getByText('20 people added').waitFor();
  const progress = new URL(page.url()).pathname;
  const file = await upload('Person', 60); // fifty of them in doubt
  Object.assign(examples, {
    '/import/{id}': file, '/import/{id}/preview': `${file}/preview`, '/import/{id}/progress': progress, '/import/{id}/people': progress.replace('progress', 'people'),
  });
}

/** Adds a calendar from a server of this test, with one meeting that is over. */
async function addCalendar(page) {
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const feed = ['BEGIN:VCALENDAR', 'X-WR-CALNAME:Work', 'BEGIN:VEVENT', 'UID:1', `DTSTART:${yesterday}`, 'DURATION:PT1H', 'SUMMARY:Budget', 'ATTENDEE;CN=Ada Stone:mailto:ada@home.example', 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
  const server = createServer((_, answer) => answer.setHeader('Content-Type', 'text/calendar').end(feed));
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  try {
    await page.goto('/settings/sources');
    await page.getByText('A calendar', { exact: true }).click();
    await page.getByLabel('Address of the calendar').fill(`http://127.0.0.1:${server.address().port}/calendar.ics`);
    await press(page, 'Read the calendar');
    await page.getByText('Nothing is logged until you start it.').waitFor();
    await page.getByText('Budget with Ada Stone').waitFor();
    examples['/settings/sources/{id}'] = new URL(page.url()).pathname;
  } finally {
    server.close();
  }
}

/** Finds ids for the pages of one item, on the lists of the site or of the demo. */
async function find(page, base) {
  const on = async (path, pattern) => pattern.exec(await (await page.request.get(base + path)).text())?.[1];
  const person = await on(base ? '/people' : '/people?q=%22Ada+Stone%22', /people\/(con_\w+)/);
  Object.assign(examples, {
    [`${base}/people/{id}`]: `${base}/people/${person}`,
    [`${base}/people/{id}/merge`]: `${base}/people/${person}/merge`,
    [`${base}/people/organization`]: `${base}/people/organization?name=${(await on(`/people/${person}`, /people\/organization\?name=([^"]+)/)).replaceAll('&#43;', '+')}`,
    [`${base}/groups/{id}`]: `${base}/groups/${await on('/groups', /groups\/(grp_\w+)/)}`,
    [`${base}/groups/tag`]: `${base}/groups/tag?name=${await on('/groups', /groups\/tag\?name=([^"&]+)/)}`,
    [`${base}/activity/undo`]: `${base}/activity/undo?change=${await on('/activity', /change=(chg_\w+)/)}`,
    [`${base}/people/bin/delete`]: `${base}/people/bin/delete?change=${await on('/people/bin', /value="(chg_\w+)"/)}`,
  });
}

before(async () => {
  browser = await openBrowser();
  [member, visitor] = await Promise.all([newPerson(browser, { serviceWorkers: 'block' }), newPerson(browser, { serviceWorkers: 'block' })]);
  await fill();
  await member.page.goto('/sign-in');
  await signIn(member.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(member.page, 'Today');
  await bring(member.page);
  await addCalendar(member.page);
  const waiting = await (await fetch(`${setting('BASE_URL')}/index.php/login/v2`, { method: 'POST' })).json();
  examples['/settings/devices/login'] = waiting.login.replace(setting('BASE_URL'), '');
  await find(member.page, '');
  await find(visitor.page, '/demo');
});

after(async () => {
  try {
    await writeFile(join(setting('SCREENSHOTS'), 'budgets.txt'), `${report.join('\n')}\n`);
    await Promise.all([member?.leave(), visitor?.leave()]);
  } finally {
    await browser?.close();
  }
});

/** Loads the page and measures: bodies as they were sent, in bytes; the paint in milliseconds. */
async function load(page, address, width) {
  await page.setViewportSize({ width, height: 800 });
  const answer = await page.goto(address);
  assert.equal(answer.status(), 200, address);
  assert.equal(page.url(), setting('BASE_URL') + address, 'the page is another one');
  return page.evaluate(() => new Promise((resolve) => {
    let [shift, paint] = [0, 0];
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value; }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => { paint = list.getEntriesByName('first-contentful-paint')[0]?.startTime ?? paint; }).observe({ type: 'paint', buffered: true });
    const look = () => {
      if (!paint) return requestAnimationFrame(look);
      const files = performance.getEntriesByType('resource').filter((file) => !file.name.includes('/photo'));
      const sum = (of, size) => of.reduce((all, file) => all + file[size], 0);
      const scripts = files.filter((file) => new URL(file.name).pathname.endsWith('.js'));
      const [html] = performance.getEntriesByType('navigation');
      return resolve({
        shift, paint, bytes: html.encodedBodySize + sum(files, 'encodedBodySize'), html: html.encodedBodySize, files: files.length,
        script: sum(scripts, 'encodedBodySize'), plainScript: sum(scripts, 'decodedBodySize'),
      });
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
  }));
}

test('the description of the service has the pages', () => {
  for (const path of ['/today', '/people', '/people/{id}', '/people/duplicates', '/settings/profile', '/sign-in', '/demo', '/members', '/@{username}']) {
    assert.ok(PAGES.some((page) => page.path === path), `${path} is missing`);
  }
  for (const path of Object.keys(LEFT_OUT)) assert.ok(paths[path], `${path} is not in /openapi.json any more`);
});

for (const { path, member: signedIn } of PAGES) {
  test(`${path} is small, stable, fast and accessible`, async () => {
    const { page } = signedIn ? member : visitor;
    const address = examples[path] ?? path;
    for (const width of WIDTHS) {
      const was = await load(page, address, width);
      for (let i = 1; i < PAINTS && was.paint > MOST.paint; i++) was.paint = (await load(page, address, width)).paint;
      report.push(`${path} at ${width}: ${JSON.stringify(was)}`);
      assert.ok(was.files > 0 && was.html > 0 && was.bytes > was.html, `nothing was measured: ${report.at(-1)}`);
      assert.equal(was.shift, 0, `the page moves while it loads: ${report.at(-1)}`);
      for (const [what, most] of Object.entries(MOST)) assert.ok(was[what] <= most, `${what}: ${report.at(-1)}`);
    }
    // The pages of the demo look like those of the member.
    await portray(page, `every${path.replaceAll(/[^a-z]+/g, '-')}`.replace(/-$/, ''), { everyView: !path.startsWith('/demo') });
  });
}
