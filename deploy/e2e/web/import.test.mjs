// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestImportPages
// The import of a file: its columns, the preview, the progress and its undo, with and without a script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';

const FILE = {
  name: 'friends.csv', mimeType: 'text/csv',
  buffer: Buffer.from(['Name,E-mail,Phone,Also known as,Diet <b>', 'Ada Stone,ada@helios.example,+1 212 555 0100,,vegan', 'Charles Chen,cy@chen.example,,,', 'Dee Diaz,dee@people.example,,Dido,', ',,12,,'].join('\n')),
};

let browser;
let ada;

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

async function upload(page, file) {
  await page.goto('/import');
  await page.locator('#file').setInputFiles(file);
  await press(page, 'Continue');
}

test('a file is imported with the columns and people that the member chose', async () => {
  const { page } = ada;
  await page.goto('/import');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(page, 'Import contacts');
  await portray(page, 'import-upload', { everyView: true });
  await page.locator('#file').setInputFiles({ name: 'a.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 \u0001') });
  await press(page, 'Continue');
  await page.getByRole('alert').getByRole('link', { name: /^This is a PDF/ }).click();
  await page.locator('#file:focus').waitFor();

  await upload(page, FILE);
  await page.getByText('Another table (CSV), 4 rows.').waitFor();
  await portray(page, 'import-columns', { everyView: true });
  await page.getByLabel('Meaning of Also known as').selectOption('Name');
  await press(page, 'Preview');
  await page.getByRole('alert').getByRole('link', { name: /^Name has this meaning already/ }).waitFor();
  await portray(page, 'import-columns-wrong');
  await page.getByLabel('Meaning of Also known as').selectOption('Nickname');
  await press(page, 'Preview');

  await expectHeading(page, 'Preview of the import');
  await page.getByRole('button', { name: 'Please check 1' }).waitFor();
  await portray(page, 'import-preview', { everyView: true });
  await page.getByLabel('What to do with Charles Chen, row 3').selectOption({ label: 'It is Cy Chen: same e-mail address' });
  await press(page, 'Apply my choices');
  await page.getByRole('button', { name: 'Known 2' }).waitFor();
  await page.reload();
  await press(page, 'Import 3 people');
  await page.getByText('1 person added, 1 changed, 1 skipped, 1 failed.').waitFor(); // by the script
  await portray(page, 'import-done', { everyView: true });
  assert.doesNotMatch(await page.locator('main').innerText(), /\b(con|fil|imp|chg)_/);
  await page.getByRole('link', { name: 'See your new person' }).click();
  await expectHeading(page, 'People of the import');
  await page.getByRole('link', { name: 'Dee Diaz' }).click();
  await page.getByText('Dido').first().waitFor();
});

test('a file is imported and undone without a script', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false, viewport: { width: 390, height: 844 }, storageState: await ada.context.storageState() });
  context.setDefaultTimeout(30_000);
  try {
    const page = await context.newPage();
    const refreshed = async () => {
      const refresh = page.getByRole('link', { name: 'Show the progress' });
      for (const end = Date.now() + 30_000; await refresh.count() > 0;) {
        assert.ok(Date.now() < end, 'it does not end');
        await refresh.click();
      }
      return page.locator('#imports').innerText();
    };
    await upload(page, { ...FILE, name: 'again.csv', buffer: Buffer.from('Name,E-mail\nEli Eng,eli@people.example\nFay Fox,fay@people.example') });
    await page.getByLabel('What to do with Fay Fox, row 3').selectOption('Leave out');
    await press(page, 'Import 2 people');
    assert.match(await refreshed(), /1 person added, 1 skipped\./);
    await press(page, 'Undo the import of again.csv');
    await expectNotice(page, 'The import is being undone.');
    await refreshed();
    assert.equal(await page.getByRole('link', { name: 'See your' }).count(), 0);
    await page.goto('/settings/imports');
    await page.getByRole('link', { name: 'friends.csv' }).waitFor();
  } finally {
    await context.close();
  }
});
