// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestNetwork
// The charts of the network: empty, in the demo, by keyboard and without script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';

let browser;
let ada;

const section = (page, name) => page.getByRole('region', { name, exact: true });

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

test('an empty network links to the import', async () => {
  const { page } = ada;
  await page.goto('/network');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'Network');
  await page.getByRole('main').getByRole('link', { name: 'Import your contacts' }).waitFor();
  await portray(page, 'network-empty', { everyView: true });
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Command palette' }).getByRole('option', { name: 'Network Page' }).waitFor();
});

test('each mark leads to as many people as it counts', async () => {
  const { page } = ada;
  await page.goto('/demo/network');
  await portray(page, 'network', { everyView: true });
  for (const name of ['People By organisation', 'People By place', 'People By tag', 'People by the month of the last contact']) {
    await page.goto('/demo/network');
    const marks = page.getByRole('group', { name, exact: true }).getByRole('link');
    assert.ok(await marks.count() > 2, name);
    const mark = marks.last();
    const count = Number(((await mark.getAttribute('aria-label')) ?? (await mark.textContent())).match(/: *(\d+)\s*$/)[1]);
    await mark.click();
    await expectHeading(page, 'People');
    const shown = await page.locator('#results a.name').count();
    if (name === 'People By organisation') assert.ok(shown >= count, `${name}: ${shown}, not ${count}`);
    else assert.equal(shown, Math.min(count, 50), name);
  }
});

test('paths to an organisation are found and opened with the keyboard only', async () => {
  const { page } = ada;
  await page.goto('/demo/network');
  const table = section(page, 'By organisation');
  await table.locator('summary').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  assert.match(await page.evaluate(() => document.activeElement.textContent), /^Introductions to /);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/demo\/network\?organization=/);
  const paths = page.getByRole('group', { name: 'Paths to the organisation' });
  await paths.waitFor();
  await section(page, 'Who can introduce you').locator('summary').click();
  await portray(page, 'network-way', { everyView: true });
  await paths.getByRole('link').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/demo\/people\/con_/);

  await page.goto('/demo/network');
  const input = page.getByRole('textbox', { name: 'Organisation' });
  await input.fill('No such place');
  await input.press('Enter');
  await page.getByRole('alert').getByRole('link', { name: /^Organi[sz]ation: Nobody is or was at "No such place"/ }).click();
  await page.locator('#organization:focus').waitFor();
  await portray(page, 'network-wrong');
});

test('it works without script', async () => {
  const plain = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false });
  try {
    const page = await plain.newPage();
    const answer = await page.goto('/demo/network');
    const { length } = await answer.body();
    assert.ok(length < 60_000, `${length} bytes`);
    await section(page, 'Losing touch').getByRole('group').getByRole('link').first().click();
    await page.waitForURL(/\/demo\/people\/con_/);
  } finally {
    await plain.close();
  }
});
