// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestMailedLinks
// On a service that sends mail: sign-up, password reset and address confirmation, with
// the links in real emails.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expectHeading, expectNotice, newPerson, openBrowser, press, signIn, signOut } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { openMailbox } from '../harness/mailbox.mjs';
import { portray } from '../harness/portrait.mjs';
import { keep } from '../harness/secrets.mjs';

const base = setting('BASE_URL');
const username = `post-${Date.now().toString(36)}`;
const email = `${username}@member.example`;
const PASSWORDS = ['first', 'second'].map((n) => keep('password', `${n} ${crypto.randomUUID()}`));

let browser;
let mailbox;
let ada;

before(async () => {
  [browser, mailbox] = await Promise.all([openBrowser(), openMailbox()]);
  ada = await newPerson(browser);
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
    await mailbox?.close();
  }
});

/** Opens the link of an email, which must lead to the service. */
async function follow(page, sent) {
  assert.ok(sent.link?.startsWith(`${base}/`), `${sent.subject}: there is no link in ${sent.text}`);
  await page.goto(sent.link);
}

test('sign-up is completed with a link in an email', async () => {
  const { page } = ada;
  await page.goto('/sign-up');
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('E-mail address').fill(email);
  await press(page, 'Create account');
  await expectHeading(page, 'Check your email');
  await portray(page, 'mail-sent');

  await follow(page, await mailbox.next(email));
  await expectHeading(page, 'Finish your account');
  await portray(page, 'finish-account');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORDS[0]);
  await page.getByLabel('The same password again').fill(PASSWORDS[0]);
  await press(page, 'Open the account');
  await expectNotice(page, 'Welcome to Kith.');
  await expectHeading(page, 'Your profile');
  await page.goto('/settings/security');
  await page.getByText('confirmed', { exact: true }).waitFor();
});

test('a link in an email resets a forgotten password, once', async () => {
  const other = await newPerson(browser);
  const { page } = other;
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await expectHeading(page, 'Forgot your password?');
  await portray(page, 'forgot');
  await page.getByLabel('Username or e-mail address').fill(username);
  await press(page, 'Send the link');
  await expectHeading(page, 'Check your email');

  const sent = await mailbox.next(email, 'Choose a new password for Kith');
  await follow(page, sent);
  await expectHeading(page, 'Choose a new password');
  await portray(page, 'reset');
  await page.getByLabel('New password').fill(PASSWORDS[1]);
  await page.getByLabel('The same password again').fill('something else');
  await press(page, 'Change the password');
  await page.getByRole('alert').getByText('not the same').waitFor();
  await page.getByLabel('New password').fill(PASSWORDS[1]);
  await page.getByLabel('The same password again').fill(PASSWORDS[1]);
  await press(page, 'Change the password');
  await expectNotice(page, 'Your password is changed, and every browser is signed out.');
  await mailbox.next(email, 'Your Kith password was changed');

  await follow(page, sent);
  await expectHeading(page, 'This link has expired');
  await portray(page, 'link-over');
  await ada.page.goto('/settings/profile'); // signed in until now
  await signIn(ada.page, username, PASSWORDS[1]);
  await expectHeading(ada.page, 'Your profile');
  await mailbox.next(email, 'New sign-in to your Kith account');

  // For an unknown address the page says the same and sends no email: the next is for Ada.
  await page.goto('/forgot');
  await page.getByLabel('Username or e-mail address').fill('nobody@member.example');
  await press(page, 'Send the link');
  await expectHeading(page, 'Check your email');
  await other.leave();
});

test('a member created by the operator confirms the address', async () => {
  const { page } = ada;
  await signOut(page);
  const address = `${setting('MEMBER_USERNAME')}@member.example`;
  await page.goto('/settings/security');
  await signIn(page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await page.getByText('not confirmed', { exact: true }).waitFor();
  await portray(page, 'security-unconfirmed');
  await press(page, 'Send me a link to confirm it');
  await expectNotice(page, 'We have sent you a link');
  await mailbox.next(address, 'New sign-in to your Kith account');
  await follow(page, await mailbox.next(address, 'Confirm your e-mail address for Kith'));
  await expectHeading(page, 'Confirm your e-mail address');
  await portray(page, 'confirm-address');
  await press(page, 'Yes, that is right');
  await expectNotice(page, 'Your e-mail address is confirmed.');
  await page.getByText('confirmed', { exact: true }).waitFor();
  assert.deepEqual(mailbox.emails.map(({ to, subject }) => [to, subject]), [], 'unexpected emails');
});
