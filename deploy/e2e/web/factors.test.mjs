// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestFactors
// Passkeys and one-time codes: setting them up, signing in, and confirming who it is, with the keyboard
// only. Chromium's virtual authenticator stands for the member's device.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { codesOf, plugIn } from '../harness/authenticator.mjs';
import { expectHeading, expectNotice, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { goTo } from '../harness/keyboard.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const FACTORS = '/settings/security/two-step';
const CLONED = /there may be a copy of it/;

let browser;
let maria; // has passkeys
let device;
let mariasCodes;
let omar; // has an app for one-time codes

before(async () => {
  browser = await openBrowser();
  [maria, omar] = await Promise.all([newPerson(browser), newPerson(browser)]);
  device = await plugIn(maria);
});

after(async () => {
  try {
    await maria?.leave();
    await omar?.leave();
  } finally {
    await browser?.close();
  }
});

/** Presses a button with the keyboard. */
async function enter(page, name) {
  await goTo(page, page.getByRole('button', { name, exact: true }), { most: 60 });
  await page.keyboard.press('Enter');
}

/** Types into a field that the keyboard leads to. */
async function type(page, label, text) {
  await goTo(page, page.getByLabel(label, { exact: true }), { most: 60 });
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}

const signInAs = (page, who) => signIn(page, setting(`${who}_USERNAME`), setting(`${who}_PASSWORD`));
const recoveryCodes = async (page) => (await page.locator('#made-codes code').allTextContents()).map((code) => keep('recovery code', code));
const region = (page, name) => page.getByRole('region', { name, exact: true });

/** Goes to the sign-in page of a browser that is signed out. */
async function signedOut({ context, page }) {
  await context.clearCookies();
  await page.goto('/sign-in');
  await expectHeading(page, 'Sign in');
}

test('a passkey is added', async () => {
  const { page } = maria;
  await page.goto(FACTORS);
  await portray(page, 'sign-in-with-passkey', { everyView: true });
  await signInAs(page, 'MEMBER');
  await expectHeading(page, 'Two-step sign-in');
  await type(page, 'Name', 'Laptop');
  await enter(page, 'Add a passkey');
  await expectNotice(page, 'The passkey is added');
  mariasCodes = await recoveryCodes(page);
  assert.equal(mariasCodes.length, 10);
  await region(page, 'Passkeys').locator('bdi').getByText('Laptop', { exact: true }).waitFor();
  await portray(page, 'passkey-added', { everyView: true });
  const [made] = await device.passkeys();
  assert.equal(made.isResidentCredential, true);
  assert.equal(made.rpId, 'localhost');

  await enter(page, 'Add a passkey'); // the same device makes no second one
  await page.getByText('This device has a passkey for this account already.').waitFor();
});

test('the browser offers the passkey where the username is typed', async () => {
  await maria.context.clearCookies();
  await maria.page.goto('/sign-in?return_to=%2Fsettings%2Fprofile');
  await expectHeading(maria.page, 'Your profile');
  // Chromium's authenticator takes the offer by itself, so the other tests do without it.
  await maria.page.addInitScript(() => { PublicKeyCredential.isConditionalMediationAvailable = async () => false; });
});

for (const [name, size] of Object.entries(SIZES)) {
  test(`the passkey alone signs in: ${name}`, async () => {
    const { page } = maria;
    await page.setViewportSize(size);
    await signedOut(maria);
    await enter(page, 'Sign in with a passkey');
    await expectHeading(page, 'Today');
  });

  test(`the passkey is the second factor: ${name}`, async () => {
    const { page } = maria;
    await page.setViewportSize(size);
    await signedOut(maria);
    await signInAs(page, 'MEMBER');
    await expectHeading(page, 'Use your passkey');
    if (name === 'phone') await portray(page, 'sign-in-passkey-second', { everyView: true });
    await enter(page, 'Use a passkey');
    await expectHeading(page, 'Today');
  });

  test(`the passkey confirms who it is: ${name}`, async () => {
    const { page } = maria;
    await page.setViewportSize(size);
    await page.goto('/sign-in/confirm?return_to=%2Fsettings%2Fsecurity');
    await expectHeading(page, 'Confirm that it is you');
    if (name === 'phone') await portray(page, 'confirm-with-passkey', { everyView: true });
    await enter(page, 'Use a passkey');
    await expectNotice(page, 'for 10 minutes you are not asked again');
  });
}

test('a person who is not verified is not signed in', async () => {
  const { page } = maria;
  await device.verifies(false);
  await signedOut(maria);
  await enter(page, 'Sign in with a passkey');
  await page.getByText('Cancelled, or it took too long.').waitFor();
  await expectHeading(page, 'Sign in');
  await portray(page, 'sign-in-passkey-cancelled');
});

test('the site refuses what the browser lets through: a person who is not verified, and another origin', async () => {
  const { page } = maria;
  const ask = page.getByRole('button', { name: 'Sign in with a passkey', exact: true });
  await page.evaluate(() => {
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = (options) => get({ ...options, publicKey: { ...options.publicKey, userVerification: 'discouraged' } });
  });
  await ask.click();
  await page.getByRole('alert').getByText('This passkey does not work here.').waitFor();
  await portray(page, 'sign-in-passkey-refused');

  await device.verifies(true);
  await signedOut(maria);
  await page.route('**/sign-in/passkey', async (route) => {
    const form = new URLSearchParams(route.request().postData());
    const answer = JSON.parse(form.get('passkey'));
    const client = JSON.parse(Buffer.from(answer.response.clientDataJSON, 'base64url'));
    answer.response.clientDataJSON = Buffer.from(JSON.stringify({ ...client, origin: 'https://evil.example' })).toString('base64url');
    form.set('passkey', JSON.stringify(answer));
    await route.continue({ postData: form.toString() });
  });
  await ask.click();
  await page.getByRole('alert').getByText('This passkey does not work here.').waitFor();
  await page.unroute('**/sign-in/passkey');
});

test('a copy of the passkey is refused, and the member is told', async () => {
  const { page } = maria;
  await signedOut(maria);
  const [credential] = await device.passkeys();
  await device.clear();
  await device.take({ ...credential, signCount: 0 });
  await enter(page, 'Sign in with a passkey');
  await page.getByRole('alert').getByText(CLONED).waitFor();
  await portray(page, 'sign-in-passkey-cloned');
  await device.clear();
  await signedOut(maria);
  await signInAs(page, 'MEMBER');
  await expectHeading(page, 'Use your passkey');
  await type(page, 'Recovery code', mariasCodes[0]);
  await page.keyboard.press('Enter');
  await expectHeading(page, 'Today');
  await region(page, 'This happened in your account').getByText(CLONED).waitFor();
  await portray(page, 'told-of-copy', { everyView: true });
});

test('a security key without room for passkeys is a second factor, and can be removed', async () => {
  const { page } = maria;
  await device.unplug();
  const stick = await plugIn(maria, { transport: 'usb', hasResidentKey: false });
  await page.goto(FACTORS);
  await type(page, 'Name', 'Stick');
  await enter(page, 'Add a passkey');
  await expectNotice(page, 'The passkey is added');
  assert.equal((await stick.passkeys())[0].isResidentCredential, false);
  await signedOut(maria);
  await signInAs(page, 'MEMBER');
  await expectHeading(page, 'Use your passkey');
  await enter(page, 'Use a passkey');
  await expectHeading(page, 'Today');
  await page.goto(FACTORS);
  await enter(page, 'Remove Laptop');
  await page.getByRole('button', { name: 'Remove Laptop' }).waitFor({ state: 'detached' });
  await expectNotice(page, 'The passkey is removed here.');
  await enter(page, 'Remove Stick');
  await page.getByRole('button', { name: 'Remove Stick' }).waitFor({ state: 'detached' });
  await portray(page, 'passkeys-removed');
});

test('one-time codes are set up, sign in and confirm', async () => {
  const { page } = omar;
  await page.goto(FACTORS);
  await signInAs(page, 'OTHER');
  await expectHeading(page, 'Two-step sign-in');
  await page.getByRole('img', { name: 'QR code with the key below' }).waitFor();
  await portray(page, 'two-step-setup', { everyView: true });
  const code = codesOf(await page.locator('#setup-key').textContent());
  await type(page, 'Code', '000000');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await portray(page, 'two-step-wrong');
  await type(page, 'Code', await code());
  await enter(page, 'Turn on');
  await expectNotice(page, 'The app is set up');
  const codes = await recoveryCodes(page);
  await portray(page, 'two-step-on', { everyView: true });

  await page.setViewportSize(SIZES.desktop);
  await signedOut(omar);
  await signInAs(page, 'OTHER');
  await expectHeading(page, 'Enter your code');
  await portray(page, 'sign-in-two-step', { everyView: true });
  await type(page, 'Code', await code());
  await page.keyboard.press('Enter');
  await expectHeading(page, 'Today');

  await page.goto('/sign-in/confirm?return_to=%2Fsettings%2Fsecurity');
  await portray(page, 'confirm-with-code', { everyView: true });
  await goTo(page, page.getByLabel(/^Or a code of your app/));
  await page.keyboard.type(await code());
  await enter(page, 'Go on');
  await expectNotice(page, 'for 10 minutes you are not asked again');

  await page.setViewportSize(SIZES.phone);
  await signedOut(omar);
  await signInAs(page, 'OTHER');
  await expectHeading(page, 'Enter your code');
  await type(page, 'Code', codes[0]);
  await enter(page, 'Sign in');
  await expectHeading(page, 'Today');
  await page.goto(FACTORS);
  await page.getByText('9 codes are left.').waitFor();
  omar.codes = codes;
});

test('another session is seen and ended', async () => {
  const { page } = omar;
  await page.goto('/settings/security');
  const sessions = region(page, 'Where you are signed in');
  const before = await sessions.getByRole('listitem').count();
  assert.ok(before > 1, `${before} sessions`);
  await portray(page, 'sessions');
  const end = sessions.getByRole('button', { name: /^Sign out (?!all|everywhere)/ }).first();
  await goTo(page, end, { most: 80 });
  await page.keyboard.press('Enter');
  await expectNotice(page, 'signed out');
  assert.equal(await sessions.getByRole('listitem').count(), before - 1);
});

test('without a script there is no button for passkeys, and codes work', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false, viewport: SIZES.phone });
  try {
    const page = await context.newPage();
    await page.goto('/sign-in');
    assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
    await signInAs(page, 'OTHER');
    await expectHeading(page, 'Enter your code');
    await page.getByLabel('Code', { exact: true }).fill(omar.codes[1]);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expectHeading(page, 'Today');
    await page.goto(FACTORS);
    await expectHeading(page, 'Two-step sign-in');
    assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).count(), 0);
    assert.equal(await page.locator('noscript').count(), 1, 'nothing says why'); // Chromium shows it only without the debugger
  } finally {
    await context.close();
  }
});
