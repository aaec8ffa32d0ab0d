// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestPages
// A member uses every page in a browser, from sign-up to deletion.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { unzip } from '../harness/archive.mjs';
import { AREAS, answerConsent, expectHeading, expectNotice, newPerson, openBrowser, press, signIn, signOut } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { setting } from '../harness/client.mjs';
import { register } from '../harness/openid.mjs';
import { links, portray } from '../harness/portrait.mjs';
import { callWith, until } from '../harness/raw.mjs';
import { keep } from '../harness/secrets.mjs';

const base = setting('BASE_URL');
const username = `page-${Date.now().toString(36)}`;
const PASSWORDS = ['first', 'second'].map((n) => keep('password', `${n} ${crypto.randomUUID()}`));

// Ada uses two browsers: her own and another one.
let browser;
let callback;
let ada;
let elsewhere;
let script; // a personal token that survives a new password, but not the account

before(async () => {
  [browser, callback] = await Promise.all([openBrowser(), listenForCallback()]);
  [ada, elsewhere] = await Promise.all([newPerson(browser), newPerson(browser)]);
});

after(async () => {
  try {
    await Promise.all([ada?.leave(), elsewhere?.leave()]);
  } finally {
    await browser?.close();
    callback?.close();
  }
});

const input = (page, label) => page.getByRole('textbox', { name: new RegExp(`^${label}( \\(optional\\))?$`) });
const box = (page, title) => page.getByRole('region', { name: title, exact: true });
const row = (page, title, name) => box(page, title).getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function publicProfile() {
  const response = await fetch(`${base}/api/human/${username}`);
  return response.ok ? response.json() : response.status;
}

test('sign-up creates a private profile', async () => {
  const { page } = ada;
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Create an account' }).click();
  await expectHeading(page, 'Create your account');
  await portray(page, 'sign-up');

  await page.getByLabel('Username').fill('Ada!');
  await page.getByLabel('E-mail address').fill(`${username}@member.example`);
  await page.getByLabel('Password', { exact: true }).fill('password12');
  await page.getByLabel('The same password again').fill('password13');
  await press(page, 'Create account');
  await page.getByRole('alert').waitFor();
  assert.match(await page.title(), /^Error: /);
  for (const field of ['Username', 'Password']) {
    const wrong = page.getByLabel(field, { exact: true });
    assert.equal(await wrong.getAttribute('aria-invalid'), 'true', field);
    assert.match(await wrong.getAttribute('aria-describedby'), /-error/, field);
  }
  await portray(page, 'sign-up-wrong');

  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS[0]);
  await page.getByLabel('The same password again').fill(PASSWORDS[0]);
  await press(page, 'Create account');
  await expectNotice(page, 'Welcome to Kith.');
  await expectHeading(page, 'Your profile');
  await portray(page, 'welcome');
  assert.equal(await publicProfile(), 404);
});

test('each profile field has its own visibility', async () => {
  const { page } = ada;
  await input(page, 'Name').fill('Ada Lovelace');
  await input(page, 'Headline').fill('Enchantress of numbers');
  await input(page, 'About you').fill('I write programs for engines that are not built yet.\n\nThey will be.');
  await input(page, 'Place').fill('London');
  await input(page, 'Country').fill('GB');
  await input(page, 'Organisation').fill('Analytical Engines');
  await input(page, 'Skills').fill('Mathematics\nPoetical science\n<script>alert(1)</script>');
  await page.getByLabel('Name of link 1').fill('Notes');
  await page.getByLabel('Address of link 1').fill('https://example.com/notes');
  for (const [what, who] of [['your page', 'Everyone'], ['headline', 'Everyone'], ['place', 'Everyone'], ['skills', 'Everyone'], ['links', 'Everyone'], ['about you', 'Members']]) {
    await page.getByLabel(`Who sees ${what}`, { exact: true }).selectOption(who);
  }
  await page.getByLabel('List me in the member directory').check();

  await press(page, 'Preview');
  const preview = box(page, 'What everyone sees, once it is saved');
  const shown = await preview.innerText();
  for (const text of ['Ada Lovelace', 'Enchantress of numbers', 'London, GB', 'Poetical science', '<script>alert(1)</script>', 'Notes']) assert.ok(shown.includes(text), `${text} is missing in ${shown}`);
  for (const text of ['engines that are not built', 'Analytical Engines']) assert.ok(!shown.includes(text), `${text} is shown: ${shown}`);
  assert.equal(await publicProfile(), 404, 'a preview is published');
  await portray(page, 'profile-preview', { everyView: true });

  await press(page, 'Save');
  await expectNotice(page, 'Your profile is saved.');
  await until('the profile is public', async () => (await publicProfile()).name === 'Ada Lovelace');
  const published = await publicProfile();
  assert.equal(published.headline, 'Enchantress of numbers');
  assert.deepEqual(published.location, { text: 'London', country: 'GB' });
  assert.deepEqual(published.links, [{ label: 'Notes', url: 'https://example.com/notes' }]);
  assert.equal(published.bio, undefined, 'a field for members is public');
  assert.equal(published.organization, undefined, 'a private field is public');
  assert.ok(!JSON.stringify(published).includes('@member.example'), 'the e-mail address is public');
  const listed = await (await fetch(`${base}/api/network/members?q=${username}`)).json();
  assert.deepEqual(listed.data.map((member) => member.username), [username]);

  await page.getByLabel('Who sees organisation').selectOption('Everyone');
  await page.getByLabel('Who sees headline').selectOption('Only me');
  await press(page, 'Save');
  await expectNotice(page, 'Your profile is saved.');
  await until('the organisation is public', async () => (await publicProfile()).organization === 'Analytical Engines');
  assert.equal((await publicProfile()).headline, undefined);

  await input(page, 'Country').fill('Britain');
  await press(page, 'Save');
  await page.getByRole('alert').getByRole('link').click();
  await page.locator('[name=country]:focus').waitFor();
});

test('a personal token is shown once and works until it is revoked', async () => {
  const { page } = ada;
  await page.goto('/settings/mcp');
  await portray(page, 'agents-none');
  await page.getByRole('link', { name: 'Personal tokens, for scripts that cannot sign in' }).click();
  await portray(page, 'tokens-none');
  const form = box(page, 'Make a token');
  await form.getByLabel('Name', { exact: true }).fill('backup script');
  await press(form, 'Make the token');
  await expectNotice(page, 'is not shown again');
  const bearer = keep('personal token', (await page.locator('#made-token').innerText()).trim());
  assert.match(bearer, /^kith_pat_/);
  // The screenshot shows an invalid token of the same length.
  await page.locator('#made-token').evaluate((element) => { element.textContent = element.textContent.replace(/[A-Za-z0-9]{8}$/, 'EXAMPLE0'); });
  await portray(page, 'token-made');
  await page.reload();
  assert.equal(await page.locator('#made-token').count(), 0, 'the token is shown again, or another is made');
  assert.equal(await box(page, 'Your tokens').getByRole('listitem').count(), 1);

  const account = (await callWith(bearer)).message.result.structuredContent;
  assert.equal(account.member.username, username);
  assert.equal(account.credential.kind, 'token');
  assert.ok(!account.credential.scopes.includes('write'), 'the form has the write box ticked by default');
  const { message: refused } = await callWith(bearer, 'create_connection', { name: 'Nobody' });
  assert.deepEqual(refused.error.data.required_scopes, ['connections', 'write']);

  await page.goto('/settings/mcp/tokens');
  assert.ok(!(await page.content()).includes(bearer), 'the token is shown a second time');
  assert.match(await row(page, 'Your tokens', 'backup script').innerText(), /reads only/);
  await row(page, 'Your tokens', 'backup script').locator('summary').click();
  await press(page, 'Revoke the token backup script');
  await expectNotice(page, 'The token is revoked.');
  assert.equal((await callWith(bearer)).status, 401);
});

test('a connected agent is listed with its scopes, and can be revoked', async () => {
  const { page } = ada;
  const client = await register('Ångström’s assistant for quite a long list of things that people want done', callback);
  const { url, checks } = await client.ask();
  await page.goto(url.href);
  await expectHeading(page, 'Allow access to your account?');
  await portray(page, 'consent', { everyView: true });
  await answerConsent(page, 'Allow', { untick: ['timeline'] });
  const tokens = await client.redeem((await callback.next()).url, checks);
  const { message: made } = await callWith(tokens.access_token, 'create_connection', { name: 'Mary Somerville' });
  assert.equal(made.result.isError ?? false, false);

  await page.goto('/settings/mcp/tokens');
  const form = box(page, 'Make a token');
  await form.getByLabel('Name', { exact: true }).fill('address book');
  await form.getByLabel('Add, change and delete things').check();
  await press(form, 'Make the token');
  script = keep('personal token', (await page.locator('#made-token').innerText()).trim());
  await page.goto('/settings/mcp');
  await portray(page, 'agents', { everyView: true });
  const listed = row(page, 'Connected agents', client.config.clientMetadata().client_name);
  assert.match(await listed.innerText(), /Can change \d areas · (not used yet|used)/);
  await listed.locator('summary').first().click();
  await portray(page, 'agents-open', { everyView: true });
  const agent = await listed.innerText();
  for (const text of ['Your people', 'Account', 'reads, changes and deletes']) assert.ok(agent.includes(text), `${text} is missing in ${agent}`);
  assert.ok(!agent.includes('Notes and contacts'), 'an unticked scope is listed');
  assert.match(await box(page, 'What agents did lately').innerText(), /Mary Somerville[^]*Ångström/);

  await row(page, 'Connected agents', client.config.clientMetadata().client_name).locator('summary').filter({ hasText: 'Revoke' }).click();
  await press(page, `Revoke the access of ${client.config.clientMetadata().client_name}`);
  await expectNotice(page, 'The agent is disconnected.');
  assert.equal((await callWith(tokens.access_token)).status, 401);
  await assert.rejects(client.refresh(tokens), (error) => error.error === 'invalid_grant');
  assert.match(await box(page, 'Connected agents').innerText(), /No agent has access/);
});

test('every change is listed and can be undone in order', async () => {
  const { page } = ada;
  const tool = async (name, args) => (await callWith(script, name, args)).message.result;
  const people = Array.from({ length: 48 }, (_, i) => `Person ${i}`);
  for (const name of people) await tool('create_connection', { name }); // more than one page takes
  const { connection: { id } } = (await tool('create_connection', { name: 'Grace <b>Hopper</b>' })).structuredContent;
  await tool('update_connection', { id, title: 'Admiral' });

  await page.goto('/settings/mcp');
  await page.getByRole('link', { name: 'See every change, and undo it' }).click();
  await expectHeading(page, 'Activity');
  await portray(page, 'activity', { everyView: true });
  assert.equal(await page.getByRole('link', { name: 'Activity', exact: true }).getAttribute('aria-current'), 'page');
  const rows = page.locator('.session .rows > li');
  const latest = await rows.first().innerText();
  for (const text of ['Changed Grace <b>Hopper</b>', 'Admiral', 'UTC']) assert.ok(latest.includes(text), `${text} is missing in ${latest}`);
  assert.match(await page.locator('.session h2').first().innerText(), /address book/);
  assert.equal(await rows.count(), 50);
  const names = await rows.getByRole('button', { name: /^Undo “/ }).evaluateAll((all) => all.map((link) => link.textContent));
  assert.equal(new Set(names).size, names.length, 'two buttons have one name');
  await page.getByRole('link', { name: 'Older' }).click();
  await rows.filter({ hasText: 'Mary Somerville' }).waitFor();
  await portray(page, 'activity-older');
  await page.getByRole('link', { name: 'Latest' }).click();

  // A later change conflicts, and is undone first.
  const undo = (role, what) => page.getByRole(role, { name: new RegExp(`^Undo “${what} Grace <b>Hopper</b>” of `) });
  await undo('button', 'Added').click();
  await expectHeading(page, 'This cannot be undone yet');
  assert.match(await box(page, 'What prevents it').innerText(), /Person Grace <b>Hopper<\/b>: changed again since \(job\)\./);
  await portray(page, 'undo-in-the-way');
  await undo('link', 'Changed').click();
  await expectHeading(page, 'Undo this change?');
  assert.match(await box(page, 'What happens if you undo it').innerText(), /will be as before \(job\)/);
  await portray(page, 'undo', { everyView: true });
  assert.equal((await tool('get_connection', { id })).structuredContent.connection.title, 'Admiral', 'the change was undone without confirmation');
  await press(page, 'Undo “Changed Grace <b>Hopper</b>”');
  await expectNotice(page, 'The change is undone.');
  await expectHeading(page, 'Activity');
  assert.match(await rows.first().innerText(), /^Undid: Changed Grace <b>Hopper<\/b>[^]*Undid the change of/);
  assert.match(await rows.nth(1).innerText(), /Undone on /);
  assert.equal((await tool('get_connection', { id })).structuredContent.connection.title ?? '', '');
  await portray(page, 'activity-undone');

  const [added] = await undo('button', 'Added').evaluateAll((all) => all.map((button) => button.value));
  await undo('button', 'Added').click();
  await expectNotice(page, 'The change is undone.');
  assert.equal((await tool('get_connection', { id })).isError, true, 'the added person still exists');
  await page.goto(`/activity/undo?change=${added}`);
  await expectHeading(page, 'It was undone already');
  await portray(page, 'undo-again');
  const stranger = await page.goto('/activity/undo?change=chg_hd691gu278');
  assert.equal(stranger.status(), 404);
  await page.getByRole('link', { name: 'Back to Activity' }).click();
  await expectHeading(page, 'Activity');
});

test('a double click on Allow lets the agent in', async () => {
  const { page } = ada;
  const client = await register('Hasty client', callback);
  const { url, checks } = await client.ask();
  await page.goto(url.href);
  await page.getByText(AREAS, { exact: true }).click();
  const areas = page.getByRole('group', { name: 'Areas' }).getByRole('checkbox', { checked: true });
  while (await areas.count()) await areas.first().uncheck();
  await press(page, 'Allow');
  await page.getByRole('alert').getByRole('link').click();
  await page.locator('#scope:focus').waitFor();
  await portray(page, 'consent-wrong');
  await page.getByLabel('Your people', { exact: true }).check();
  await page.getByRole('button', { name: 'Allow', exact: true }).dblclick();
  await expectHeading(page, 'Back at the client');
  let last = await callback.next();
  while (callback.left) last = await callback.next();
  const tokens = await client.redeem(last.url, checks);
  assert.equal((await callWith(tokens.access_token)).status, 200);
});

test('a wrong password reveals nothing, the right one signs in', async () => {
  const { page } = elsewhere;
  await page.goto('/settings/security');
  await expectHeading(page, 'Sign in');
  await portray(page, 'sign-in', { everyView: true });
  await signIn(page, username, 'not the password');
  const alert = page.getByRole('alert');
  await alert.getByText('do not belong together').waitFor();
  await portray(page, 'sign-in-wrong');
  assert.equal(await page.getByLabel('Password').inputValue(), '', 'the page contains the password');
  await signIn(page, `${username}@member.example`, PASSWORDS[0]);
  await expectHeading(page, 'Security');
  assert.equal(new URL(page.url()).pathname, '/settings/security', 'the user is not on the requested page');
  for (const cookie of await elsewhere.context.cookies()) {
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Lax', `${cookie.name} is in reach of scripts or other sites`);
    keep(`cookie ${cookie.name}`, cookie.value);
  }
});

test('the time zone can be that of the browser', async () => {
  const { page } = ada;
  await page.goto('/settings/time');
  await expectHeading(page, 'Time zone and language');
  const zone = page.getByLabel('Time zone', { exact: true });
  await zone.fill('Berlin');
  await press(page, 'Save');
  await page.getByRole('alert').waitFor();
  assert.equal(await zone.inputValue(), 'Berlin');
  await portray(page, 'time-zone-wrong');
  await press(page, 'Take Europe/Berlin from this browser');
  await press(page, 'Save');
  await expectNotice(page, 'Your time zone and your language are saved.');
  assert.match(await page.getByText(/^In Europe\/Berlin it is now/).innerText(), / CES?T\.$/);
  assert.equal(await page.getByRole('button', { name: 'from this browser' }).count(), 0);
  await portray(page, 'time-zone');
});

test('a new password signs every other browser out', async () => {
  const { page } = ada;
  await page.goto('/settings/security');
  await portray(page, 'security');
  const change = async (current, chosen) => {
    const form = box(page, 'Change your password');
    await form.getByLabel('Current password').fill(current);
    await form.getByLabel('New password').fill(chosen);
    await form.getByLabel('The same password again').fill(chosen);
    await press(form, 'Change the password');
  };
  await change(PASSWORDS[0], 'short');
  await page.getByRole('alert').waitFor();
  await portray(page, 'security-wrong');
  await change(PASSWORDS[0], PASSWORDS[1]);
  await expectNotice(page, 'Your password is changed, and every other browser is signed out.');

  await elsewhere.page.goto('/settings/mcp');
  await signIn(elsewhere.page, username, PASSWORDS[1]);
  await expectHeading(elsewhere.page, 'Agents');
  assert.equal((await callWith(script)).status, 200, 'the new password revoked a personal token');
});

test('after signing out, pages need a new sign-in', async () => {
  const { page, context } = elsewhere;
  const cookies = await context.cookies();
  await signOut(page);
  await expectNotice(page, 'You are signed out.');
  await portray(page, 'signed-out');
  await page.goBack(); // the browser has not cached the page
  await expectHeading(page, 'Sign in');
  await context.addCookies(cookies); // the old cookie does not work either
  await page.goto('/settings/profile');
  await expectHeading(page, 'Sign in');
});

test('errors have pages', async () => {
  const { page } = elsewhere;
  const answer = await page.goto('/oauth/authorize?response_type=code&client_id=cli_01J00000000000000000000000&redirect_uri=https://evil.example/');
  assert.equal(answer.status(), 400);
  await expectHeading(page, 'Unknown application');
  await portray(page, 'unknown-application');
  await page.goto('/sign-in');
  await page.locator('input[name=form_token]').first().evaluate((input) => { input.value = 'stale'; });
  await page.getByLabel('Username or e-mail address').fill(username);
  await page.getByLabel('Password').fill('anything');
  await press(page, 'Sign in');
  await expectHeading(page, 'This form is out of date');
  await portray(page, 'form-out-of-date');
  await page.getByRole('link', { name: 'Sign in', exact: true }).click();
  await expectHeading(page, 'Sign in');
  const nothing = await page.goto('/settings/nothing');
  assert.equal(nothing.status(), 404);
  await portray(page, 'no-such-page');
  await page.getByRole('link', { name: 'Go to your settings' }).click();
  await expectHeading(page, 'Sign in');
});

test('there are no broken links', async () => {
  const own = [...links].filter((link) => link.startsWith(`${base}/`));
  assert.ok(own.length > 5, own.join(' '));
  for (const link of own) {
    const response = await ada.page.request.get(link);
    // A person may have been deleted since the page was shown.
    const gone = link.startsWith(`${base}/people/con_`) && response.status() === 404;
    assert.ok(gone || response.status() === 200, `${link}: ${response.status()}`);
  }
});

test('the account is deleted with its data, after an export', async () => {
  const { page } = ada;
  // The last use of credentials is written periodically.
  await until('the last use is shown', async () => {
    await page.goto('/settings/mcp/tokens');
    return /last used on/.test(await row(page, 'Your tokens', 'address book').innerText());
  });
  await page.goto('/settings/account');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download your data' }).click()]);
  const files = unzip(await readFile(await download.path()));
  assert.match(download.suggestedFilename(), /\.zip$/);
  assert.deepEqual([...files.keys()].sort(), ['README.txt', 'account.json', 'contacts.csv', 'contacts.jscontact.json', 'contacts.json', 'contacts.vcf']);
  const text = files.get('account.json');
  const data = JSON.parse(text);
  assert.equal(data.member.username, username);
  assert.equal(data.complete, true);
  for (const kept of ['Mary Somerville', 'Enchantress of numbers', 'address book', `${username}@member.example`]) assert.ok(text.includes(kept), `${kept} is not in the file`);
  for (const secret of ['argon2', script, PASSWORDS[1]]) assert.ok(!text.includes(secret), 'a secret is in the file');

  const erase = async (name, password) => {
    await page.getByLabel('Your username').fill(name);
    await page.getByLabel('Your password').fill(password);
    await press(page, 'Delete my account for good');
  };
  await portray(page, 'account');
  await erase('somebody', 'not the password');
  await page.getByRole('alert').waitFor();
  await portray(page, 'account-wrong');
  await erase(username, PASSWORDS[1]);
  await expectHeading(page, 'Your account is deleted');
  await portray(page, 'deleted');

  assert.equal((await callWith(script)).status, 401);
  await until('the profile is gone', async () => (await publicProfile()) === 404);
  await page.goto('/settings/profile');
  await signIn(page, username, PASSWORDS[1]);
  await page.getByRole('alert').getByText('do not belong together').waitFor();
});
