// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/oauth -run TestConformanceOfAuthorization
// The official conformance suite tests the authorization server; a browser does the steps
// that need a user.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { answerConsent, newPerson, openBrowser, signIn } from '../harness/browser.mjs';
import { setting } from '../harness/client.mjs';
import { register } from '../harness/openid.mjs';
import { keep } from '../harness/secrets.mjs';

const base = setting('BASE_URL');
const PORT = setting('CALLBACK_PORT');

let browser;
let ada;

before(async () => {
  browser = await openBrowser();
  ada = await newPerson(browser);
});

after(async () => {
  try {
    await ada?.leave();
  } finally {
    await browser?.close();
  }
});

async function allow(address) {
  await ada.page.goto(address);
  await signIn(ada.page, setting('MEMBER_USERNAME'), setting('MEMBER_PASSWORD'));
  await answerConsent(ada.page, 'Allow');
  await ada.page.getByText('You can close this page').waitFor();
  keep('authorization code', new URL(ada.page.url()).searchParams.get('code'));
}

test('the checks of the authorization server', async () => {
  const { config } = await register('Conformance suite', { uri: `http://127.0.0.1:${PORT}/callback` });
  const suite = spawn(process.execPath, [
    '../node_modules/@modelcontextprotocol/conformance/dist/index.js', 'authorization', '--url', base, '--resource', `${base}/mcp/v1`,
    '--client-id', config.clientMetadata().client_id, '--port', PORT,
  ], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(suite, 'exit');
  const lines = [];
  try {
    for await (const line of createInterface({ input: suite.stdout })) {
      lines.push(line);
      if (line.startsWith(`${base}/oauth/authorize?`)) await allow(line);
    }
  } catch (error) {
    suite.kill(); // it would wait for the person for five minutes
    throw error;
  }
  const [code] = await ended;
  const report = lines.join('\n');
  assert.equal(code, 0, report);
  // Each scenario is checked by name, so a skipped or new one fails the test.
  const passed = lines.filter((line) => line.startsWith('✓ ')).map((line) => line.slice(2).split(':')[0]);
  assert.deepEqual(passed, ['authorization-server-metadata-endpoint', 'authorization-code-grant'], report);
  assert.ok(!/SKIPPED/.test(report), report);
});
