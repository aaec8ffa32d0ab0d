// Uses a page with the keyboard only.
import assert from 'node:assert/strict';

/** Returns the name of the focused element, and whether its focus is visible. */
function focused(page) {
  return page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const { left, right, width, height } = document.activeElement.getBoundingClientRect();
    return {
      name: document.activeElement.textContent.trim() || document.activeElement.id,
      none: document.activeElement === document.body,
      shown: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && right > 0 && left < innerWidth && width > 1 && height > 1,
    };
  });
}

/** Fails unless an element has the focus and the focus is visible; returns its name. */
export async function expectFocus(page) {
  const { name, none, shown } = await focused(page);
  assert.ok(!none, 'no element has the focus');
  assert.ok(shown, `the focus on ${name} is not visible`);
  return name;
}

/** Presses the key until the element has the focus; the focus must be visible each time. */
export async function goTo(page, element, { key = 'Tab', most = 30 } = {}) {
  const stops = [];
  while (stops.length < most) {
    await page.keyboard.press(key);
    stops.push(await expectFocus(page));
    if (await element.evaluate((wanted) => wanted === document.activeElement)) return;
  }
  assert.fail(`${most} times ${key} do not reach the element, but ${stops.join(', ')}`);
}

/** Follows the link that skips the header. The browser moves the focus only after the key press has returned. */
export async function skipToContent(page) {
  await goTo(page, page.getByRole('link', { name: 'Skip to the content' }));
  await page.keyboard.press('Enter');
  await page.locator('main:focus').waitFor();
}
