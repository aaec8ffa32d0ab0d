// The clients that agents are built with, each used as its documentation shows. A client
// is opened with an address and a bearer token or a keeper of the SDK's OAuth tokens, or without. Then it has
//   tools        the names of the tools that it lists,
//   call(n, a)   the text that a model reads after calling tool n with arguments a,
//                also if the tool failed or the client refused the arguments,
//   prompts()    the names of prompts, and prompt(n, a) the text of one, if it knows prompts,
//   resources()  the addresses of resources, and read(address) the text of one,
//   templates()  the addresses of resources with names in braces, if it knows them,
//   close().
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { auth as aiAuth, createMCPClient } from '@ai-sdk/mcp';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { MCPClient, MCPOAuthClientProvider } from '@mastra/mcp';
import { auth as secondAuth, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { getAllMcpTools, MCPServerStreamableHttp, RunContext } from '@openai/agents';
import { keep } from './secrets.mjs';

const self = { name: 'kith-e2e', version: '1.0.0' };
const headersWith = (token) => (token ? { Authorization: `Bearer ${token}` } : {});
const textOf = (result) => result.content.map((block) => block.text).join('\n');

/** The path of a program of an npm package. */
const program = (path) => new URL(`../node_modules/${path}`, import.meta.url).pathname;

/** A client of the official SDK, of its first or its second version. */
async function connected(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    prompts: async () => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
    resources: async () => (await client.listResources()).resources.map((resource) => resource.uri),
    templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
    read: async (uri) => (await client.readResource({ uri })).contents[0].text,
    close: () => client.close(),
  };
}

/** mcp-remote in one of its versions, used by the official SDK. */
const remote = (version) => (url, token) => {
  const args = [program(`${version}/dist/proxy.js`), url, ...(token ? ['--header', `Authorization: Bearer ${token}`] : [])];
  const env = { ...process.env }; // has the folder for its files
  return connected(new FirstClient(self), new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
};

/** For each npm package a function that opens its client. */
export const clients = {
  '@modelcontextprotocol/sdk': (url, token, authProvider) =>
    connected(new FirstClient(self), new FirstTransport(new URL(url), { requestInit: { headers: headersWith(token) }, authProvider })),

  '@modelcontextprotocol/client': (url, token, authProvider) =>
    connected(new Client(self), new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: headersWith(token) }, authProvider })),

  'mcp-remote': remote('mcp-remote'),

  'mcp-remote 0.1.37': remote('mcp-remote-0.1.37'),

  '@modelcontextprotocol/inspector': async (url, token) => {
    const run = async (...flags) => {
      const args = [program('@modelcontextprotocol/inspector/clients/launcher/build/index.js'), '--cli', url, '--transport', 'http',
        ...(token ? ['--header', `Authorization: Bearer ${token}`] : []), ...flags];
      // It exits with an error if the tool failed, and prints the result all the same.
      const { stdout } = await promisify(execFile)(process.execPath, args).catch((failed) => failed);
      return JSON.parse(stdout);
    };
    const pairs = (args) => Object.entries(args).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
    const { tools } = await run('--method', 'tools/list');
    return {
      tools: tools.map((tool) => tool.name),
      call: async (name, args) => textOf(await run('--method', 'tools/call', '--tool-name', name, ...pairs(args).flatMap((pair) => ['--tool-arg', pair]))),
      prompts: async () => (await run('--method', 'prompts/list')).prompts.map((prompt) => prompt.name),
      prompt: async (name, args) => {
        const given = pairs(args).flatMap((pair) => ['--prompt-args', pair]);
        return (await run('--method', 'prompts/get', '--prompt-name', name, ...given)).messages[0].content.text;
      },
      resources: async () => (await run('--method', 'resources/list')).resources.map((resource) => resource.uri),
      templates: async () => (await run('--method', 'resources/templates/list')).resourceTemplates.map((template) => template.uriTemplate),
      read: async (uri) => (await run('--method', 'resources/read', '--uri', uri)).contents[0].text,
      close: () => {},
    };
  },

  '@ai-sdk/mcp': async (url, token, authProvider) => {
    const client = await createMCPClient({ transport: { type: 'http', url, headers: headersWith(token), authProvider } });
    const tools = await client.tools();
    return {
      tools: Object.keys(tools),
      call: async (name, args) => textOf(await tools[name].execute(args, { toolCallId: 'call', messages: [] })),
      prompts: async () => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
      prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
      resources: async () => (await client.listResources()).resources.map((resource) => resource.uri),
      templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
      read: async (uri) => (await client.readResource({ uri })).contents[0].text,
      close: () => client.close(),
    };
  },

  '@openai/agents': async (url, token, authProvider) => {
    const server = new MCPServerStreamableHttp({ name: 'kith', url, requestInit: { headers: headersWith(token) }, authProvider });
    await server.connect();
    const tools = await getAllMcpTools([server]);
    return {
      tools: tools.map((tool) => tool.name),
      call: async (name, args) => (await tools.find((tool) => tool.name === name).invoke(new RunContext(), JSON.stringify(args))).text,
      resources: async () => (await server.listResources()).resources.map((resource) => resource.uri),
      templates: async () => (await server.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
      read: async (uri) => (await server.readResource(uri)).contents[0].text,
      close: () => server.close(),
    };
  },

  '@langchain/mcp-adapters': async (url, token, authProvider) => {
    const client = new MultiServerMCPClient({ mcpServers: { kith: { transport: 'http', url, headers: headersWith(token), authProvider } } });
    const tools = await client.getTools();
    return {
      tools: tools.map((tool) => tool.name),
      call: (name, args) => tools.find((tool) => tool.name === name).invoke(args).then((block) => block.text, (error) => error.message),
      resources: async () => (await client.listResources()).kith.map((resource) => resource.uri),
      templates: async () => (await client.listResourceTemplates()).kith.map((template) => template.uriTemplate),
      read: async (uri) => (await client.readResource('kith', uri))[0].text,
      close: () => client.close(),
    };
  },

  '@mastra/mcp': (url, token) => mastra(new MCPClient({ servers: { kith: { url: new URL(url), requestInit: { headers: headersWith(token) } } } })),
};

async function mastra(client) {
  const tools = await client.listTools();
  return {
    tools: Object.keys(tools).map((name) => name.replace('kith_', '')),
    // Arguments that its validation refuses are an answer with a message.
    call: (name, args) => tools[`kith_${name}`].execute(args).then((answer) => answer.message ?? JSON.stringify(answer), (error) => error.message),
    prompts: async () => (await client.prompts.list()).kith.map((prompt) => prompt.name),
    prompt: async (name, args) => (await client.prompts.get({ serverName: 'kith', name, args })).messages[0].content.text,
    resources: async () => (await client.resources.list()).kith.map((resource) => resource.uri),
    templates: async () => (await client.resources.templates()).kith.map((template) => template.uriTemplate),
    read: async (uri) => (await client.resources.read('kith', uri)).contents[0].text,
    close: () => client.disconnect(),
  };
}

/** Mastra's storage in memory, which notes the tokens. */
class Storage {
  #stored = new Map();

  get(key) { return this.#stored.get(key); }
  delete(key) { this.#stored.delete(key); }
  set(key, value) {
    for (const [, name, token] of value.matchAll(/"(access_token|refresh_token)":"([^"]+)"/g)) keep(name, token);
    this.#stored.set(key, value);
  }
}

/**
 * For each npm package whose client runs in this process a function that opens it without a credential, and
 * with the tokens for the code that the keeper is called back with.
 */
export const signIns = {
  ...Object.fromEntries([
    ['@modelcontextprotocol/sdk', auth], ['@modelcontextprotocol/client', secondAuth], ['@ai-sdk/mcp', aiAuth], ['@openai/agents', auth], ['@langchain/mcp-adapters', auth],
  ].map(([name, exchange]) => [name, async (url, keeper) => {
    const refusal = await clients[name](url, undefined, keeper).then(() => undefined, (error) => error);
    if (!refusal) throw new Error(`${name} got in without a credential`);
    await exchange(keeper, { serverUrl: url, authorizationCode: await keeper.code(), iss: new URL(url).origin }); // which the keeper checked
    return clients[name](url, undefined, keeper);
  }])),

  // It registers itself nowhere: whoever builds an agent with it registers the application.
  '@mastra/mcp': async (url, keeper) => {
    const registered = await fetch(new URL('/oauth/register', url), {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(keeper.clientMetadata),
    });
    const authProvider = new MCPOAuthClientProvider({
      redirectUrl: keeper.redirectUrl, clientMetadata: keeper.clientMetadata, clientInformation: await registered.json(),
      onRedirectToAuthorization: (address) => keeper.redirectToAuthorization(address), storage: new Storage(),
    });
    const client = new MCPClient({ servers: { kith: { url: new URL(url), authProvider } } });
    keeper.stopListening(); // it listens by itself
    await client.authenticate('kith');
    return mastra(client);
  },
};
