// The web server of a client, to which the browser is redirected with the answer.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { keep } from './secrets.mjs';

/** A listener on 127.0.0.1; uri is what a client registers. */
export async function listenForCallback() {
  const arrived = [];
  const waiting = [];
  const server = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end('<!doctype html><html lang="en"><title>Back at the client</title><h1>Back at the client</h1>');
    const url = new URL(request.url, `http://${request.headers.host}`);
    if (url.pathname !== '/callback') return; // an icon, for example
    keep('authorization code', url.searchParams.get('code'));
    const answer = { url, referer: request.headers.referer };
    if (waiting.length) waiting.shift()(answer);
    else arrived.push(answer);
  });
  server.listen(0, '127.0.0.1').unref(); // a test that fails must not wait for it
  await once(server, 'listening');
  return {
    uri: `http://127.0.0.1:${server.address().port}/callback`,
    /** The next answer that the browser brings. */
    next: () => (arrived.length ? Promise.resolve(arrived.shift()) : new Promise((resolve) => waiting.push(resolve))),
    /** How many answers have not been read yet. */
    get left() { return arrived.length; },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
