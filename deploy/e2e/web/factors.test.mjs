// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestFactors
// Passkeys and one-time codes: setting them up, signing in, confirming the member's identity, and removing them, at
// both widths, with the keyboard only. Chromium's virtual authenticator acts as the member's device.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { codesOf, plugIn } from '../harness/authenticator.mjs';
import { expectHeading, expectNotice, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { goTo, skipToContent } from '../harness/keyboard.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const FACTORS = '/settings/security/two-step';
const SECURITY = '/settings/security';
const CLONED = /there may be a copy of it/;
const CANCELLED = 'Cancelled, or it took too long. Try again, or go on another way.';

let browser;
let maria; // has passkeys
let device;
let mariasCodes;

before(async () => {
  browser = await openBrowser();
});

after(async () => {
  try {
    await maria?.leave();
  } finally {
    await browser?.close();
  }
});

/** Goes to what the content of the page has, past the header; back comes from the end of the page. */
async function reach(page, element, { back = false } = {}) {
  if (!back && await page.evaluate(() => document.activeElement === document.body)) {
    await skipToContent(page);
  }
  await goTo(page, element, { key: back ? 'Shift+Tab' : 'Tab', most: 60 });
}

/** Presses a button of the content. */
async function enter(page, name, options) {
  await reach(page, page.getByRole('button', { name, exact: typeof name === 'string' }).last(), options);
  await page.keyboard.press('Enter');
}

/** Moves to a field with the keyboard and types into it. */
async function type(page, label, text) {
  await reach(page, page.getByLabel(label, { exact: true }));
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}

/** Signs in on the page that is open, as far as the password goes. */
async function enterPassword(page, who) {
  await expectHeading(page, 'Sign in');
  await type(page, 'Username or e-mail address', setting(`${who}_USERNAME`));
  await type(page, 'Password', setting(`${who}_PASSWORD`));
  await page.keyboard.press('Enter');
}

const recoveryCodes = async (page) => (await page.locator('#made-codes code').allTextContents()).map((code) => keep('recovery code', code));
const region = (page, name) => page.getByRole('region', { name, exact: true });

/** Signs the browser out and opens the sign-in page. */
async function signedOut({ context, page }) {
  await context.clearCookies();
  await page.goto('/sign-in');
  await expectHeading(page, 'Sign in');
}

/** Has the button alone ask for passkeys: Chromium's authenticator takes the browser's own offer by itself. */
const withoutOffer = (page) => page.addInitScript(() => { PublicKeyCredential.isConditionalMediationAvailable = async () => false; });

/**
 * Presses the button, and lets the question of the browser go without an answer. No protocol closes Chromium's dialog, so
 * the time for it runs out: the page is told the same, NotAllowedError, so that no site can tell whether a person
 * refused. A second press meanwhile asks nothing.
 */
async function dismiss(page, authenticator, name, portrait) {
  const button = page.getByRole('button', { name, exact: true });
  let asked = 0;
  await authenticator.touches(false);
  await page.route('**/options', async (route) => {
    asked++;
    await page.keyboard.press('Enter');
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), timeout: 100 } });
  });
  await enter(page, name);
  await page.getByRole('status').getByText(CANCELLED).waitFor();
  assert.equal(asked, 1, 'a second press asks again');
  assert.ok(await button.evaluate((its) => its === document.activeElement && !its.ariaDisabled), 'the button cannot be pressed again');
  await portray(page, portrait, { asIs: true });
  await page.unroute('**/options');
  await authenticator.touches(true);
}

/** The whole life of second factors, at one size, with the keyboard only; axe looks at each page. */
function life(size, who) {
  let me, page, authenticator, code, codes;
  const look = (what, options) => portray(page, what, { asIs: true, ...options });
  const everyView = true;
  const open = async (path, heading) => {
    await page.goto(path);
    await expectHeading(page, heading);
  };
  const signOut = async () => {
    await open('/', 'Today');
    await goTo(page, page.locator('.menu.me > summary'));
    await page.keyboard.press('Enter');
    await goTo(page, page.getByRole('button', { name: 'Sign out', exact: true }));
    await page.keyboard.press('Enter');
    await expectNotice(page, 'You are signed out.');
  };
  const toSecondStep = async (heading) => {
    await signOut();
    await enterPassword(page, who);
    await expectHeading(page, heading);
  };

  before(async () => {
    me = await newPerson(browser, { viewport: size });
    ({ page } = me);
    await withoutOffer(page);
    authenticator = await plugIn(me);
  });
  after(() => me?.leave());

  test('a passkey that is not made leaves nothing behind', async () => {
    await page.goto(FACTORS);
    await look('sign-in', { everyView });
    await enterPassword(page, who);
    await expectHeading(page, 'Two-step sign-in');
    await dismiss(page, authenticator, 'Add a passkey', 'add-passkey-cancelled');
    assert.deepEqual(await authenticator.passkeys(), []);
    await open(SECURITY, 'Security');
    await page.getByText('Off: the password alone signs in.').waitFor();
    assert.doesNotMatch(await region(page, 'Security activity').innerText(), /second factor/);
  });

  test('an app is set up by its key', async () => {
    await reach(page, page.getByRole('link', { name: 'Set up two-step sign-in' }));
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'QR code with the key below' }).waitFor();
    await look('two-step-setup', { everyView });
    assert.equal(await region(page, 'Passkeys').getByRole('listitem').count(), 0);
    code = codesOf(await page.locator('#setup-key').textContent());
    await type(page, 'Code', '000000');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await look('two-step-wrong');
    await type(page, 'Code', await code());
    await enter(page, 'Turn on');
    await expectNotice(page, 'The app is set up');
    codes = await recoveryCodes(page);
    assert.equal(new Set(codes).size, 10);
    await look('two-step-on', { everyView });
    await open(FACTORS, 'Two-step sign-in');
    assert.deepEqual(await recoveryCodes(page), [], 'the codes are shown twice');
  });

  test('the password and a code sign in', async () => {
    await toSecondStep('Enter your code');
    await look('sign-in-two-step', { everyView });
    await type(page, 'Code', '000000');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This code does not work.').waitFor();
    await look('sign-in-two-step-wrong');
    await type(page, 'Code', await code());
    await page.keyboard.press('Enter');
    await expectHeading(page, 'Today');
  });

  test('the password and a recovery code sign in', async () => {
    await toSecondStep('Enter your code');
    await type(page, 'Code', codes[0]);
    await enter(page, 'Sign in');
    await expectHeading(page, 'Today');
    await look('today-told');
    await open(FACTORS, 'Two-step sign-in');
    await page.getByText('9 codes are left.').waitFor();
  });

  test('a passkey is added', async () => {
    await type(page, 'Name', 'Laptop');
    await enter(page, 'Add a passkey');
    await expectNotice(page, 'The passkey is added');
    await region(page, 'Passkeys').locator('bdi').getByText('Laptop', { exact: true }).waitFor();
    await look('passkey-added', { everyView });
    assert.equal((await authenticator.passkeys()).length, 1);
    await enter(page, 'Add a passkey'); // the same device makes no second one
    await page.getByText('This device has a passkey for this account already.').waitFor();
  });

  test('the passkey alone signs in, also after it was not given', async () => {
    await signOut();
    await dismiss(page, authenticator, 'Sign in with a passkey', 'sign-in-passkey-cancelled');
    assert.ok(!(await me.context.cookies()).some((cookie) => cookie.name.includes('session')), 'there is a session');
    await page.keyboard.press('Enter');
    await expectHeading(page, 'Today');
  });

  test('the passkey is the second factor, also after it was not given', async () => {
    await toSecondStep('Enter your code');
    await look('sign-in-passkey-or-code', { everyView });
    await dismiss(page, authenticator, 'Use a passkey', 'sign-in-two-step-cancelled');
    await page.keyboard.press('Enter');
    await expectHeading(page, 'Today');
  });

  test('other sessions are seen and ended', async () => {
    const others = await Promise.all([1, 2].map(() => newPerson(browser, { viewport: size })));
    for (const [i, other] of others.entries()) {
      await other.page.goto('/sign-in');
      await enterPassword(other.page, who);
      await expectHeading(other.page, 'Enter your code');
      await type(other.page, 'Code', codes[i + 1]);
      await enter(other.page, 'Sign in');
      await expectHeading(other.page, 'Today');
    }
    await open(SECURITY, 'Security');
    await look('sessions');
    const sessions = region(page, 'Where you are signed in').getByRole('listitem');
    assert.equal(await sessions.count(), 3);
    await enter(page, /^Sign out (?!all|everywhere)/, { back: true });
    await expectNotice(page, 'That browser is signed out.');
    assert.equal(await sessions.count(), 2);
    await enter(page, 'Sign out all other browsers', { back: true });
    await expectNotice(page, 'Every other browser is signed out.');
    assert.equal(await sessions.count(), 1);
    await look('sessions-ended');
    for (const other of others) {
      await other.page.reload();
      await expectHeading(other.page, 'Sign in');
      await other.leave();
    }
  });

  const proofs = {
    'a passkey': () => enter(page, 'Use a passkey'),
    'the password': async () => {
      await type(page, /^Your password/, setting(`${who}_PASSWORD`));
      await page.keyboard.press('Enter');
    },
    'a code': async () => {
      await type(page, /^Or a code of your app/, await code());
      await enter(page, 'Go on');
    },
  };
  for (const [what, prove] of Object.entries(proofs)) {
    test(`${what} confirms who it is`, async () => {
      await open(`/sign-in/confirm?return_to=${encodeURIComponent(SECURITY)}`, 'Confirm that it is you');
      if (what === 'a passkey') await look('confirm', { everyView });
      await prove();
      await expectNotice(page, 'for 10 minutes you are not asked again');
    });
  }

  test('both are removed, and what happened is told', async () => {
    await open(FACTORS, 'Two-step sign-in');
    await enter(page, 'Remove Laptop');
    await expectNotice(page, 'The passkey is removed here.');
    await look('passkey-removed');
    await enter(page, 'Turn off the app');
    await expectNotice(page, 'The app is turned off.');
    await look('two-step-off');
    await open(SECURITY, 'Security');
    await page.getByText('Off: the password alone signs in.').waitFor();
    await look('security-activity', { everyView });
    const told = await region(page, 'Security activity').innerText();
    for (const sentence of [
      'Removed the second factor “app for one-time codes”', 'Removed the second factor “passkey”', 'Confirmed with', 'Ended the sessions of all other browsers',
      'Ended the session of another browser', 'Used a recovery code', 'Wrong second factor', 'Signed out', 'Signed in on a new device',
    ]) assert.ok(told.includes(sentence), `${sentence} is not in ${told}`);
    await signOut();
    await enterPassword(page, who);
    await expectHeading(page, 'Today');
  });
}

describe('the life of second factors', { concurrency: true }, () => {
  for (const name of setting('SIZES').split(' ')) {
    describe(name, { concurrency: false }, () => life(SIZES[name], name === 'phone' ? 'OTHER' : 'MEMBER'));
  }
});

test('the browser offers the passkey where the username is typed', async () => {
  maria = await newPerson(browser);
  const { context, page } = maria;
  device = await plugIn(maria);
  await page.goto(FACTORS);
  await portray(page, 'sign-in-with-passkey');
  await enterPassword(page, 'MEMBER');
  await expectHeading(page, 'Two-step sign-in');
  await type(page, 'Name', 'Laptop');
  await enter(page, 'Add a passkey');
  await expectNotice(page, 'The passkey is added');
  mariasCodes = await recoveryCodes(page);
  assert.equal(mariasCodes.length, 10);
  const [made] = await device.passkeys();
  assert.equal(made.isResidentCredential, true);
  assert.equal(made.rpId, 'localhost');
  await context.clearCookies();
  await page.goto('/sign-in?return_to=%2Fsettings%2Fprofile');
  await expectHeading(page, 'Your profile');
  await withoutOffer(page);
});

test('a person who is not verified is not signed in', async () => {
  const { page } = maria;
  await device.verifies(false);
  await signedOut(maria);
  await enter(page, 'Sign in with a passkey');
  await page.getByText(CANCELLED).waitFor();
  await expectHeading(page, 'Sign in');
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
  await enterPassword(page, 'MEMBER');
  await expectHeading(page, 'Use your passkey');
  await type(page, 'Recovery code', mariasCodes[0]);
  await page.keyboard.press('Enter');
  await expectHeading(page, 'Today');
  await region(page, 'This happened in your account').getByText(CLONED).waitFor();
  await portray(page, 'told-of-copy', { everyView: true });
});

test('without a script there is no button for passkeys, and codes work', async () => {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), javaScriptEnabled: false, viewport: SIZES.phone });
  try {
    const page = await context.newPage();
    await page.goto('/sign-in');
    assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0);
    await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
    await expectHeading(page, 'Use your passkey');
    await page.getByLabel('Recovery code', { exact: true }).fill(mariasCodes[1]);
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
  await enterPassword(page, 'MEMBER');
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
