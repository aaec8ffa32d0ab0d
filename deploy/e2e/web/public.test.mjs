// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestPublicPages
// Public profiles, the directory of members, and error pages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { until } from '../harness/raw.mjs';

const base = setting('BASE_URL');
const username = setting('MEMBER_USERNAME');
const ATTACK = '</script><script>document.title = "taken over"</script>';
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

let browser;
let visitor;
let ada;

const place = (page) => new URL(page.url()).pathname;
const cards = (page) => page.getByRole('main').getByRole('listitem').getByRole('heading', { level: 2 });
const input = (page, label) => page.getByRole('textbox', { name: new RegExp(`^${label}( \\(optional\\))?$`) });

/** The structured data of the page that is open, as a search engine reads it. */
async function structured(page) {
  const scripts = await page.locator('script').all();
  assert.equal(scripts.length, 1);
  assert.equal(await scripts[0].getAttribute('type'), 'application/ld+json');
  return JSON.parse(await scripts[0].textContent());
}

before(async () => {
  browser = await openBrowser();
  [visitor, ada] = await Promise.all([newPerson(browser), newPerson(browser)]);
});
after(async () => {
  try {
    await Promise.all([visitor?.leave(), ada?.leave()]); // fails if a page violated its CSP
  } finally {
    await browser?.close();
  }
});

test('a visitor goes from the landing page to the directory, and to a profile', async () => {
  const { page, context } = visitor;
  await page.goto('/');
  await page.getByRole('main').getByRole('link', { name: 'member directory' }).click();
  await expectHeading(page, 'Members');
  assert.equal(place(page), '/members');
  assert.equal(await cards(page).count(), 20);
  await portray(page, 'members', { everyView: true });

  const first = await cards(page).allInnerTexts();
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByRole('link', { name: 'First page' }).waitFor();
  for (const name of await cards(page).allInnerTexts()) assert.ok(!first.includes(name), `${name} is on both pages`);

  await page.getByRole('searchbox', { name: 'Search members' }).fill('microgrids');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/members?q=microgrids');
  assert.equal(await page.getByRole('searchbox', { name: 'Search members' }).inputValue(), 'microgrids');
  await page.getByRole('main').getByRole('link', { name: 'Inês Valadão-Reis' }).click();
  await expectHeading(page, 'Inês Valadão-Reis');
  assert.equal(place(page), '/@ines-valadao');
  await portray(page, 'public-profile', { everyView: true });
  const person = await structured(page);
  assert.deepEqual([person['@context'], person['@type'], person.name, person.url], ['https://schema.org', 'Person', 'Inês Valadão-Reis', `${base}/@ines-valadao`]);
  assert.equal(await page.locator('link[rel=canonical]').getAttribute('href'), person.url);
  assert.deepEqual(await context.cookies(), []);

  await page.goto('/members?q=nobody-has-this-word');
  await page.getByText('No listed member matches your search.').waitFor();
  await portray(page, 'members-none');
  const refused = await page.goto(`/members?q=${'x'.repeat(201)}`);
  assert.equal(refused.status(), 400);
  await page.getByRole('alert').getByText('Your search must be at most 200 characters.').waitFor();
  await portray(page, 'members-wrong');
});

test('the directory works without script', async () => {
  const context = await browser.newContext({ baseURL: base, javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await page.goto('/members');
    await page.getByRole('searchbox', { name: 'Search members' }).fill('climate');
    await press(page, 'Search');
    await page.waitForURL('**/members?q=climate');
    await cards(page).first().getByRole('link').click();
    assert.match(place(page), /^\/@[a-z0-9-]+$/);
  } finally {
    await context.close();
  }
});

test('a member publishes a profile: what is hidden stays hidden, and what is shown is text', async () => {
  const { page } = ada;
  await page.goto('/settings/profile');
  await signIn(page, username, setting('MEMBER_PASSWORD'));
  const status = async () => (await visitor.page.request.get(`/@${username}`)).status();
  assert.equal(await status(), 404);

  await input(page, 'Name').fill(`Ada ${ATTACK}`);
  await input(page, 'Headline').fill(ATTACK);
  await input(page, 'About you').fill('Only for members.');
  await input(page, 'Picture').fill('https://pictures.example/ada.png');
  for (const [what, who] of [['your page', 'Everyone'], ['headline', 'Everyone'], ['about you', 'Members'], ['picture', 'Everyone']]) {
    await page.getByLabel(`Who sees ${what}`, { exact: true }).selectOption(who);
  }
  await page.context().route('https://pictures.example/**', (route) => route.fulfill({ contentType: 'image/png', body: PIXEL }));
  await press(page, 'Save');
  await expectNotice(page, 'Your profile is saved.');
  await until('the profile is public', async () => await status() === 200);

  await page.getByRole('link', { name: `${base}/@${username}` }).click();
  await expectHeading(page, `Ada ${ATTACK}`);
  assert.match(await page.title(), /^Ada .* · Kith$/);
  assert.equal((await structured(page)).description, ATTACK);
  assert.equal(await page.locator('img').evaluate((img) => img.complete && img.naturalWidth), 1, 'the picture is not shown');
  assert.ok(!(await page.content()).includes('Only for members.'), 'a field for members is shown');
  await portray(page, 'public-profile-picture');

  // The page is the same for a visitor who is not signed in.
  const mine = await page.request.get(`/@${username}`);
  const theirs = await visitor.page.request.get(`/@${username}`);
  assert.equal(await mine.text(), await theirs.text());
  assert.equal(mine.headers().etag, theirs.headers().etag);
  assert.equal(mine.headers()['set-cookie'], undefined);
});

test('each error has a page with a link and a search', async () => {
  for (const { page } of [visitor, ada]) {
    const signedIn = page === ada.page;
    for (const [address, code, heading] of [
      ['/no-such-page', 404, 'There is nothing here'], ['/@nobody-at-all', 404, 'There is nothing here'], ['/docs/errors/no-such-code', 404, 'Page not found'],
      ['/mcp/v1', 405, 'The method is not allowed here'],
    ]) {
      const answer = await page.goto(address);
      assert.equal(answer.status(), code, address);
      await expectHeading(page, heading);
    }
    await page.goto('/no-such-page');
    await portray(page, `no-such-page-${signedIn ? 'member' : 'visitor'}`, { everyView: true });
    await page.getByRole('searchbox', { name: signedIn ? 'Search your people' : 'Search members' }).fill('climate');
    await page.keyboard.press('Enter');
    await expectHeading(page, signedIn ? 'People' : 'Members');
    await page.goto('/no-such-page');
    await page.getByRole('link', { name: 'Go to the start page' }).click();
    assert.equal(place(page), '/');
  }
  const problem = await visitor.page.request.get('/no-such-page', { headers: { accept: 'application/json' } });
  assert.equal(problem.headers()['content-type'], 'application/problem+json');
});
