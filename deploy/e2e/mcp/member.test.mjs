// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestSDKOfMember
// The official SDK's client with a member's token.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call, connect, fail, search, setting } from '../harness/client.mjs';

const path = setting('MCP_PATH');
const note = setting('NOTE_TEXT'); // the logs must not contain it

let client;
let tools;

before(async () => {
  ({ client, tools } = await connect(path, { token: setting('MEMBER_TOKEN') }));
});

test('every tool is in scope', async () => {
  const { tools: listed } = await connect('/mcp/v1');
  assert.deepEqual(tools.map((tool) => tool.name), listed.map((tool) => tool.name));
});

test('headers narrow what is listed and what is called', async () => {
  const headers = { 'X-MCP-Toolsets': 'timeline', 'X-MCP-Tools': 'search_connections', 'X-MCP-Readonly': 'true' };
  const narrowed = await connect(path, { token: setting('MEMBER_TOKEN'), headers });
  const names = narrowed.tools.map((tool) => tool.name);
  for (const name of ['search_connections', 'list_timeline', 'get_account']) assert.ok(names.includes(name), `${name} is not in ${names}`);
  for (const tool of narrowed.tools) {
    assert.ok(tool.annotations.readOnlyHint, `${tool.name} writes`);
    assert.ok(tool._meta['kith/group'] === 'timeline' || tool._meta['kith/scopes'].length === 0 || tool.name === 'search_connections', tool.name);
  }
  await call(narrowed.client, 'get_account');
  for (const name of ['add_note', 'list_due']) {
    await assert.rejects(narrowed.client.callTool({ name, arguments: {} }), (error) => error.code === -32001 && error.data.reason === 'narrowed_by_header');
  }
  await assert.rejects(connect(path, { token: setting('MEMBER_TOKEN'), headers: { 'X-MCP-Toolsets': 'timelines' } }), /nearest: timeline/);
});

test('a person from first meeting to last contact', async () => {
  const email = 'ada@engines.example';
  const made = await call(client, 'create_connection', {
    name: 'Ada Lovelace', organization: 'Analytical Engines', title: 'Programmer', emails: [email], phones: ['+44 20 7946 0000'],
    urls: ['https://example.com/ada'], location: 'London', tags: ['maths', 'Poetry'], met_on: '2024-05', met_how: 'At a soirée', starred: true,
  });
  const { id } = made.connection;
  assert.match(id, /^con_[0-9a-z]{1,10}$/);
  assert.match(made.change_id, /^chg_/);
  assert.equal(made.duplicate_of, undefined);
  assert.equal(made.connection.version, undefined, 'the version is not asked for');
  assert.equal(made.connection.headline, 'Programmer at Analytical Engines');

  // Each way to find her sees the write at once.
  for (const query of ['Ada Lovelace', 'lovel', 'Lovelcae', 'analytical', 'programmer', email, 'maths', '+442079460000']) {
    const hits = await search(client, query);
    assert.equal(hits[0]?.id, id, `${query} finds ${JSON.stringify(hits)}`);
  }

  const changed = await call(client, 'update_connection', {
    id, expected_version: 1, title: 'Countess', location: '', add_emails: ['countess@example.com'], remove_tags: ['maths'], add_tags: ['history'],
  });
  assert.equal(changed.connection.version, 2);
  assert.equal(changed.connection.title, 'Countess');
  assert.equal(changed.connection.organization, 'Analytical Engines');
  assert.equal(changed.connection.location ?? '', '');
  assert.deepEqual(changed.connection.emails, [email, 'countess@example.com']);
  assert.deepEqual(changed.connection.tags, ['history', 'Poetry']);
  assert.equal((await search(client, 'countess'))[0].id, id);
  assert.deepEqual(await search(client, 'maths'), []);

  const same = await call(client, 'update_connection', { id, expected_version: 2, title: 'Countess' });
  assert.equal(same.connection.version, 2, 'an update without changes raised the version');
  assert.equal(same.change_id, undefined);

  const kept = await call(client, 'add_note', { connection_ids: [id], body: note, pinned: true });
  assert.equal(kept.note.body, note);
  assert.equal((await search(client, note))[0].id, id, 'the search does not find the note');

  const logged = await call(client, 'log_interaction', {
    connection_ids: [id], kind: 'meeting', summary: 'Tea and punched cards', occurred_at: '2025-03-01T15:30:00+02:00', duration_minutes: 45, external_key: 'cal-1',
  });
  assert.equal(logged.interaction.at, '2025-03-01T15:30+02:00');
  const again = await call(client, 'log_interaction', { connection_ids: [id], kind: 'call', external_key: 'cal-1' });
  assert.equal(again.interaction.id, logged.interaction.id, 'one external key created two interactions');
  assert.equal(again.change_id, undefined);

  const { entries, has_more: more } = await call(client, 'list_timeline', { connection_id: id });
  assert.deepEqual(entries.map((entry) => entry.kind), ['note', 'meeting']);
  assert.equal(more, false);
  assert.equal(entries[0].text, note);
  assert.equal(entries[1].participants, undefined, 'nobody else took part');
  assert.deepEqual((await call(client, 'list_timeline', { limit: 50 })).entries.find((one) => one.id === entries[1].id).participants, [{ id, name: 'Ada Lovelace' }]);
  assert.deepEqual((await call(client, 'list_timeline', { connection_id: id, kinds: ['meeting'], since: '2025-03-01', until: '2025-03-02' })).entries.map((e) => e.id), [logged.interaction.id]);
  assert.deepEqual((await call(client, 'list_timeline', { connection_id: id, until: '2025-03-01' })).entries ?? [], []);

  const full = await call(client, 'get_connection', { id, include: ['notes', 'interactions', 'positions', 'record'] });
  assert.equal(Date.parse(full.connection.last_interaction_at), Date.parse('2025-03-01T13:30:00Z'));
  assert.equal(full.connection.last_contact_on, '2025-03-01');
  assert.equal(full.notes[0].id, kept.note.id);
  assert.equal(full.interactions[0].id, logged.interaction.id);
  assert.equal(full.positions[0].title, 'Countess');
  assert.equal(full.connection.source, 'agent');
});

test('a stale expected_version is refused and changes nothing', async () => {
  const { connection } = await call(client, 'create_connection', { name: 'Stale Stella' });
  await call(client, 'update_connection', { id: connection.id, expected_version: 1, nickname: 'First' });
  const text = await fail(client, 'update_connection', { id: connection.id, expected_version: 1, nickname: 'Second' });
  assert.match(text, /version/);
  assert.equal((await call(client, 'get_connection', { id: connection.id })).connection.nickname, 'First');
});

test('of concurrent updates to one version exactly one succeeds', async () => {
  const { connection } = await call(client, 'create_connection', { name: 'Contested Carla' });
  const results = await Promise.all(Array.from({ length: 8 }, (_, i) => client.callTool({
    name: 'update_connection', arguments: { id: connection.id, expected_version: 1, nickname: `Writer ${i}` },
  })));
  const winners = results.filter((result) => !result.isError);
  assert.equal(winners.length, 1, results.map((result) => result.content[0].text).join('\n'));
  const { connection: now } = await call(client, 'get_connection', { id: connection.id, include: ['record'] });
  assert.equal(now.version, 2);
  assert.equal(now.nickname, winners[0].structuredContent.connection.nickname);
});

test('concurrent updates without a version are all applied', async () => {
  const { connection } = await call(client, 'create_connection', { name: 'Popular Paula' });
  const tags = Array.from({ length: 8 }, (_, i) => `tag ${i}`);
  const results = await Promise.all(tags.map((tag) => client.callTool({ name: 'update_connection', arguments: { id: connection.id, add_tags: [tag] } })));
  const failed = results.filter((result) => result.isError).map((result) => result.content[0].text);
  const { connection: now } = await call(client, 'get_connection', { id: connection.id });
  // A write may be refused for a retry, but no accepted write is lost.
  assert.equal(now.tags.length, tags.length - failed.length, failed.join('\n'));
  for (const text of failed) assert.match(text, /version|changed|again/);
});

test('an existing person is not created twice', async () => {
  const email = 'twin@gemini.example';
  const { connection } = await call(client, 'create_connection', { name: 'Tina Twin', emails: [email], organization: 'Gemini' });
  const again = await call(client, 'create_connection', { name: 'T. Twin', emails: [email.toUpperCase()] });
  assert.equal(again.duplicate_of, connection.id);
  assert.equal(again.connection.id, connection.id);
  assert.equal(again.change_id, undefined);
  const byName = await call(client, 'create_connection', { name: 'tina  TWIN', organization: 'Gemini' });
  assert.equal(byName.duplicate_of, connection.id);
  assert.match(await fail(client, 'create_connection', { name: 'Tina', emails: [email], on_duplicate: 'error' }), new RegExp(connection.id));
  const second = await call(client, 'create_connection', { name: 'Tina Twin', emails: [email], on_duplicate: 'create' });
  assert.notEqual(second.connection.id, connection.id);
});

test('a shared address alone does not make a duplicate', async () => {
  const emails = ['office@gemini.example'];
  const { connection } = await call(client, 'create_connection', { name: 'Pollux Parker', emails });
  const other = await call(client, 'create_connection', { name: 'Zoe Fox', emails, on_duplicate: 'error' });
  assert.equal(other.duplicate_of, undefined);
  assert.deepEqual(other.same_address.map((one) => one.id), [connection.id]);
});

test('concurrent creates of one person create one connection', async () => {
  const email = 'race@fast.example';
  const results = await Promise.all(Array.from({ length: 8 }, () => call(client, 'create_connection', { name: 'Rapid Rita', emails: [email] })));
  assert.equal(new Set(results.map((result) => result.connection.id)).size, 1);
  assert.equal(results.filter((result) => result.change_id).length, 1);
});

test('bad arguments name the field and the rule', async () => {
  assert.match(await fail(client, 'search_connections', { query: '' }), /query/);
  assert.match(await fail(client, 'search_connections', { query: 'a', limit: 51 }), /limit.*50/s);
  assert.match(await fail(client, 'create_connection', { name: 'A', emails: ['not an address'] }), /emails.*e-?mail/is);
  assert.match(await fail(client, 'log_interaction', { connection_ids: [], kind: 'duel' }), /connection_ids.*kind|kind.*connection_ids/s);
  assert.match(await fail(client, 'get_connection', { id: 'ada' }), /id/);
});

test('unknown ids are reported as not found', async () => {
  const id = 'con_ch541ck879';
  for (const [tool, args] of [
    ['get_connection', { id }], ['update_connection', { id, name: 'X' }],
    ['add_note', { connection_ids: [id], body: 'x' }], ['log_interaction', { connection_ids: [id], kind: 'call' }],
  ]) {
    assert.match(await fail(client, tool, args), new RegExp(id), tool);
  }
});

test('get_account returns the member and the credential', async () => {
  const account = await call(client, 'get_account');
  assert.equal(account.member.username, setting('MEMBER_USERNAME'));
  assert.equal(account.member.read_only ?? false, false);
  assert.equal(account.credential.kind, 'token');
  assert.deepEqual(account.unavailable_tools ?? [], []);
});

test('without a token, or with an invalid one, the SDK gets a 401', async () => {
  const options = [{}, { token: 'kith_pat_dead' }];
  for (const option of options) {
    await assert.rejects(async () => {
      const { client: stranger } = await connect(path, option);
      await stranger.callTool({ name: 'get_account', arguments: {} });
    }, (error) => error.code === 401);
  }
});

test('a read-only token cannot write', async () => {
  const { client, tools } = await connect(path, { token: setting('READER_TOKEN') });
  assert.ok(!tools.some((tool) => tool.name === 'create_connection'), 'a writing tool is listed');
  await assert.rejects(client.callTool({ name: 'create_connection', arguments: { name: 'X' } }), (error) => {
    assert.equal(error.code, -32001);
    const { authorize_url: page, ...data } = error.data;
    assert.deepEqual(data, { reason: 'missing_scope', required_scopes: ['connections', 'write'] });
    assert.match(page, /\/settings\/agents#./);
    assert.ok(error.message.includes(page), error.message);
    return true;
  });
  const account = await call(client, 'get_account');
  assert.ok(account.unavailable_tools.some((one) => one.tool === 'add_note' && one.reason === 'missing_scope'));
});

test('/mcp sends Deprecation, /mcp/v1 does not', async () => {
  const response = await fetch(setting('BASE_URL') + path, {
    method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${setting('MEMBER_TOKEN')}` },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('deprecation'), path === '/mcp' ? 'true' : null);
  if (path === '/mcp') assert.match(response.headers.get('link'), /<[^>]*\/mcp\/v1>; *rel="successor-version"/);
});
