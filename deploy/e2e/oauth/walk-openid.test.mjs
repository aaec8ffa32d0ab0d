// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/oauth -run TestWalkOpenIDClient
// openid-client goes from discovery to revocation; a browser does the steps that need a
// user.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as oauth from 'openid-client';
import { answerConsent, expectHeading, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { setting } from '../harness/client.mjs';
import { register } from '../harness/openid.mjs';
import { callWith } from '../harness/raw.mjs';

const base = setting('BASE_URL');

let browser;
let callback;
let client;
let ada;

before(async () => {
  [browser, callback] = await Promise.all([openBrowser(), listenForCallback()]);
  [ada, client] = await Promise.all([newPerson(browser), register('Walking <b>client</b>', callback)]);
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
    callback?.close();
  }
});

/** Sends an authorization request, which the signed-in person allows; returns the tokens. */
async function allowed(parameters) {
  const { url, checks } = await client.ask(parameters);
  await ada.page.goto(url.href);
  await answerConsent(ada.page, 'Allow');
  return client.redeem((await callback.next()).url, checks);
}

async function mustBeDead(bearer) {
  const { status, challenge, message } = await callWith(bearer);
  assert.equal(status, 401);
  assert.match(challenge, /^Bearer .*resource_metadata="[^"]*\/\.well-known\/oauth-protected-resource\/mcp\/v1"/);
  assert.match(challenge, /error="invalid_token"/);
  assert.ok(message.error);
}

const refused = (code) => (error) => {
  assert.equal(error.error, code);
  return true;
};

test('discovery has everything that openid-client needs', () => {
  const server = client.config.serverMetadata();
  assert.equal(server.issuer, base);
  assert.ok(server.supportsPKCE('S256'));
  assert.equal(server.authorization_response_iss_parameter_supported, true);
  for (const scope of ['connections', 'timeline', 'account', 'write']) assert.ok(server.scopes_supported.includes(scope), scope);
  assert.ok(client.config.clientMetadata().client_id);
  assert.equal(client.config.clientMetadata().client_secret, undefined);
});

test('from sign-in to revocation', async () => {
  const { url, checks } = await client.ask();
  await ada.page.goto(url.href);
  await signIn(ada.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));

  // The page shows the client's name as plain text, and the host of the redirect URI.
  await expectHeading(ada.page, 'Allow access to your account?');
  const shown = await ada.page.getByRole('main').innerText();
  assert.ok(shown.includes('Walking <b>client</b>'), shown);
  assert.ok(shown.includes(new URL(callback.uri).host), shown);
  assert.ok(shown.includes(setting('MEMBER_USERNAME')), shown);
  assert.equal(await ada.page.locator('input[name=scope][type=checkbox]').count(), 3, 'a checkbox for each area, in a closed section');
  await answerConsent(ada.page, 'Allow', { untick: ['timeline'] });

  const landed = await callback.next();
  await expectHeading(ada.page, 'Back at the client');
  assert.equal(landed.referer, undefined, 'the client receives a Referer');
  assert.deepEqual([...landed.url.searchParams.keys()].sort(), ['code', 'iss', 'state']);

  // openid-client refuses another issuer or state before it uses the code.
  const mixedUp = new URL(landed.url);
  mixedUp.searchParams.set('iss', 'https://evil.example');
  await assert.rejects(client.redeem(mixedUp, checks), (error) => /"iss"/.test(error.cause.message));
  await assert.rejects(client.redeem(landed.url, { ...checks, expectedState: oauth.randomState() }), (error) => /"state"/.test(error.cause.message));

  const first = await client.redeem(landed.url, checks);
  assert.equal(first.token_type, 'bearer');
  assert.deepEqual(first.scope.split(' ').sort(), ['account', 'connections', 'write']);
  assert.ok(first.expires_in > 0);

  const account = (await callWith(first.access_token)).message.result.structuredContent;
  assert.equal(account.member.username, setting('MEMBER_USERNAME'));
  assert.equal(account.credential.kind, 'oauth');
  assert.deepEqual(account.credential.scopes.toSorted(), ['account', 'connections', 'write']);
  const { message: timeline } = await callWith(first.access_token, 'list_timeline');
  assert.equal(timeline.error.code, -32001, 'an unticked scope is granted');
  assert.deepEqual(timeline.error.data.required_scopes, ['timeline']);
  const { message: made } = await callWith(first.access_token, 'create_connection', { name: 'Wanda Walker' });
  assert.equal(made.result.structuredContent.connection.name, 'Wanda Walker');

  const second = await client.refresh(first);
  assert.notEqual(second.access_token, first.access_token);
  assert.notEqual(second.refresh_token, first.refresh_token);
  assert.deepEqual(second.scope.split(' ').sort(), ['account', 'connections', 'write']);
  await mustBeDead(first.access_token);
  assert.equal((await callWith(second.access_token)).status, 200);

  await client.revoke(second.refresh_token);
  await mustBeDead(second.access_token);
  await assert.rejects(client.refresh(second), refused('invalid_grant'));
  await client.revoke(second.access_token); // 200 for a revoked token too
});

test('a reused refresh token revokes the whole chain', async () => {
  const first = await allowed();
  const second = await client.refresh(first);
  assert.equal((await callWith(second.access_token)).status, 200);
  await assert.rejects(client.refresh(first), refused('invalid_grant'));
  await mustBeDead(second.access_token);
  await assert.rejects(client.refresh(second), refused('invalid_grant'));
});

test('revoking the access token ends the pair', async () => {
  const pair = await allowed();
  await client.revoke(pair.access_token);
  await mustBeDead(pair.access_token);
  await assert.rejects(client.refresh(pair), refused('invalid_grant'));
});

test('a code works once', async () => {
  const { url, checks } = await client.ask();
  await ada.page.goto(url.href);
  await answerConsent(ada.page, 'Allow');
  const landed = await callback.next();
  await assert.rejects(client.redeem(landed.url, { ...checks, pkceCodeVerifier: oauth.randomPKCECodeVerifier() }), refused('invalid_grant'));
  const pair = await client.redeem(landed.url, checks); // a wrong verifier does not use up the code
  assert.equal((await callWith(pair.access_token)).status, 200);
  await assert.rejects(client.redeem(landed.url, checks), refused('invalid_grant'));
});

test('without a scope parameter, all scopes are requested', async () => {
  const { url, checks } = await client.ask();
  url.searchParams.delete('scope');
  await ada.page.goto(url.href);
  await answerConsent(ada.page, 'Allow');
  const tokens = await client.redeem((await callback.next()).url, checks);
  assert.deepEqual(tokens.scope.split(' ').sort(), client.config.serverMetadata().scopes_supported.toSorted());
});

test('the user can switch to another account', async () => {
  const { url, checks } = await client.ask({ scope: 'account' });
  await ada.page.goto(url.href);
  await press(ada.page, 'Use another account');
  await signIn(ada.page, setting('OTHER_USERNAME'), setting('OTHER_PASSWORD'));
  await answerConsent(ada.page, 'Allow');
  const { access_token: bearer } = await client.redeem((await callback.next()).url, checks);
  assert.equal((await callWith(bearer)).message.result.structuredContent.member.username, setting('OTHER_USERNAME'));
});

test('the user can deny access', async () => {
  const { url, checks } = await client.ask();
  await ada.page.goto(url.href);
  await answerConsent(ada.page, 'Don’t allow');
  await assert.rejects(client.redeem((await callback.next()).url, checks), refused('access_denied'));
});

for (const [what, parameters, code] of [
  ['an unknown scope', { scope: 'connections everything' }, 'invalid_scope'],
  ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ['the resource of another server', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
]) {
  test(`${what} is refused at the client`, async () => {
    const { url, checks } = await client.ask(parameters);
    await ada.page.goto(url.href);
    await expectHeading(ada.page, 'Back at the client');
    await assert.rejects(client.redeem((await callback.next()).url, checks), refused(code));
  });
}

for (const [what, parameters, title] of [
  ['an unknown client', { client_id: 'cli_01J00000000000000000000000' }, 'Unknown application'],
  ['an address that is not registered', { redirect_uri: 'https://evil.example/callback' }, 'Unknown return address'],
]) {
  test(`${what} is shown on a page, without a redirect`, async () => {
    const { url } = await client.ask(parameters);
    const response = await ada.page.goto(url.href);
    assert.equal(response.status(), 400);
    await expectHeading(ada.page, title);
    assert.equal(new URL(ada.page.url()).origin, base);
    assert.equal(callback.left, 0);
  });
}
