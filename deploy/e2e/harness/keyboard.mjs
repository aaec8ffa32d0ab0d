// Moves about a page as somebody without a mouse does.
import assert from 'node:assert/strict';

/** What has the focus, and whether a person sees that it has. */
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

/** The page must show where the focus is. */
export async function expectFocus(page) {
  const { name, none, shown } = await focused(page);
  assert.ok(!none, 'nothing has the focus');
  assert.ok(shown, `the focus on ${name} does not show`);
}

/** Presses the key until the element has the focus, which must show at each stop. */
export async function goTo(page, element, { key = 'Tab', most = 30 } = {}) {
  const stops = [];
  while (stops.length < most) {
    await page.keyboard.press(key);
    await expectFocus(page);
    stops.push((await focused(page)).name);
    if (await element.evaluate((wanted) => wanted === document.activeElement)) return;
  }
  assert.fail(`${key} does not lead there in ${most} steps, but to ${stops.join(', ')}`);
}
