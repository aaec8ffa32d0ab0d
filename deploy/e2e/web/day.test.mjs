// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDay
// One day of a member: find, open, edit, note, log, remind, merge, undo, restore. The same steps
// run with the mouse, with the keyboard only, and without JavaScript.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { expectFocus, goTo } from '../harness/keyboard.mjs';
import { callWith } from '../harness/raw.mjs';

const MOST_STOPS = 20; // the most key presses to reach an element

// The actions for each way. The steps name the shortcuts and list keys that the keyboard uses.
const mouse = {
  press: (page, element) => element.click(),
  fill: async (page, field, text) => {
    await field.click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type(text);
  },
  choose: (page, list, option) => list.selectOption(option),
};
const keyboard = {
  async press(page, element, { shortcut, inList }) {
    const shown = await page.evaluate(() => performance.timeOrigin);
    if (!shortcut) await goTo(page, element, { key: inList ? 'j' : 'Tab', most: MOST_STOPS });
    await page.keyboard.press(shortcut ?? 'Enter');
    return async () => {
      if (await page.evaluate(() => performance.timeOrigin) === shown) await expectFocus(page); // else it is a new page
    };
  },
  async fill(page, field, text, { shortcut } = {}) {
    if (shortcut) await page.keyboard.press(shortcut);
    else if (!await field.evaluate((wanted) => wanted === document.activeElement)) await goTo(page, field, { most: MOST_STOPS });
    await expectFocus(page);
    assert.ok(await field.evaluate((wanted) => wanted === document.activeElement), `${shortcut} leads elsewhere`);
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type(text);
  },
  async choose(page, list, option) {
    if (!await list.evaluate((wanted) => wanted === document.activeElement)) await goTo(page, list, { most: MOST_STOPS });
    await page.keyboard.type(option);
    assert.equal(await list.evaluate((all) => all.selectedOptions[0].label), option);
  },
};

const WAYS = [
  { name: 'Mouse', acts: mouse, width: 1280 },
  { name: 'Finger', acts: mouse, width: 390 },
  { name: 'Keys', acts: keyboard, width: 1280 },
  { name: 'Plain', acts: mouse, width: 390, plain: true },
];

let browser;
before(async () => { browser = await openBrowser(); });
after(() => browser?.close());

async function tool(name, args) {
  const { message } = await callWith(setting('BEARER'), name, args);
  assert.ok(message.result && !message.result.isError, JSON.stringify(message));
  return message.result.structuredContent;
}

for (const { name, acts, width, plain } of WAYS) {
  const [ada, ben] = [`Ada ${name}`, `Ben ${name}`];

  test(`a day, as ${name}`, async (t) => {
    const create = async (args) => (await tool('create_connection', args)).connection.id;
    const [adaID, benID] = [await create({ name: ada, title: 'CTO', organization: 'Helios', location: 'Lisbon' }), await create({ name: ben, emails: [`ben@${name.toLowerCase()}.example`] })];
    const person = await newPerson(browser, { javaScriptEnabled: !plain, viewport: { width, height: 800 } });
    const { page } = person;
    const main = page.getByRole('main');
    const heading = (text) => main.getByRole('heading', { name: text, exact: true });
    const notice = (text) => page.getByRole('status').filter({ hasText: text });
    const link = (text) => main.getByRole('link', { name: text, exact: true });
    const button = (text) => main.getByRole('button', { name: text });
    const more = (about) => main.locator(`summary[aria-label="More about ${about}"]`);
    const field = (text) => main.getByLabel(text, { exact: true });

    /** Acts on the element and waits until the person sees the other one. */
    async function press(element, seen, hints = {}) {
      const check = await acts.press(page, element, hints);
      await seen.waitFor();
      await page.waitForLoadState('domcontentloaded'); // what is below it may still come
      await check?.();
    }
    const search = async (box, words, found) => {
      await acts.fill(page, box, words, { shortcut: '/' });
      await page.keyboard.press('Enter');
      await found.waitFor();
    };

    await page.goto('/sign-in');
    await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
    await expectHeading(page, 'Today');
    const everyone = page.getByRole('banner').getByRole('searchbox', { name: 'Search people' });

    await t.test('find and open', async () => {
      await search(everyone, ada, link(ada));
      await press(link(ada), heading(ada), { inList: true });
    });

    await t.test('edit', async () => {
      const facts = main.getByRole('region', { name: 'Name and how you met', exact: true });
      await press(facts.getByRole('link', { name: 'Edit' }), field('Place (optional)'), { shortcut: 'e' });
      await acts.fill(page, field('Place (optional)'), 'Porto');
      await press(facts.getByRole('button', { name: 'Save' }), notice('Your changes are saved.'));
      assert.match(await facts.innerText(), /Porto/);
    });

    await t.test('note', async () => {
      const bar = page.locator('#bar-note');
      await press(bar.locator('summary'), bar.getByLabel('Note', { exact: true }), { shortcut: 'n' });
      await acts.fill(page, bar.getByLabel('Note', { exact: true }), 'Rows at dawn');
      await press(button('Add the note'), notice('The note is added.'));
      assert.match(await page.getByRole('region', { name: 'Timeline' }).innerText(), /Rows at dawn/);
    });

    await t.test('log', async () => {
      const bar = page.locator('#bar-log');
      await press(bar.locator('summary'), bar.getByLabel('What it was', { exact: true }), { shortcut: 'l' });
      await acts.choose(page, bar.getByLabel('What it was', { exact: true }), 'Call');
      await acts.fill(page, bar.getByLabel('What it was about'), 'The new boat');
      await press(button('Log it'), notice('Logged: call with '));
      assert.match(await page.getByRole('region', { name: 'Timeline' }).innerText(), /The new boat/);
    });

    await t.test('remind', async () => {
      const bar = page.locator('#bar-remind');
      await press(bar.locator('summary'), bar.getByLabel('What to do'), { shortcut: 'r' });
      await acts.fill(page, bar.getByLabel('What to do'), 'Send the oars');
      await press(button('Set the reminder'), notice('The reminder is set.'));
      assert.match(await page.getByRole('region', { name: 'Coming up' }).innerText(), /Send the oars/);
    });

    await t.test('merge', async () => {
      await press(more(ada), link('Merge with …'));
      await press(link('Merge with …'), heading(`Merge ${ada} with another record`));
      await search(main.getByRole('searchbox'), ben, link(ben));
      await press(link(ben), heading(`Merge ${ada} and ${ben}`), { inList: true });
      await press(button('Merge'), notice('The two are merged.'));
      assert.match(await main.innerText(), new RegExp(`ben@${name.toLowerCase()}\\.example`));
      assert.equal((await tool('get_connection', { ids: [benID] })).missing[0].merged_into, adaID);
    });

    await t.test('undo', async () => {
      await press(button(/^Undo/), notice('The change is undone.'), { shortcut: 'z' });
      assert.doesNotMatch(await main.innerText(), new RegExp(`ben@${name.toLowerCase()}\\.example`));
    });

    await t.test('restore from the bin', async () => {
      await press(more(ada), button('Move to the bin'));
      await press(button('Move to the bin'), notice('The person is in the bin'));
      assert.equal(await link(ada).count(), 0);
      await press(more('people'), link('Bin'));
      await press(link('Bin'), heading('Bin'));
      await press(button(new RegExp(`^Restore.*${ada}`)), notice('The person is restored'));
      await search(everyone, ada, link(ada));
    });

    await t.test('the agent finds all of it', async () => {
      const { connections: [hers, his], ...lists } = await tool('get_connection', { ids: [adaID, benID], include: ['notes', 'interactions'] });
      assert.deepEqual([hers.name, hers.location, his.name], [ada, 'Porto', ben]);
      assert.deepEqual(lists.notes.map((note) => note.body), ['Rows at dawn']);
      assert.deepEqual(lists.interactions.map(({ kind, summary }) => [kind, summary]), [['call', 'The new boat']]);
      const { items } = await tool('list_due', { connection_id: adaID, days: 30 });
      assert.deepEqual(items.map(({ kind, text }) => [kind, text]), [['reminder', 'Send the oars']]);
    });
    await person.leave();
  });
}
