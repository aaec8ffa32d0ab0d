// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestClients
// The clients that agents are built with, unmodified and in their current versions.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import Ajv from 'ajv';
import { connect, keep, setting } from '../harness/client.mjs';
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
    ['in the sandbox', sandbox, undefined, 'search_connections', { query: 'microgrids' }, ({ hits }) => hits[0].headline.endsWith('at Sunfold Microgrids')],
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

// Every client but two knows prompts, and all know resources.
for (const [name, open] of Object.entries(clients)) {
  test(`${name} reads prompts and resources`, async () => {
    const client = await open(member, token);
    try {
      assert.equal(client.prompts === undefined, ['@openai/agents', '@langchain/mcp-adapters'].includes(name));
      if (client.prompts) {
        const { prompts } = (await send(member, 'prompts/list', {}, token)).result;
        assert.deepEqual((await client.prompts()).sort(), prompts.map((prompt) => prompt.name).sort());
        assert.match(await client.prompt('after_meeting', { people: 'Clara' }), /^I met Clara\./);
      }
      const [today] = await client.resources();
      assert.ok(Array.isArray(JSON.parse(await client.read(today)).items));
      const { structuredContent: created } = (await send(member, 'tools/call', { name: 'create_connection', arguments: { name: `Dora of ${name}` } }, token)).result;
      const [template] = await client.templates();
      assert.equal(JSON.parse(await client.read(template.replace('{id}', created.connection.id))).connection.name, `Dora of ${name}`);
    } finally {
      await client.close();
    }
  });
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

// The SDK checks every result with the schemas of the specification.
describe('prompts, resources and research through the SDK', () => {
  for (const [place, path, bearer] of [['in the sandbox', '/mcp/sandbox', undefined], ['with a bearer', '/mcp/v1', token]]) {
    test(`prompts ${place}`, async () => {
      const { client } = await connect(path, { token: bearer });
      const { prompts } = await client.listPrompts();
      assert.ok(prompts.some(({ name }) => name === 'morning_brief'), JSON.stringify(prompts));
      for (const { name, arguments: args } of prompts) {
        const values = Object.fromEntries(args.filter((one) => one.required).map((one) => [one.name, 'Ada']));
        const { messages } = await client.getPrompt({ name, arguments: values });
        assert.match(messages[0].content.text, /^1\. /m);
        for (const argument of args) {
          const { completion } = await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument.name, value: '' } });
          for (const value of completion.values) {
            assert.ok((await client.getPrompt({ name, arguments: { ...values, [argument.name]: value } })).messages[0].content.text.includes(value));
          }
        }
      }
      await assert.rejects(client.getPrompt({ name: 'sing' }), (error) => error.code === -32602);
      await client.close();
    });

    test(`resources ${place}`, async () => {
      const { client } = await connect(path, { token: bearer });
      const { resources } = await client.listResources();
      const read = async (uri) => JSON.parse((await client.readResource({ uri })).contents[0].text);
      assert.ok(Array.isArray((await read(resources[0].uri)).items));
      const { resourceTemplates } = await client.listResourceTemplates();
      const { structuredContent: found } = await client.callTool({ name: 'search_connections', arguments: { limit: 1 } });
      const uri = resourceTemplates[0].uriTemplate.replace('{id}', found.hits[0].id);
      assert.equal((await read(uri)).connection.name, found.hits[0].name);
      await assert.rejects(client.readResource({ uri: 'kith://yesterday' }), (error) => error.code === -32002);
      await client.close();
    });
  }

  for (const [place, path, options] of [
    ['at its own address', '/mcp/v1/research', { token }],
    ['by a header', '/mcp/v1', { token, headers: { 'X-MCP-Toolsets': 'research' } }],
    ['in the sandbox', '/mcp/sandbox', { headers: { 'X-MCP-Toolsets': 'research' } }],
  ]) {
    test(`research ${place}`, async () => {
      const { client, tools } = await connect(path, options);
      assert.deepEqual(tools.map(({ name }) => name), ['search', 'fetch']);
      const { structuredContent: { results } } = await client.callTool({ name: 'search', arguments: { query: options.token ? 'Clara' : 'microgrids' } });
      assert.ok(results.length > 0);
      for (const { id, title, url } of results) {
        const { structuredContent: document, content } = await client.callTool({ name: 'fetch', arguments: { id } });
        assert.deepEqual(JSON.parse(content[0].text), document);
        assert.equal(document.id, id);
        assert.equal(document.url, url);
        assert.ok(title && document.title && document.text && document.metadata.kind, JSON.stringify(document));
      }
      await client.close();
    });
  }
});
