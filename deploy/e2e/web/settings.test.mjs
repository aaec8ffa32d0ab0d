// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestSettings
// A member fills in the profile beside its preview, adds a device, and changes the e-mail address.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { openMailbox } from '../harness/mailbox.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const base = setting('BASE_URL');
const username = setting('MEMBER_USERNAME');
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

let browser;
let mailbox;
let maria;

before(async () => {
  [browser, mailbox] = await Promise.all([openBrowser(), openMailbox()]);
  maria = await newPerson(browser);
  await maria.page.goto('/settings/profile');
  await signIn(maria.page, username, setting('MEMBER_PASSWORD'));
  await expectHeading(maria.page, 'Your profile');
});

after(async () => {
  try {
    await maria?.leave();
  } finally {
    await browser?.close();
    await mailbox?.close();
  }
});

const box = (page, title) => page.getByRole('region', { name: title, exact: true });
const input = (page, label) => page.getByRole('textbox', { name: new RegExp(`^${label}( \\(optional\\))?$`) });
const preview = (page) => page.locator('#preview-shown');
const places = (page) => page.evaluate(() => ['preview', 'profile'].map((id) => document.getElementById(id).getBoundingClientRect().toJSON()));

test('the preview beside the form follows what is typed', async () => {
  const { page } = maria;
  await page.setViewportSize(DESKTOP);
  await portray(page, 'profile-form', { everyView: true });
  assert.match(await preview(page).innerText(), /^Nothing: the page is not for everyone/);
  const [shown, form] = await places(page);
  assert.ok(shown.left >= form.right && Math.abs(shown.top - form.top) < 2, 'the preview is not beside the form');

  await page.getByLabel('Who sees your page').selectOption('Everyone');
  await input(page, 'Headline').fill('Maps the deep sea');
  await page.getByLabel('Who sees headline').selectOption('Everyone');
  await preview(page).getByText('Maps the deep sea').waitFor();
  await box(page, 'What everyone sees, once it is saved').waitFor();
  await input(page, 'Country').fill('Spain');
  await preview(page).getByText('Without the fields that have an error.').waitFor();
  await preview(page).getByText('Maps the deep sea').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0, 'the form shows errors while the member types');
  await portray(page, 'profile-typed');
  assert.equal((await fetch(`${base}/api/human/${username}`)).status, 404, 'the preview is published');

  await page.getByLabel('Address of link 1').fill('http://a.example');
  await press(page, 'Save');
  await page.getByRole('alert').getByRole('link').first().click();
  await page.locator('[name=country]:focus').waitFor();
  assert.equal(await input(page, 'Country').inputValue(), 'Spain');
  assert.deepEqual(await page.locator('[name=link_url]').evaluateAll((all) => all.map((field) => field.ariaInvalid)), ['true', null, null]);
  await portray(page, 'profile-wrong', { everyView: true });
  await page.getByLabel('Address of link 1').fill('https://a.example');
  await input(page, 'Country').fill('ES');
  await press(page, 'Save');
  await expectNotice(page, 'Your profile is saved.');
  await box(page, 'What everyone sees').getByText('Maps the deep sea').waitFor();
});

test('on a phone the preview is folded, above the form', async () => {
  const { page } = maria;
  await page.setViewportSize(PHONE);
  await page.goto('/settings/profile');
  const [shown, form] = await places(page);
  assert.ok(shown.bottom <= form.top, 'the preview is not above the form');
  assert.equal(await preview(page).isVisible(), false);
  await page.getByText('Preview', { exact: true }).first().press('Enter');
  await preview(page).getByText('Maps the deep sea').waitFor();
  await portray(page, 'profile-unfolded');
});

test('the profile is previewed without a script', async () => {
  const context = await browser.newContext({ baseURL: base, javaScriptEnabled: false, viewport: PHONE, storageState: await maria.context.storageState() });
  try {
    const page = await context.newPage();
    await page.goto('/settings/profile');
    await input(page, 'Job title').fill('Cartographer');
    await page.getByLabel('Who sees job title').selectOption('Everyone');
    await press(page, 'Preview');
    await box(page, 'What everyone sees, once it is saved').getByText('Cartographer').waitFor();
    assert.equal(await input(page, 'Job title').inputValue(), 'Cartographer');
    const published = await (await fetch(`${base}/api/human/${username}`)).json();
    assert.equal(published.title, undefined, 'the preview is published');
    await press(page, 'Save');
    await expectNotice(page, 'Your profile is saved.');
  } finally {
    await context.close();
  }
});

test('a Mac is added with a profile, whose password signs it in', async () => {
  const { page } = maria;
  await page.setViewportSize(DESKTOP);
  await page.goto('/settings/devices');
  const form = box(page, 'Add a device');
  await input(form, 'Name').fill('Tom & <Jerry>');
  await form.getByLabel('With a profile, on an iPhone, iPad or Mac').check();
  await portray(page, 'device-profile', { everyView: true });
  const [download] = await Promise.all([page.waitForEvent('download'), press(form, 'Add the device')]);
  assert.equal(download.suggestedFilename(), 'kith.mobileconfig');
  const profile = await readFile(await download.path(), 'utf8');
  const value = (key) => new RegExp(`<key>${key}</key>\\s*<(?:string|integer)>([^<]*)<`).exec(profile)?.[1];
  const password = keep('app password', value('CardDAVPassword'));
  assert.equal(value('PayloadDisplayName'), 'Kith: Tom &amp; &lt;Jerry&gt;');
  const { hostname, port } = new URL(base);
  assert.deepEqual([value('CardDAVHostName'), value('CardDAVPort'), value('CardDAVUsername')], [hostname, port, username]);
  const propfind = (given) => fetch(new URL(value('CardDAVPrincipalURL'), base), {
    method: 'PROPFIND', headers: { Depth: '0', Authorization: `Basic ${Buffer.from(`${username}:${given}`).toString('base64')}` },
  });
  const answer = await propfind(password);
  assert.equal(answer.status, 207, await answer.text());
  assert.equal((await propfind(setting('MEMBER_PASSWORD'))).status, 401);
  await mailbox.next(`${username}@member.example`, 'A new device for your Kith account');
  await page.reload();
  await box(page, 'Your devices').getByText('Tom & <Jerry>', { exact: true }).first().waitFor();
});

test('a phone is added by its own program, which the member allows in a browser', async () => {
  const { page } = maria;
  const post = (address, body) => fetch(address, { method: 'POST', body, headers: { 'User-Agent': 'DAVx5/4.5-ose (okhttp 5) Android/15' } });
  const { poll, login } = await (await post(`${base}/index.php/login/v2`)).json();
  const fetched = () => post(poll.endpoint, new URLSearchParams({ token: poll.token }));
  keep('token of a phone', poll.token);
  assert.equal((await fetched()).status, 404);
  await page.setViewportSize(PHONE);
  await page.goto(login);
  await expectHeading(page, 'Allow a device to synchronise your people?');
  await page.getByText('DAVx5/4.5-ose (okhttp 5) Android/15', { exact: true }).waitFor();
  await page.getByText('from the same network as this browser').waitFor();
  await portray(page, 'device-login', { everyView: true });
  const form = box(page, 'Add it as a device');
  assert.equal(await input(form, 'Name').inputValue(), 'DAVx5');
  await input(form, 'Name').fill('Fairphone');
  await form.getByLabel('It only reads, and changes nothing').check();
  await press(form, 'Allow the device');
  await expectNotice(page, 'The device is added. Go back to the program: it continues by itself.');
  await mailbox.next(`${username}@member.example`, 'A new device for your Kith account');
  const { server, loginName, appPassword } = await (await fetched()).json();
  keep('app password', appPassword);
  assert.deepEqual([server, loginName], [base, username]);
  assert.equal((await fetched()).status, 404, 'the app password comes twice');
  const propfind = (address) => fetch(address, {
    method: 'PROPFIND', redirect: 'manual', headers: { Depth: '0', Authorization: `Basic ${Buffer.from(`${loginName}:${appPassword}`).toString('base64')}` },
  });
  const moved = await propfind(`${server}/remote.php/dav`);
  assert.deepEqual([moved.status, moved.headers.get('Location')], [308, `${base}/dav/`]);
  assert.equal((await propfind(moved.headers.get('Location'))).status, 207);
  await page.setViewportSize(DESKTOP);

  const refused = await (await post(`${base}/index.php/login/v2`)).json();
  keep('token of a phone', refused.poll.token);
  await page.goto(refused.login);
  await press(page, 'Refuse');
  await expectNotice(page, 'The device is refused. It gets nothing.');
  assert.equal((await post(refused.poll.endpoint, new URLSearchParams({ token: refused.poll.token }))).status, 404);
});

test('the address changes by a link to the new one, in the browser of the member', async () => {
  const { page } = maria;
  const [before, now] = [`${username}@member.example`, `new-${username}@member.example`];
  await page.setViewportSize(DESKTOP);
  await page.goto('/settings/security');
  const form = box(page, 'Change your e-mail address');
  await form.getByLabel('New e-mail address').fill(before);
  await form.getByLabel('Your password').fill('not the password');
  await press(form, 'Send the link');
  await page.getByRole('alert').getByText('This is your address already.').waitFor();
  assert.equal(await form.getByLabel('New e-mail address').inputValue(), before);
  await portray(page, 'email-wrong', { everyView: true });
  await form.getByLabel('New e-mail address').fill(now);
  await form.getByLabel('Your password').fill(setting('MEMBER_PASSWORD'));
  await press(form, 'Send the link');
  await expectNotice(page, 'We have sent a link to the new address.');
  await mailbox.next(before, 'A new e-mail address for your Kith account');
  const { link } = await mailbox.next(now);
  assert.ok(link?.startsWith(`${base}/settings/security/email/confirm?`), link);

  const stranger = await newPerson(browser);
  await stranger.page.goto(link);
  await expectHeading(stranger.page, 'Sign in first');
  await portray(stranger.page, 'email-sign-in-first');
  await stranger.leave();

  await page.goto(link);
  await expectHeading(page, 'Confirm your new e-mail address');
  await portray(page, 'email-confirm', { everyView: true });
  await press(page, 'Use the new address');
  await expectNotice(page, 'Your e-mail address is changed');
  const card = await box(page, 'E-mail address').innerText();
  assert.ok(card.includes(now) && !card.includes('not confirmed'), card);
  await portray(page, 'email-changed');
  const told = await mailbox.next(before, 'Your Kith e-mail address was changed');
  await page.goto(link);
  await expectHeading(page, 'This link has expired');

  const reader = await newPerson(browser); // of the old mailbox
  await reader.page.goto(told.link);
  await expectHeading(reader.page, 'Was this not you?');
  await portray(reader.page, 'not-me', { everyView: true });
  await press(reader.page, 'End all access');
  await expectHeading(reader.page, 'Get your account back');
  await portray(reader.page, 'not-me-waiting', { everyView: true });
  await reader.leave();
  await mailbox.next(before, 'How your Kith account gets this e-mail address back');
  await page.goto((await mailbox.next(now, 'Your Kith account is to get its previous e-mail address back')).link);
  await expectHeading(page, 'Was the change of address yours?');
  await portray(page, 'objection', { everyView: true });
  await press(page, 'Object');
  await expectHeading(page, 'The owner of this server decides');
  await portray(page, 'disputed');
  await mailbox.next(before, 'Your Kith account waits for a decision');
  assert.deepEqual(mailbox.emails.filter(({ text }) => !text.includes('This was not me')).map(({ to, subject }) => [to, subject]), [], 'unexpected emails');
});
