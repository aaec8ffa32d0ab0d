// Shared code of the SDK tests: a connected client, and calls that must succeed.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The value of an environment variable that the Go test sets. */
export function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: these tests are run by go test ./e2e`);
  return value;
}

/** Keeps a structured answer, which the Go test validates at the end of the run, unless an older build gave it. */
export function keep(tool, content) {
  if (content && !process.env.BEFORE) appendFileSync(join(setting('KITH_ANSWERS'), `node-${process.pid}.jsonl`), `${JSON.stringify({ tool, content })}\n`);
}

/**
 * A client that has initialized and listed the tools: from then on the SDK holds
 * every structured answer to its tool's outputSchema.
 */
export async function connect(path, { token, fetch, headers: others } = {}) {
  const headers = { ...others, ...(token && { Authorization: `Bearer ${token}` }) };
  const transport = new StreamableHTTPClientTransport(new URL(setting('BASE_URL') + path), { requestInit: { headers }, fetch });
  const client = new Client({ name: 'kith-e2e', version: '1.0.0' });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const callTool = client.callTool.bind(client);
  client.callTool = async (params, ...rest) => {
    const result = await callTool(params, ...rest);
    keep(params.name, result.structuredContent);
    return result;
  };
  return { client, tools };
}

/** Calls a tool that must succeed, and returns what it answered. */
export async function call(client, name, args = {}) {
  return succeeded(name, await client.callTool({ name, arguments: args }));
}

/** Returns what a tool answered, which must have succeeded. */
export function succeeded(name, result) {
  assert.ok(!result.isError, `${name} failed: ${result.content?.[0]?.text}`);
  assert.ok(result.structuredContent, `${name} has no structured content`);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, `${name}: the text block says something else`);
  return result.structuredContent;
}

/** Calls a tool that must return a tool error, and returns what a model reads. */
export async function fail(client, name, args) {
  return refused(name, await client.callTool({ name, arguments: args }));
}

/** Returns what a model reads of a result, which must be a tool error. */
export function refused(name, result) {
  assert.equal(result.isError, true, `${name} did not fail: ${result.content?.[0]?.text}`);
  assert.equal(result.structuredContent, undefined);
  return result.content[0].text;
}

/** All hits of a search, page by page. */
export async function search(client, query, filters = {}) {
  const hits = [];
  let cursor;
  for (let page = 0; ; page++) {
    assert.ok(page < 200, `${JSON.stringify(query)} has no last page`);
    const answer = await call(client, 'search_connections', { query, limit: 50, ...filters, ...(cursor && { cursor }) });
    assert.equal(answer.has_more, answer.next_cursor !== undefined, 'has_more and next_cursor disagree');
    hits.push(...answer.hits);
    if (!answer.has_more) break;
    cursor = answer.next_cursor;
  }
  assert.equal(new Set(hits.map((hit) => hit.id)).size, hits.length, 'two pages have the same person');
  return hits;
}

/** Wants the search to find the person. */
export async function mustFind(client, query, person) {
  const hits = await search(client, query);
  assert.ok(hits.some((hit) => hit.id === person.id), `${JSON.stringify(query)} does not find ${person.name} (${person.id}) in ${hits.length} hits`);
  return hits;
}
