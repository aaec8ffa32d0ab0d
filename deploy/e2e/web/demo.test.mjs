// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDemo
// The pages of the demo, without an account: by mouse, by keyboard and without script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chooseIn, expectHeading, newPerson, openBrowser } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';

let browser;
let visitor;

const place = (page) => new URL(page.url()).pathname;

before(async () => {
  browser = await openBrowser();
  visitor = await newPerson(browser);
});
after(async () => {
  try {
    await visitor?.leave();
  } finally {
    await browser?.close();
  }
});

test('a visitor looks around from the landing page, and stays in the demo', async () => {
  const { page, context } = visitor;
  await page.goto('/');
  await page.getByRole('link', { name: 'Look around' }).click();
  await expectHeading(page, 'Today');
  await page.getByText('This is the demo, with invented people: nothing can be changed.').waitFor();
  await portray(page, 'demo-today', { everyView: true });
  for (const [area, heading] of [['Network', 'Network'], ['Groups', 'Groups and tags'], ['Activity', 'Activity'], ['People', 'People']]) {
    if (area === 'Groups') await chooseIn(page, 'Menu', area);
    else await page.getByRole('navigation', { name: 'Kith' }).getByRole('link', { name: area }).click();
    await expectHeading(page, heading);
    assert.equal(place(page), `/demo/${area.toLowerCase()}`);
    await portray(page, `demo-${area.toLowerCase()}`, { everyView: true });
  }
  await page.locator('#results a.name').first().click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  assert.match(place(page), /^\/demo\/people\/con_/);
  await portray(page, 'demo-person', { everyView: true });
  assert.deepEqual(await context.cookies(), []);
});

test('everything that writes is off and says why', async () => {
  const { page } = visitor;
  for (const button of await page.locator('form[method=post] button, button.add').all()) {
    assert.equal(await button.isDisabled(), true);
    assert.match(await button.getAttribute('aria-describedby'), /^demo$/);
  }
  const refused = await page.request.post(`${place(page)}/note`, { form: { body: 'x' } });
  assert.ok([404, 405].includes(refused.status()), String(refused.status()));
  assert.equal((await page.request.post('/demo/people')).status(), 405);
});

test('search, palette and shortcuts work below the demo', async () => {
  const { page } = visitor;
  await page.goto('/demo');
  await page.keyboard.press('c'); // adding is off
  assert.equal(place(page), '/demo');
  await page.keyboard.press('/');
  await page.keyboard.type('investor');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/demo/people?q=investor');
  const name = (await page.locator('#results a.name').first().innerText()).trim();
  await page.goto('/demo/groups');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  await palette.getByRole('combobox').fill(name);
  await palette.getByRole('option', { name: `${name} Person` }).first().click();
  await page.waitForURL('**/demo/people/con_*');
  await page.keyboard.press('Control+k');
  await palette.getByRole('combobox').fill('activity');
  await palette.getByRole('option', { name: 'Activity Page' }).click();
  await page.waitForURL('**/demo/activity');
});

test('it works without script', async () => {
  const plain = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false });
  try {
    const page = await plain.newPage();
    await page.goto('/demo/people');
    await page.getByRole('searchbox', { name: 'Search people' }).first().fill('investor');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/demo/people?q=investor**');
    assert.ok(await page.locator('#results a.name').count() > 0);
  } finally {
    await plain.close();
  }
});
