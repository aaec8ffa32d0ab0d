// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestReview
// A member reviews and undoes what an agent did, and uses the bin, groups and tags.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chooseIn, expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { portray } from '../harness/portrait.mjs';
import { callWith } from '../harness/raw.mjs';
import { keep } from '../harness/secrets.mjs';

let browser;
let ada;
let bearer;

/** Calls a tool as the agent. */
async function tool(name, args) {
  const { message: { result } } = await callWith(bearer, name, args);
  return result;
}

before(async () => {
  browser = await openBrowser();
  ada = await newPerson(browser);
  const { page } = ada;
  await page.goto('/settings/mcp/tokens');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  const form = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Make a token' }) });
  await form.getByLabel('Name', { exact: true }).fill('address book');
  await form.getByLabel('Add, change and delete things').check();
  await press(form, 'Make the token');
  bearer = keep('personal token', (await page.locator('#made-token').innerText()).trim());
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
  }
});

test('what an agent did is shown, and several changes are undone at once', async () => {
  const { page } = ada;
  const { connection: { id } } = (await tool('create_connection', { name: 'Grace <b>Hopper</b>' })).structuredContent;
  await tool('update_connection', { id, title: 'Admiral', tags: ['navy'] });
  await tool('add_note', { connection_ids: [id], body: 'Brought a nanosecond.\nShe hands them out.' });
  await tool('search_connections', { query: 'Grace' });

  await page.goto('/activity');
  await expectHeading(page, 'Activity');
  for (const summary of await page.locator('.session summary').all()) await summary.click();
  const session = page.locator('.session').first();
  for (const text of ['address book', 'Brought a nanosecond.', 'Admiral', 'Added a note about Grace <b>Hopper</b>']) {
    assert.ok((await session.innerText()).includes(text), `${text} is missing in ${await session.innerText()}`);
  }
  await page.getByText('What agents read in the last seven days').click();
  assert.match(await page.getByRole('main').innerText(), /address book: .*Search my connections 1/);
  await portray(page, 'review', { everyView: true });

  for (const what of ['Added a note', 'Changed Grace']) await page.getByRole('checkbox', { name: new RegExp(`Select “${what}`) }).check();
  await press(page, 'Undo selected');
  await expectHeading(page, 'Undo these changes?');
  await portray(page, 'review-several', { everyView: true });
  await press(page, 'Undo these 2 changes');
  await expectNotice(page, 'The changes are undone.');

  await page.getByRole('button', { name: /^Undo “Added Grace/ }).click();
  await expectNotice(page, 'The change is undone.');
  assert.equal((await tool('get_connection', { id })).isError, true);
  await chooseIn(page, 'More about', 'What agents read');
  await expectHeading(page, 'What agents read');
  await portray(page, 'reads', { everyView: true });
});

test('a deleted person comes back from the bin', async () => {
  const { page } = ada;
  await page.goto('/settings/bin'); // the former address
  assert.ok(page.url().endsWith('/people/bin'));
  await expectHeading(page, 'Bin');
  await page.getByRole('button', { name: /^Restore/ }).first().waitFor();
  await portray(page, 'bin-review', { everyView: true });
  await page.getByRole('button', { name: /^Restore/ }).first().click();
  await expectNotice(page, 'The person is restored');
});

test('groups and tags are made, renamed, merged and deleted', async () => {
  const { page } = ada;
  const { connection: { id } } = (await tool('create_connection', { name: 'Ada Stone', tags: ['angel'] })).structuredContent;
  await page.goto('/groups');
  await expectHeading(page, 'Groups and tags');
  for (const name of ['Book club', 'Readers']) {
    if (!await page.locator('details.fold[open]').count()) await page.getByRole('heading', { name: 'Make a group' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await press(page, 'Make the group');
    await expectNotice(page, 'The group is made.');
  }
  await tool('update_membership', { connection_ids: [id], add_groups: ['Readers'] });
  await page.goto('/groups');
  await portray(page, 'groups', { everyView: true });
  await page.getByRole('link', { name: 'Change the group Readers' }).click();
  await portray(page, 'group', { everyView: true });
  await page.getByLabel('Merge into').fill('Book club');
  await press(page, 'Merge');
  await expectNotice(page, 'The two groups are one now.');
  assert.match(await page.getByRole('main').innerText(), /Book club\s+1 person/);
  await page.getByRole('button', { name: 'Undo what was just done' }).click();
  await expectNotice(page, 'The change is undone.');
  assert.match(await page.getByRole('main').innerText(), /Readers\s+1 person/);
  await page.getByRole('link', { name: 'Change the tag angel' }).click();
  await portray(page, 'tag', { everyView: true });
  await page.getByLabel('New name').fill('investor');
  await press(page, 'Rename');
  await expectNotice(page, 'The tag is renamed');
  await page.getByRole('link', { name: 'investor', exact: true }).click();
  await page.getByRole('link', { name: 'Ada Stone' }).waitFor();
});
