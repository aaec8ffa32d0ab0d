// Calls without a client library, to see whether a bearer token works at this moment.
import { keep, setting } from './client.mjs';

/** Runs a tool with a bearer; the answer has status, challenge and message. */
export async function callWith(bearer, tool = 'get_account', args = {}, path = '/mcp/v1') {
  const response = await fetch(setting('BASE_URL') + path, {
    method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } }),
  });
  const message = await response.json();
  keep(tool, message.result?.structuredContent);
  return { status: response.status, challenge: response.headers.get('www-authenticate'), message };
}

/** Waits until the condition holds. */
export async function until(what, condition) {
  const deadline = Date.now() + 30_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`${what}: still not so`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}
