// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestClicks
// Counts the clicks of what a member does every day, from Today or from a person's page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { callWith } from '../harness/raw.mjs';

const DAY = 86_400_000;
let browser;
const people = new Map(); // the member's window of each width

async function tool(name, args) {
  const { message: { result } } = await callWith(setting('BEARER'), name, args);
  assert.ok(result && !result.isError, JSON.stringify(result));
  return result.structuredContent;
}
const add = async (args) => (await tool('create_connection', { on_duplicate: 'create', ...args })).connection.id;

before(async () => {
  browser = await openBrowser();
  for (const width of [1280, 390]) {
    const person = await newPerson(browser, { viewport: { width, height: 800 } });
    people.set(width, person);
    await person.page.goto('/people');
    await signIn(person.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
    await expectHeading(person.page, 'People');
  }
});

after(async () => {
  try {
    for (const person of people.values()) await person.leave();
  } finally {
    await browser?.close();
  }
});

/** Runs a journey on each width, with a function that clicks and counts. */
function journey(name, most, act) {
  for (const width of [1280, 390]) {
    test(`${name}: at most ${most} clicks at ${width}`, async () => {
      const { page } = people.get(width);
      let clicks = 0;
      await act({ page, width, click: async (element) => { clicks++; await element.click(); } });
      assert.ok(clicks > 0 && clicks <= most, `${clicks} clicks`);
    });
  }
}

journey('coffee with two people yesterday', 3, async ({ page, width, click }) => {
  const names = [`Heike W${width}`, `Kofi W${width}`];
  for (const name of names) await add({ name });
  await page.goto('/');
  await click(page.locator('.menu.add > summary'));
  await click(page.getByRole('link', { name: 'Log, note or remind' }));
  await page.getByLabel('One line').fill(`coffee with ${names[0]} and ${names[1]} yesterday`);
  await expectHeading(page, 'Log a contact');
  await click(page.getByRole('button', { name: 'Log it' }));
  await expectNotice(page, `${names[0]} and ${names[1]}`);
});

journey('a reminder in three weeks', 2, async ({ page, width, click }) => {
  await page.goto(`/people/${await add({ name: `Ana W${width}` })}`);
  await click(page.locator('#bar-remind > summary'));
  await page.getByLabel('What to do').fill('Call her about the boat');
  await click(page.getByRole('button', { name: 'In 3 weeks', exact: true }));
  await expectNotice(page, 'The reminder is set.');
  await page.locator('#due + .rows').getByText('in 3 weeks').waitFor();
});

journey('silent for six months', 2, async ({ page, width, click }) => {
  const name = `Silent W${width}`;
  const id = await add({ name });
  await add({ name: `Never met W${width}` });
  await tool('log_interaction', { connection_ids: [id], kind: 'call', occurred_at: new Date(Date.now() - 300 * DAY).toISOString() });
  await page.goto('/');
  await click(page.locator('.areas').getByRole('link', { name: 'People' }));
  await click(page.getByRole('link', { name: 'Not in touch for 6 months' }));
  await page.getByRole('link', { name }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Never met' }).count(), 0, 'somebody who was never contacted is listed');
});

journey('another number', 3, async ({ page, width, click }) => {
  await page.goto(`/people/${await add({ name: `Number W${width}`, phones: ['+351 21 000 0000'] })}`);
  await click(page.getByRole('link', { name: 'Edit Phone and e-mail' }));
  await page.getByLabel('Phone numbers').fill('+351 21 999 9999');
  await click(page.getByRole('button', { name: 'Save', exact: true }));
  await page.getByText('+351 21 999 9999').first().waitFor();
});

journey('a merge', 3, async ({ page, width, click }) => {
  const [email, phone] = [`w${width}@merge.example`, '+44 20 7946 0000'];
  const kept = await add({ name: `Merge W${width}`, emails: [email], location: 'Lagos' });
  await add({ name: `Merge W${width}`, emails: [email], phones: [phone], location: 'Porto' });
  await page.goto(`/people/${kept}`);
  await click(page.locator('details.menu > summary[aria-label^="More about"]'));
  await click(page.getByRole('link', { name: 'Merge with …', exact: true }));
  await click(page.getByRole('button', { name: 'Merge', exact: true }));
  await expectNotice(page, 'The two are merged.');
  const shown = await page.getByRole('main').innerText();
  for (const value of [email, 'Lagos', 'Porto']) assert.ok(shown.includes(value), `${value} is gone: ${shown}`);
  assert.match(shown.replaceAll(/\s/g, ''), /442079460000/, 'the number is gone');
});

journey('what the agent did, and one thing of it undone', 2, async ({ page, width, click }) => {
  const name = `Undone W${width}`;
  await add({ name });
  await page.goto('/');
  await click(page.locator('.areas').getByRole('link', { name: 'Activity' }));
  await click(page.getByRole('button', { name: `Undo “Added ${name}”` }));
  await expectNotice(page, 'The change is undone.');
});
