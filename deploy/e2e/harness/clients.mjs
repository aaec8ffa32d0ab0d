// The clients that agents are built with, each used as its documentation shows. A client
// is opened with an address and a bearer token, or without a token. Then it has
//   tools       the names of the tools that it lists,
//   call(n, a)  the text that a model reads after calling tool n with arguments a,
//               also if the tool failed or the client refused the arguments,
//   close().
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createMCPClient } from '@ai-sdk/mcp';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { MCPClient } from '@mastra/mcp';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { getAllMcpTools, MCPServerStreamableHttp, RunContext } from '@openai/agents';

const self = { name: 'kith-e2e', version: '1.0.0' };
const headersWith = (token) => (token ? { Authorization: `Bearer ${token}` } : {});
const textOf = (result) => result.content.map((block) => block.text).join('\n');

/** The path of a program of an npm package. */
const program = (path) => new URL(`../node_modules/${path}`, import.meta.url).pathname;

/** For each npm package a function that opens its client. */
export const clients = {
  '@modelcontextprotocol/sdk': (url, token) =>
    connected(new FirstClient(self), new FirstTransport(new URL(url), { requestInit: { headers: headersWith(token) } })),

  '@modelcontextprotocol/client': (url, token) =>
    connected(new Client(self), new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: headersWith(token) } })),

  'mcp-remote': (url, token) => {
    const args = [program('mcp-remote/dist/proxy.js'), url, ...(token ? ['--header', `Authorization: Bearer ${token}`] : [])];
    const env = { ...process.env }; // has the folder for its files
    return connected(new FirstClient(self), new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
  },

  '@modelcontextprotocol/inspector': async (url, token) => {
    const run = async (...flags) => {
      const args = [program('@modelcontextprotocol/inspector/clients/launcher/build/index.js'), '--cli', url, '--transport', 'http',
        ...(token ? ['--header', `Authorization: Bearer ${token}`] : []), ...flags];
      // It exits with an error if the tool failed, and prints the result all the same.
      const { stdout } = await promisify(execFile)(process.execPath, args).catch((failed) => failed);
      return JSON.parse(stdout);
    };
    const { tools } = await run('--method', 'tools/list');
    return {
      tools: tools.map((tool) => tool.name),
      call: async (name, args) => {
        const given = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`]);
        return textOf(await run('--method', 'tools/call', '--tool-name', name, ...given));
      },
      close: () => {},
    };
  },

  '@ai-sdk/mcp': async (url, token) => {
    const client = await createMCPClient({ transport: { type: 'http', url, headers: headersWith(token) } });
    const tools = await client.tools();
    return {
      tools: Object.keys(tools),
      call: async (name, args) => textOf(await tools[name].execute(args, { toolCallId: 'call', messages: [] })),
      close: () => client.close(),
    };
  },

  '@openai/agents': async (url, token) => {
    const server = new MCPServerStreamableHttp({ name: 'kith', url, requestInit: { headers: headersWith(token) } });
    await server.connect();
    const tools = await getAllMcpTools([server]);
    return {
      tools: tools.map((tool) => tool.name),
      call: async (name, args) => (await tools.find((tool) => tool.name === name).invoke(new RunContext(), JSON.stringify(args))).text,
      close: () => server.close(),
    };
  },

  '@langchain/mcp-adapters': async (url, token) => {
    const client = new MultiServerMCPClient({ mcpServers: { kith: { transport: 'http', url, headers: headersWith(token) } } });
    const tools = await client.getTools();
    return {
      tools: tools.map((tool) => tool.name),
      call: (name, args) => tools.find((tool) => tool.name === name).invoke(args).then((block) => block.text, (error) => error.message),
      close: () => client.close(),
    };
  },

  '@mastra/mcp': async (url, token) => {
    const client = new MCPClient({ servers: { kith: { url: new URL(url), requestInit: { headers: headersWith(token) } } } });
    const tools = await client.listTools();
    return {
      tools: Object.keys(tools).map((name) => name.replace('kith_', '')),
      // Arguments that its validation refuses are an answer with a message.
      call: (name, args) => tools[`kith_${name}`].execute(args).then((answer) => answer.message ?? JSON.stringify(answer), (error) => error.message),
      close: () => client.disconnect(),
    };
  },
};

/** A client of the official SDK, of its first or its second version. */
async function connected(client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    call: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}
