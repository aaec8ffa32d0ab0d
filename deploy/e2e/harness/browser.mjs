// Drives a real browser as a user would.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { setting } from './client.mjs';
import { keep } from './secrets.mjs';

const PATIENCE = 30_000; // the same as in the Go tests: a slow machine must not fail a test
// Console errors about statuses that a page answers on purpose are ignored.
const REFUSAL = /^Failed to load resource: the server responded with a status of 4\d\d/;

/** Starts Chromium; it has no windows. */
export function openBrowser() {
  return chromium.launch({ executablePath: setting('CHROMIUM') });
}

/**
 * Opens a page in a new browser profile with these options, as one person uses it. leave() closes
 * the profile, and fails if the console shows an error of one of our pages, such as a violation of
 * the content security policy or a missing stylesheet.
 */
export async function newPerson(browser, options = {}) {
  const context = await browser.newContext({ baseURL: setting('BASE_URL'), timezoneId: 'Europe/Berlin', ...options });
  context.setDefaultTimeout(PATIENCE);
  const complaints = [];
  context.on('console', (message) => {
    const { url } = message.location();
    const ours = !url || url.startsWith(setting('BASE_URL')); // errors of a client's page do not count
    if (ours && message.type() === 'error' && !REFUSAL.test(message.text())) complaints.push(message.text());
  });
  const page = await context.newPage();
  return {
    context, page,
    async leave({ heed = true, tolerate } = {}) {
      for (const cookie of await context.cookies()) keep(`cookie ${cookie.name}`, cookie.value);
      await context.close();
      if (heed) assert.deepEqual(complaints.filter((text) => !tolerate?.test(text)), []);
    },
  };
}

/** Waits until the page has this heading, and is parsed to its end. */
export async function expectHeading(page, text) {
  await page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
  await page.waitForLoadState('domcontentloaded');
}

/** Waits until the page shows this notice, and is parsed to its end. */
export async function expectNotice(page, text) {
  await page.getByRole('status').filter({ hasText: text }).waitFor();
  await page.waitForLoadState('domcontentloaded');
}

/** Presses the button of that name. */
export async function press(page, name) {
  await page.getByRole('button', { name, exact: true }).click();
}

/** Opens the menu of that name, and presses a button in it or follows a link. */
export async function chooseIn(page, menu, name) {
  await page.locator('details.menu > summary').filter({ has: page.getByText(menu) }).or(page.locator(`details.menu > summary[aria-label^="${menu}"]`)).first().click();
  await page.locator('details.menu[open]').getByRole('button', { name, exact: true }).or(page.locator('details.menu[open]').getByRole('link', { name, exact: true })).click();
}

/** Signs out with the menu of the member. */
export const signOut = (page) => chooseIn(page, 'Menu of', 'Sign out');

/** Fills in the sign-in page that is open, and sends it. */
export async function signIn(page, login, password) {
  await expectHeading(page, 'Sign in');
  await page.getByLabel('Username or e-mail address').fill(login);
  await page.getByLabel('Password').fill(password);
  await press(page, 'Sign in');
}

/** The labels of the consent page's boxes, for the scopes. */
export const BOXES = {
  connections: 'Your people', timeline: 'Notes and contacts', account: 'Account',
};

/** Opens the areas of the consent page. */
export const AREAS = 'Choose areas, and read what each allows';

/**
 * Answers the consent page that is open; untick are scopes that the client does not get, preset
 * and duration are the labels of what is chosen: everything without an end, unless they are given. The
 * client need not ask first.
 */
export async function answerConsent(page, decision, { untick = [], preset = 'Everything it asks for', duration = 'Until I revoke it' } = {}) {
  await expectHeading(page, 'Allow access to your account?');
  for (const label of [preset, duration]) {
    const choice = page.getByLabel(label, { exact: true });
    if (await choice.count()) await choice.check();
  }
  const ask = page.locator('#ask');
  if (await ask.count()) await ask.uncheck();
  if (untick.length > 0) await page.getByText(AREAS, { exact: true }).click();
  for (const scope of untick) await page.getByLabel(BOXES[scope], { exact: true }).uncheck();
  await press(page, decision);
}
