// Takes screenshots of a page, and checks it with axe and for horizontal overflow.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import axe from 'axe-core';
import { setting } from './client.mjs';

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
const VIEWS = [
  { name: 'phone-light', size: PHONE, colorScheme: 'light' },
  { name: 'desktop-dark', size: DESKTOP, colorScheme: 'dark' },
];
const OTHER_VIEWS = [
  { name: 'phone-dark', size: PHONE, colorScheme: 'dark' },
  { name: 'desktop-light', size: DESKTOP, colorScheme: 'light' },
];

/** The addresses of all links on the pages that were portrayed. */
export const links = new Set();

/**
 * Takes the page's pictures under the name. In each view the page must be as wide
 * as the window, and axe must find no fault in it.
 */
export async function portray(page, name, { everyView = false } = {}) {
  for (const link of await page.locator('a[href]:not([href^="#"])').evaluateAll((all) => all.map((a) => new URL(a.getAttribute('href'), document.baseURI).href.split('#')[0]))) links.add(link);
  const before = page.viewportSize();
  const faults = [];
  for (const view of everyView ? [...VIEWS, ...OTHER_VIEWS] : VIEWS) {
    await page.setViewportSize(view.size);
    await page.emulateMedia({ colorScheme: view.colorScheme, reducedMotion: 'reduce' });
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (tooWide > 0) faults.push(`${view.name}: ${tooWide} pixels too wide`);
    await page.screenshot({ path: join(setting('SCREENSHOTS'), `${name}-${view.name}.png`), fullPage: true });
    faults.push(...(await judge(page)).map((fault) => `${view.name}: ${fault}`));
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  assert.deepEqual(faults, [], name);
}

/** What axe finds, of whatever weight; the page's policy does not hold for what the debugger runs. */
async function judge(page) {
  if (await page.evaluate(() => typeof axe === 'undefined')) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }));
  return violations.map((v) => `${v.impact}: ${v.id}: ${v.help}: ${v.nodes.map((node) => node.html).join(' ')}`);
}
