// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestOtherSites
// Another site cannot do anything with the browser of a signed-in member. The attacker here
// has more than a real one: it knows the member's form tokens.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { answerConsent, expectHeading, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { setting } from '../harness/client.mjs';
import { register } from '../harness/openid.mjs';
import { until } from '../harness/raw.mjs';
import { keep } from '../harness/secrets.mjs';

const base = setting('BASE_URL');
const [username, password] = [setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD')];
const CHOSEN = keep('password', `the attacker chose ${crypto.randomUUID()}`);

let browser;
let callback;
let victim;
let evil; // the attacker's server
let body = ''; // what it serves
let formToken; // of the victim's session

before(async () => {
  evil = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>Evil</title>${request.url === '/' ? body : ''}`);
  });
  evil.listen(0, '127.0.0.1').unref();
  [browser, callback] = await Promise.all([openBrowser(), listenForCallback(), once(evil, 'listening')]);
  victim = await newPerson(browser);
  await victim.page.goto('/settings/profile');
  await signIn(victim.page, username, password);
  await expectHeading(victim.page, 'Your profile');
  formToken = await victim.page.locator('main input[name=form_token]').first().inputValue();
});

after(async () => {
  try {
    await victim?.leave({ heed: false }); // the browser logs each blocked attack
  } finally {
    await browser?.close();
    callback?.close();
    evil.closeAllConnections();
    evil.close();
  }
});

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** Returns a form that submits itself. */
const form = (action, fields) => `<form method="post" action="${base}${action}">${Object.entries(fields)
  .map(([name, value]) => `<input name="${name}" value="${escape(value)}">`).join('')}</form><script>document.forms[0].submit()</script>`;

/** Ways to embed the form: as it is, without a Referer, and in a frame with an opaque origin. */
const DRESSES = {
  plain: (html) => html,
  'without a referrer': (html) => `<meta name="referrer" content="no-referrer">${html}`,
  'with an opaque origin': (html) => `<iframe sandbox="allow-scripts allow-forms allow-top-navigation" srcdoc="${escape(html.replace('<form', '<form target="_top"'))}"></iframe>`,
};

/** Opens the attacker's page in the person's browser, and returns the service's answer to its POST. */
async function lure(context, origin, html) {
  body = html;
  const page = await context.newPage();
  const posted = page.waitForResponse((response) => response.request().method() === 'POST' && response.url().startsWith(base));
  await page.goto(`${origin}/`).catch(() => {}); // the form may navigate away before the page has loaded
  const response = await posted;
  const { cookie } = await response.request().allHeaders();
  return { status: response.status(), cookie, page };
}

// For the browser, another port of localhost is the same site, so it sends cookies.
for (const [site, host] of [['the same site', 'localhost'], ['another site', '127.0.0.1']]) {
  describe(`from another origin of ${site}`, () => {
    const origin = () => `http://${host}:${evil.address().port}`;

    test('every form is refused', async () => {
      const change = ['/settings/security/password', { password, new_password: CHOSEN, repeat_password: CHOSEN }];
      const attacks = [
        ...Object.keys(DRESSES).map((dress) => [dress, ...change]),
        ['plain', '/settings/mcp/tokens', { name: 'evil', scope: 'connections', expires: '0' }],
        ['plain', '/activity/undo', { change: 'chg_hd691gu278' }],
        ['plain', '/settings/account/delete', { username, password }],
        ['plain', '/settings/time', { timezone: 'Asia/Tokyo', locale: 'ja' }],
        ['plain', '/sign-out', {}],
      ];
      for (const [dress, action, fields] of attacks) {
        const { status, page, cookie } = await lure(victim.context, origin(), DRESSES[dress](form(action, { form_token: formToken, ...fields })));
        assert.equal(status, 403, action);
        if (host === 'localhost' && dress === 'plain') assert.match(cookie, /kith_session=/, 'the browser sent no cookie, so the test attacks nothing');
        await expectHeading(page, 'This form came from another site');
        await page.close();
      }
      await victim.page.goto('/settings/mcp/tokens');
      await expectHeading(victim.page, 'Personal tokens');
      assert.match(await victim.page.getByRole('region', { name: 'Your tokens' }).innerText(), /You have none/);
    });

    test('a form cannot consent for the member', async () => {
      const client = await register('Evil client', callback);
      const { url, checks } = await client.ask();
      await victim.page.goto(url.href);
      const request = await victim.page.locator('input[name=request]').inputValue();
      for (const [dress, wear] of Object.entries(DRESSES)) {
        const { status, page } = await lure(victim.context, origin(), wear(form('/oauth/consent', { request, decision: 'allow', scope: 'connections' })));
        assert.equal(status, 403, dress);
        await expectHeading(page, 'You are signed out'); // the session is ignored for such a form
        await page.close();
      }
      assert.equal(callback.left, 0);
      // The request is unchanged: the member can still answer it.
      await answerConsent(victim.page, 'Don’t allow');
      await assert.rejects(client.redeem((await callback.next()).url, checks), (error) => error.error === 'access_denied');
    });

    test('a form cannot sign the browser in as another member', async () => {
      const stranger = await newPerson(browser);
      await stranger.page.goto('/sign-in');
      const token = await stranger.page.locator('input[name=form_token]').first().inputValue();
      const { status, page } = await lure(stranger.context, origin(), form('/sign-in', { form_token: token, login: username, password }));
      assert.equal(status, 403);
      await expectHeading(page, 'This form came from another site');
      assert.deepEqual((await stranger.context.cookies()).map((cookie) => cookie.name), ['kith_form']);
      await stranger.leave();
    });

    test('no page can be framed', async () => {
      const client = await register('Framing client', callback);
      const { url } = await client.ask();
      const framed = ['/settings/security', '/sign-in', url.pathname + url.search];
      body = framed.map((path) => `<iframe src="${base}${escape(path)}"></iframe>`).join('');
      const page = await victim.context.newPage();
      const refusals = [];
      page.on('console', (message) => { if (/frame-ancestors|X-Frame-Options/i.test(message.text())) refusals.push(message.text()); });
      await page.goto(`${origin()}/`);
      await until('every frame is refused', () => refusals.length >= framed.length && page.frames().slice(1).every((frame) => frame.url().startsWith('chrome-error:')));
      assert.equal(page.frames().length, 1 + framed.length);
      await page.close();
    });

    test('no script can read a page', async () => {
      body = '';
      const page = await victim.context.newPage();
      await page.goto(`${origin()}/`);
      for (const path of ['/settings/mcp', '/settings/account/export', '/sign-in']) {
        const read = await page.evaluate((address) => fetch(address, { credentials: 'include' }).then((r) => r.text(), (error) => error.name), base + path);
        assert.equal(read, 'TypeError', path);
      }
      // The script cannot reach a window that it opens either.
      const [opened] = await Promise.all([page.waitForEvent('popup'), page.evaluate((address) => { globalThis.opened = open(address); }, `${base}/settings/mcp`)]);
      await expectHeading(opened, 'Agents');
      assert.equal(await page.evaluate(() => globalThis.opened.closed), true, 'the opener still holds the window');
      await page.close();
      await opened.close();
    });
  });
}

test('a script cannot read the cookie, and none runs on a page', async () => {
  await victim.page.goto('/settings/profile');
  assert.equal(await victim.page.evaluate(() => document.cookie), '');
  await victim.page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.injected = true';
    document.body.append(script);
    document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="globalThis.injected = true">');
  });
  assert.equal(await victim.page.evaluate(() => globalThis.injected), undefined);
});

test('after all attacks, the member can sign in with the same password', async () => {
  const again = await newPerson(browser);
  await again.page.goto('/sign-in');
  await signIn(again.page, username, password);
  await expectHeading(again.page, 'Today');
  await again.leave();
});

test('the consent page shows the redirect host unchanged', async () => {
  // The name is written from right to left; it must not reorder the address.
  const client = await register('\u05e7\u05dc\u05d5\u05d3 AI', { uri: 'https://claude.ai.oauth.evil.example/cb' });
  const { url } = await client.ask({ redirect_uri: 'https://claude.ai.oauth.evil.example/cb' });
  await victim.page.goto(url.href);
  const place = victim.page.locator('.destination');
  const owner = place.locator('strong');
  assert.equal(await place.innerText(), 'claude.ai.oauth.evil.example');
  assert.equal(await owner.innerText(), 'evil.example');
  const [whole, part] = [await place.boundingBox(), await owner.boundingBox()];
  assert.ok(part.x > whole.x && Math.abs(part.x + part.width - whole.x - whole.width) < 1, 'the registrable domain is not at the end of the address');
  assert.ok(await owner.evaluate((element) => Number(getComputedStyle(element).fontWeight) > Number(getComputedStyle(element.parentElement).fontWeight)));
});

test('a client with a look-alike address or name cannot be registered', async () => {
  const addresses = ['https://claude.ai%E2%81%84oauth%E2%81%84cb.evil.example/cb', 'https://%D1%81laude.ai/cb', 'https://\u0441laude.ai/cb', 'https://claude.ai\\.evil.example/cb', 'https://claude.ai@evil.example/cb'];
  for (const uri of addresses) await assert.rejects(register('Claude', { uri }), (error) => error.error === 'invalid_redirect_uri', uri);
  for (const name of ['Claude\u202e', 'Cl\u200baude', 'Claude\u{e0041}', 'Cla\u00adude']) {
    await assert.rejects(register(name, callback), (error) => error.error === 'invalid_client_metadata', escape(name));
  }
});
