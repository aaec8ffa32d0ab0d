// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/oauth -run TestWalkSDK
// The official SDK's own auth(), from the 401 of a tool call to revocation; a
// browser does the steps that need a user.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { answerConsent, expectHeading, newPerson, openBrowser, press, signIn } from '../harness/browser.mjs';
import { listenForCallback } from '../harness/callback.mjs';
import { call, setting } from '../harness/client.mjs';
import { Keeper } from '../harness/keeper.mjs';
import { callWith, until } from '../harness/raw.mjs';

const base = setting('BASE_URL');

let browser;
let callback;
let ada;

before(async () => {
  [browser, callback] = await Promise.all([openBrowser(), listenForCallback()]);
  ada = await newPerson(browser);
  await ada.page.goto('/sign-in');
  await signIn(ada.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await expectHeading(ada.page, 'Today');
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
    callback?.close();
  }
});

/** An application whose authorization requests Ada allows or denies. */
class Application extends Keeper {
  constructor(name) {
    super(name, callback);
  }

  /** Answers the latest authorization request as the person, and returns the code. */
  async code(decision = 'Allow') {
    await ada.page.goto(this.asked.at(-1).href);
    await answerConsent(ada.page, decision);
    return super.code();
  }
}

async function start(path, keeper) {
  const transport = new StreamableHTTPClientTransport(new URL(base + path), { authProvider: keeper });
  const client = new Client({ name: 'kith-walk', version: '1.0.0' });
  return { client, transport };
}

for (const path of ['/mcp/v1', '/mcp']) {
  test(`${path}: from the first 401 to revocation`, async () => {
    const keeper = new Application(`SDK at ${path}`);
    let { client, transport } = await start(path, keeper);

    // /mcp/v1 lists its tools without a token, /mcp requires one at once.
    if (path === '/mcp') {
      await assert.rejects(client.connect(transport), UnauthorizedError);
    } else {
      await client.connect(transport);
      assert.ok((await client.listTools()).tools.length >= 8);
      await assert.rejects(client.callTool({ name: 'get_account', arguments: {} }), UnauthorizedError);
    }
    assert.equal(keeper.asked.length, 1);
    const { authorizationServerUrl, resourceMetadataUrl, resourceMetadata } = keeper.discoveryState();
    assert.equal(resourceMetadataUrl, `${base}/.well-known/oauth-protected-resource${path}`);
    assert.equal(resourceMetadata.resource, base + path);
    assert.equal(new URL(authorizationServerUrl).origin, base);
    assert.ok(keeper.clientInformation().client_id);
    const asked = keeper.asked[0].searchParams;
    assert.equal(asked.get('resource'), base + path);
    assert.equal(asked.get('code_challenge_method'), 'S256');

    await transport.finishAuth(await keeper.code());
    assert.equal(keeper.pairs.length, 1);
    await client.close();
    ({ client, transport } = await start(path, keeper));
    await client.connect(transport);
    await client.listTools();
    const account = await call(client, 'get_account');
    assert.equal(account.member.username, setting('MEMBER_USERNAME'));
    assert.equal(account.credential.kind, 'oauth');
    const { connection } = await call(client, 'create_connection', { name: `Sdk Walker of ${path}` });

    // The access token expires; the SDK refreshes it at the next call.
    const aged = keeper.tokens();
    await until('the access token has expired', async () => (await callWith(aged.access_token)).status === 401);
    const before = keeper.pairs.length;
    assert.equal((await call(client, 'get_connection', { id: connection.id })).connection.name, connection.name);
    assert.ok(keeper.pairs.length > before, 'the tokens were not refreshed');
    assert.notEqual(keeper.tokens().refresh_token, aged.refresh_token);
    assert.equal(keeper.asked.length, 1, 'the user had to consent again');

    // The user revokes access on the settings page: the next call needs a new consent.
    await ada.page.goto('/settings/mcp');
    const row = ada.page.getByRole('region', { name: 'Connected agents' }).getByRole('listitem').filter({ has: ada.page.getByRole('heading', { name: keeper.name, exact: true }) });
    await row.locator('summary').first().click();
    await row.locator('summary').filter({ hasText: 'Revoke' }).click();
    await press(row, `Revoke the access of ${keeper.name}`);
    await ada.page.getByRole('status').filter({ hasText: 'The agent is disconnected.' }).waitFor();
    assert.equal((await callWith(keeper.tokens().access_token)).status, 401);
    await assert.rejects(client.callTool({ name: 'get_account', arguments: {} }), UnauthorizedError);
    assert.equal(keeper.asked.length, 2);
    assert.equal(keeper.tokens(), undefined, 'the SDK keeps revoked tokens');

    // The same registration can get access again.
    const { client_id: registered } = keeper.clientInformation();
    await transport.finishAuth(await keeper.code());
    assert.equal(keeper.clientInformation().client_id, registered);
    assert.equal((await call(client, 'get_account')).member.username, setting('MEMBER_USERNAME'));

    // The application revokes its token (RFC 7009); the SDK has no function for it.
    const { authorizationServerMetadata: server } = keeper.discoveryState();
    const last = keeper.tokens();
    const response = await fetch(server.revocation_endpoint, { method: 'POST', body: new URLSearchParams({ token: last.refresh_token, client_id: registered }) });
    assert.equal(response.status, 200);
    assert.equal((await callWith(last.access_token)).status, 401);
    await assert.rejects(client.callTool({ name: 'get_account', arguments: {} }), UnauthorizedError);
    await client.close();
  });
}

test('auth() alone, and a user who denies access', async () => {
  const keeper = new Application('SDK that is refused');
  const options = { serverUrl: `${base}/mcp/v1`, scope: 'connections account' };
  assert.equal(await auth(keeper, options), 'REDIRECT');
  assert.equal(keeper.asked[0].searchParams.get('scope'), 'connections account');
  assert.equal(await keeper.code('Don’t allow'), null);

  assert.equal(await auth(keeper, options), 'REDIRECT');
  assert.equal(await auth(keeper, { ...options, authorizationCode: await keeper.code() }), 'AUTHORIZED');
  assert.deepEqual(keeper.tokens().scope.split(' ').sort(), ['account', 'connections']);
  assert.equal(await auth(keeper, options), 'AUTHORIZED', 'the refresh failed');
  assert.equal(keeper.pairs.length, 2);
});

// The backend's tests cover the whole flow of such a client; here the document's host is an
// internal address, which the service refuses to fetch from.
test('a client with a metadata document does not register; its document is not fetched from an internal address', async () => {
  const keeper = new Application('SDK with a document');
  keeper.clientMetadataUrl = 'https://agent.kith.localhost/client.json';
  assert.equal(await auth(keeper, { serverUrl: `${base}/mcp/v1` }), 'REDIRECT');
  assert.equal(keeper.asked[0].searchParams.get('client_id'), keeper.clientMetadataUrl);
  assert.equal(keeper.asked[0].searchParams.get('scope'), keeper.discoveryState().resourceMetadata.scopes_supported.join(' '));

  await ada.page.goto(keeper.asked[0].href);
  await expectHeading(ada.page, 'The application cannot be checked');
  await ada.page.getByText('agent.kith.localhost').waitFor();
  assert.equal(ada.page.url(), keeper.asked[0].href);
});
