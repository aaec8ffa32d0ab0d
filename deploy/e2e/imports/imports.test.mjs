// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run TestImportsOnThePage
// A member imports a large file on the pages, and undoes the import.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';

const timeout = Number(setting('PATIENCE'));
const rows = Number(setting('ROWS'));
// The service is killed during the import, so failed requests are not errors of the page.
const DOWN = /^Failed to load resource: (net::ERR_|the server responded with a status of 50[234])/;

async function at(path, heading, work) {
  const browser = await openBrowser();
  try {
    const ada = await newPerson(browser);
    await ada.page.goto(path);
    await signIn(ada.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
    await expectHeading(ada.page, heading);
    await work(ada.page);
    await ada.leave({ tolerate: DOWN });
  } finally {
    await browser.close(); // otherwise the process would not exit
  }
}

/** Reads the progress on the page until the import is done, without reloading the page. */
async function watch(page) {
  const seen = [];
  const list = page.locator('#imports');
  for (const end = Date.now() + timeout; ;) {
    assert.ok(Date.now() < end, `the import is not done: ${await list.innerText()}`);
    const text = await list.innerText();
    const [, done, total] = text.match(/(\d+) of (\d+|\?) rows/) ?? [];
    if (done === undefined) return { seen, text };
    if (total !== '?') assert.equal(Number(total), rows);
    if (seen.at(-1) !== Number(done)) seen.push(Number(done));
    await page.waitForTimeout(100);
  }
}

test('imports a file and shows progress', { skip: setting('PART') !== 'import', timeout }, () => at('/import', 'Import contacts', async (page) => {
  await page.getByLabel('File', { exact: true }).setInputFiles(setting('FILE'));
  await press(page, 'Continue');
  await page.getByText('The preview shows the first 10,000 rows.').waitFor();
  await page.getByRole('button', { name: /^Import [\d,]+ people$/ }).click();
  await page.getByText('It continues when you leave this page.').waitFor();
  await page.waitForLoadState('load'); // the next page shows its text before its load event
  await writeFile(setting('WATCHED'), ''); // from now on the service may be killed
  let loads = 0;
  page.on('load', () => loads++);
  const { seen, text } = await watch(page);
  assert.ok(text.includes(setting('REPORT')), text);
  assert.match(text, /done/);
  assert.deepEqual(seen, [...seen].sort((a, b) => a - b), 'the progress decreased');
  assert.ok(seen.length >= 4, `the progress was seen to be ${seen}`);
  assert.equal(loads, 0, 'the page was reloaded');
}));

test('undoes the import', { skip: setting('PART') !== 'undo', timeout }, () => at('/settings/imports', 'Data', async (page) => {
  page.context().setDefaultTimeout(timeout);
  const undo = page.getByRole('button', { name: 'Undo the import of' });
  await undo.click();
  await expectNotice(page, 'The import is being undone.');
  const list = page.locator('#imports');
  for (const end = Date.now() + timeout; /Being undone/.test(await list.innerText());) {
    assert.ok(Date.now() < end, `it is not undone: ${await list.innerText()}`);
    await page.waitForTimeout(100);
  }
  assert.doesNotMatch(await list.innerText(), /stay as they are/);
  assert.equal(await undo.count(), 0, 'the import can be undone twice');
}));
