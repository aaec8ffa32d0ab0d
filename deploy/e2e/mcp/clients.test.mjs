// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestClients
// The clients that agents are built with, unmodified and in their current versions.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import Ajv from 'ajv';
import { keep, setting } from '../harness/client.mjs';
import { clients } from '../harness/clients.mjs';

const sandbox = `${setting('BASE_URL')}/mcp/sandbox`;
const member = `${setting('BASE_URL')}/mcp/v1`;
const token = setting('MEMBER_TOKEN');

/** Sends a JSON-RPC request with fetch, without a client library. */
async function send(url, method, params, bearer) {
  const headers = { 'Content-Type': 'application/json', ...(bearer && { Authorization: `Bearer ${bearer}` }) };
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })).json();
}

for (const [name, open] of Object.entries(clients)) {
  for (const [place, url, bearer, tool, args, answered] of [
    ['in the sandbox', sandbox, undefined, 'search_connections', { query: 'microgrids' }, ({ hits }) => hits[0].organization === 'Sunfold Microgrids'],
    ['with a bearer', member, token, 'create_connection', { name: `Clara of ${name}`, tags: ['client'] }, ({ connection }) => connection.name === `Clara of ${name}`],
  ]) {
    test(`${name} lists and calls ${place}`, async () => {
      const client = await open(url, bearer);
      try {
        const { tools } = (await send(url, 'tools/list', {}, bearer)).result;
        assert.ok(tools.length > 40);
        assert.deepEqual(client.tools.toSorted(), tools.map((one) => one.name).sort());
        const answer = JSON.parse(await client.call(tool, args));
        assert.ok(answered(answer), JSON.stringify(answer));
        keep(tool, answer);
        assert.match(await client.call('search_connections', { qury: 'microgrids' }), /"qury" is not an argument of this tool; did you mean "query"\?/);
        assert.match(await client.call('get_connection', { id: 'Ada' }), /a name is not an id; search_connections returns ids such as con_/);
      } finally {
        await client.close();
      }
    });
  }
}

// LangChain validates arguments with the published schema, and its error says only that they do
// not match. Models need types, enums and required members in the schemas. The schemas must have
// no other constraints, so that other wrong calls get Kith's own, better error.
describe('wrong calls through LangChain', async () => {
  const listed = new Map((await send(member, 'tools/list', {}, token)).result.tools.map((tool) => [tool.name, tool]));
  const calls = readFileSync(setting('WRONG_CALLS'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  const ajv = new Ajv({ strict: false, allErrors: true });

  test('reach Kith unless they break a type, an enum or a required member', async () => {
    const langchain = await clients['@langchain/mcp-adapters'](member, token);
    const reached = [];
    try {
      for (const { tool, arguments: args } of calls) {
        if (!listed.has(tool)) continue; // LangChain cannot call a tool that is not listed
        const text = await langchain.call(tool, args);
        const broken = ajv.validate(listed.get(tool).inputSchema, args) ? [] : ajv.errors.map((error) => error.keyword);
        if (broken.length > 0) {
          assert.deepEqual(broken.filter((keyword) => !['type', 'enum', 'required'].includes(keyword)), [], `${tool} ${JSON.stringify(args)}`);
          assert.match(text, /did not match expected schema/);
          continue;
        }
        const { result, error } = await send(member, 'tools/call', { name: tool, arguments: args }, token);
        const message = error?.message ?? result.content[0].text;
        assert.ok(error || result.isError, `${tool} ${JSON.stringify(args)} is accepted`);
        for (const sentence of message.split('\n')) assert.ok(text.includes(sentence), `${tool} ${JSON.stringify(args)}: ${text}, not ${sentence}`);
        reached.push(tool);
      }
    } finally {
      await langchain.close();
    }
    assert.ok(reached.length >= 60, `${reached.length} of ${calls.length} calls reach Kith`);
  });
});
