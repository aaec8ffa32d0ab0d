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

// Chromium draws at most this many pixels in one piece: for a taller page it takes 15 seconds, and much longer on a busy machine.
const TALLEST = 16_384;

/** The addresses of all links on the pages that portray was called for. */
export const links = new Set();

/**
 * Takes screenshots of the page under the name. In each view the page must not be wider
 * than the window, and axe must find no violation. With asIs, only views of the window's width are taken.
 * A screenshot ends after TALLEST pixels.
 */
export async function portray(page, name, { everyView = false, asIs = false } = {}) {
  for (const link of await page.locator('a[href]:not([href^="#"])').evaluateAll((all) => all.map((a) => new URL(a.getAttribute('href'), document.baseURI).href.split('#')[0]))) links.add(link);
  const before = page.viewportSize();
  const faults = [];
  const views = everyView ? [...VIEWS, ...OTHER_VIEWS] : VIEWS;
  for (const view of views.filter(({ size }) => !asIs || size.width === before.width)) {
    await page.setViewportSize(view.size);
    await page.emulateMedia({ colorScheme: view.colorScheme, reducedMotion: 'reduce' });
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (tooWide > 0) faults.push(`${view.name}: ${tooWide} pixels too wide`);
    const tooTall = await page.evaluate(() => document.documentElement.scrollHeight) > TALLEST;
    if (tooTall) await page.setViewportSize({ ...view.size, height: TALLEST });
    // On a busy machine, a browser may take longer than its 30 seconds for a picture.
    await page.screenshot({ path: join(setting('SCREENSHOTS'), `${name}-${view.name}.png`), fullPage: !tooTall, timeout: 120_000 });
    if (tooTall) await page.setViewportSize(view.size);
    faults.push(...(await judge(page)).map((fault) => `${view.name}: ${fault}`));
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  assert.deepEqual(faults, [], name);
}

/** Returns all violations that axe finds. The page's CSP does not apply to page.evaluate. */
async function judge(page) {
  if (await page.evaluate(() => typeof axe === 'undefined')) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }));
  return violations.map((v) => `${v.impact}: ${v.id}: ${v.help}: ${v.nodes.map((node) => node.html).join(' ')}`);
}
