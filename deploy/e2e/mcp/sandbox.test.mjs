// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestSDKInSandbox
// The official SDK's client in the sandbox, without a credential.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { call, connect, fail, mustFind, search } from '../harness/client.mjs';

// Removing a tool, or its name, is a breaking change; adding one is not.
const TOOLS = [
  'search_connections', 'get_connection', 'create_connection', 'update_connection', 'resolve_people', 'archive_connections', 'delete_connection',
  'find_duplicates', 'merge_connections', 'update_organization', 'link_connections', 'define_field', 'export_connections', 'list_timeline', 'add_note', 'log_interaction', 'log_interactions', 'update_note',
  'update_interaction', 'delete_timeline_entry', 'search_notes', 'count_interactions', 'list_groups', 'save_group', 'delete_group', 'update_membership', 'rename_tag', 'list_due', 'create_reminder',
  'update_reminder', 'complete_reminder', 'set_cadence',
  'find_people_at', 'prepare_meeting', 'suggest_introductions', 'find_similar_connections', 'get_network_stats', 'search_directory',
  'get_member_profile', 'update_my_profile', 'get_account', 'update_my_settings', 'list_changes', 'undo_change',
  'import_file', 'embed_objects', 'get_job', 'cancel_job',
];
const MAX_ANSWER = 32 * 1024; // clients truncate longer ones

const unaccented = (text) => text.normalize('NFD').replace(/\p{M}/gu, '');
const latin = (text) => /^[\p{Script=Latin}\p{M} .'’-]+$/u.test(text);
const lastWord = (name) => name.split(/[ -]/).at(-1);

for (const path of ['/mcp/sandbox', '/sandbox/mcp/v1']) {
  describe(path, () => {
    let client;
    let tools;
    let people;

    before(async () => {
      ({ client, tools } = await connect(path));
      people = await somePeople(client);
    });

    test('initialize agrees on the default version', () => {
      assert.equal(client.getServerVersion().name, 'kith');
      assert.ok(client.getInstructions().includes('search_connections'));
      assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['completions', 'prompts', 'resources', 'tools']);
      assert.equal(client.transport.protocolVersion, '2025-06-18');
      assert.equal(client.transport.sessionId, undefined);
    });

    test('ping', async () => assert.deepEqual(await client.ping(), {}));

    test('tools/list describes every tool', async () => {
      for (const name of TOOLS) assert.ok(tools.some((tool) => tool.name === name), `${name} is missing`);
      for (const tool of tools) {
        assert.ok(tool.title && tool.description.length > 40, `${tool.name} is not described`);
        assert.equal(tool.inputSchema.type, 'object');
        assert.equal(tool.inputSchema.additionalProperties, undefined, `${tool.name}: clients would refuse unknown arguments in their own words`);
        assert.equal(tool.outputSchema.type, 'object');
        for (const [field, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
          assert.ok(schema.type, `${tool.name}.${field} has no type`);
          assert.ok(schema.description || !schema.items?.properties, `${tool.name}.${field} has entries and is not described`);
        }
        for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']) {
          assert.equal(typeof tool.annotations[hint], 'boolean', `${tool.name} has no ${hint}`);
        }
        for (const key of ['kith/group', 'kith/scopes', 'kith/credits']) {
          assert.notEqual(tool._meta[key], undefined, `${tool.name} has no ${key}`);
        }
      }
      assert.deepEqual((await client.listTools()).tools, tools, 'the second list differs');
    });

    test('the SDK validates answers against the output schemas', async () => {
      // The client must report an error if an answer does not match the schema.
      const forge = async (url, init) => {
        const response = await fetch(url, init);
        if (!init.body?.includes('tools/call')) return response;
        const answer = await response.json();
        answer.result.structuredContent.hits[0].score = 'high';
        return Response.json(answer);
      };
      const { client: lied } = await connect(path, { fetch: forge });
      await assert.rejects(lied.callTool({ name: 'search_connections', arguments: { query: people[0].name } }), /does not match the tool's output schema/);
      await lied.close();
    });

    test('a full name finds that person first', async () => {
      for (const person of people) {
        const hits = await mustFind(client, person.name, person);
        assert.equal(hits[0].name, person.name, `${person.name} comes after ${hits[0].name}`);
      }
    });

    test('case does not matter', async () => {
      for (const person of people.slice(0, 10)) await mustFind(client, person.name.toUpperCase(), person);
    });

    test('a prefix finds the person', async () => {
      const chosen = people.filter((person) => lastWord(person.name).length >= 5 && latin(person.name));
      assert.ok(chosen.length >= 5);
      for (const person of chosen) await mustFind(client, lastWord(person.name).slice(0, 4), person);
    });

    test('one typing mistake still finds the person', async () => {
      const chosen = people.filter((person) => lastWord(person.name).length >= 6 && latin(person.name));
      assert.ok(chosen.length >= 5);
      for (const person of chosen.slice(0, 10)) {
        const given = person.name.slice(0, person.name.length - lastWord(person.name).length);
        for (const wrong of mistakes(lastWord(person.name))) await mustFind(client, given + wrong, person);
      }
    });

    test('one typing mistake in a single word still finds the person', async () => {
      const chosen = people.filter((person) => lastWord(person.name).length >= 7 && latin(person.name));
      assert.ok(chosen.length >= 3);
      for (const person of chosen.slice(0, 10)) {
        for (const wrong of mistakes(lastWord(person.name))) await mustFind(client, wrong, person);
      }
    });

    test('accents may be left out', async () => {
      const chosen = people.filter((person) => latin(person.name) && unaccented(person.name) !== person.name);
      assert.ok(chosen.length >= 3, `only ${chosen.length} people have accents`);
      for (const person of chosen) {
        const hits = await mustFind(client, unaccented(person.name), person);
        assert.equal(unaccented(hits[0].name), unaccented(person.name));
      }
    });

    test('accents may be decomposed', async () => {
      const chosen = people.filter((person) => person.name.normalize('NFD') !== person.name);
      for (const person of chosen.slice(0, 5)) await mustFind(client, person.name.normalize('NFD'), person);
    });

    test('other scripts are searched too', async () => {
      for (const person of people.filter((one) => !latin(one.name))) await mustFind(client, person.name, person);
    });

    for (const field of ['organization', 'title']) {
      test(`${field} finds the person`, async () => {
        const chosen = people.filter((person) => person[field]);
        assert.ok(chosen.length >= 5);
        for (const person of chosen.slice(0, 15)) await mustFind(client, person[field], person);
      });
    }

    test('an e-mail address finds the person first', async () => {
      const chosen = people.filter((person) => person.emails?.length);
      assert.ok(chosen.length >= 5);
      for (const person of chosen.slice(0, 15)) {
        const hits = await mustFind(client, person.emails[0], person);
        assert.equal(hits[0].id, person.id);
        assert.ok(hits[0].matched_fields.includes('email'), `matched ${hits[0].matched_fields}`);
      }
    });

    test('nonsense finds no one', async () => {
      for (const query of ['qxzvkjwq', 'zzzzzzzzzz 9999']) assert.deepEqual(await search(client, query), [], query);
    });

    test('a query without a word gets an error with advice', async () => {
      for (const query of ['*', '???', '😀']) {
        assert.match(await fail(client, 'search_connections', { query }), /no letter or digit.*no wildcards.*leave query out/);
      }
    });

    test('filters exclude all others', async () => {
      const person = people.find((one) => one.organization && one.tags?.length);
      for (const filters of [{ company: person.organization }, { tag: [person.tags[0]] }, { has: ['interaction'] }]) {
        const hits = await search(client, person.name, filters);
        assert.ok(hits.some((hit) => hit.id === person.id), JSON.stringify(filters));
      }
      const text = await fail(client, 'search_connections', { query: person.name, company: 'no such company' });
      assert.match(text, /company: nobody is or was at "no such company"$/m);
      const misspelt = await fail(client, 'search_connections', { company: `${person.organization.slice(0, -1)}x` });
      assert.ok(misspelt.includes('; nearest: ') && misspelt.includes(JSON.stringify(person.organization)), misspelt);
    });

    test('pages have no gap and no overlap', async () => {
      const whole = await search(client, 'a', { sort: 'name' });
      assert.ok(whole.length > 10);
      const pieces = await search(client, 'a', { sort: 'name', limit: 7 });
      assert.deepEqual(pieces.map((hit) => hit.id), whole.map((hit) => hit.id));
    });

    test('get_connection adds what include asks for', async () => {
      const person = people[0];
      const plain = await call(client, 'get_connection', { id: person.id });
      assert.deepEqual(plain.connection, person);
      const full = await call(client, 'get_connection', { id: person.id, include: ['notes', 'interactions', 'positions'] });
      assert.deepEqual(full.connection, person);
      assert.ok(full.interactions.length > 0);
      for (const one of full.interactions) assert.ok(one.connection_ids.includes(person.id));
    });

    test('list_timeline goes back in time, page by page', async () => {
      const seen = new Set();
      let last = '9999';
      let cursor;
      for (let page = 0; page < 5; page++) {
        const answer = await call(client, 'list_timeline', { limit: 20, ...(cursor && { cursor }) });
        for (const entry of answer.entries) {
          assert.ok(!seen.has(entry.id), `${entry.id} comes twice`);
          assert.ok(Date.parse(entry.occurred_at) <= (Date.parse(last) || Infinity), 'the order is broken');
          seen.add(entry.id);
          last = entry.occurred_at;
        }
        if (!answer.has_more) break;
        cursor = answer.next_cursor;
      }
      assert.ok(seen.size >= 50);
    });

    test('list_timeline of one person has only entries of that person', async () => {
      const { entries } = await call(client, 'list_timeline', { connection_id: people[0].id });
      assert.ok(entries.length > 0);
      const all = await call(client, 'get_connection', { id: people[0].id, include: ['notes', 'interactions'] });
      const own = [...(all.notes ?? []), ...(all.interactions ?? [])].map((entry) => entry.id);
      for (const entry of entries) {
        assert.ok(own.includes(entry.id));
        assert.ok(!entry.participants?.some((one) => one.id === people[0].id), 'the person asked for is named');
      }
    });

    test('get_account lists unavailable tools', async () => {
      const account = await call(client, 'get_account', { include: ['prices'] });
      assert.equal((await call(client, 'get_account')).prices, undefined);
      assert.equal(account.member.read_only, true);
      const writing = tools.filter((tool) => !tool.annotations.readOnlyHint).map((tool) => tool.name);
      assert.deepEqual(account.unavailable_tools.map((one) => one.tool).sort(), writing.sort());
      for (const tool of tools) assert.ok(account.prices.some((price) => price.tool === tool.name), `${tool.name} has no price`);
    });

    test('every reading tool answers', async () => {
      const reading = tools.filter((tool) => tool.annotations.readOnlyHint).map((tool) => tool.name);
      const known = reads(people);
      assert.match(await fail(client, 'get_job', { task_id: 1 }), /no job 1/); // the demo account starts none
      reading.splice(reading.indexOf('get_job'), 1);
      assert.deepEqual(reading.filter((name) => !known[name]), [], 'these tools have no expected answer');
      assert.equal(reading.length, Object.keys(known).length);
      for (const name of reading) {
        const [args, check] = known[name];
        const answer = await call(client, name, args);
        assert.ok(check(answer), `${name} answers ${JSON.stringify(answer).slice(0, 1000)}`);
      }
    });

    test('every writing tool is refused and changes nothing', async () => {
      const writing = tools.filter((tool) => !tool.annotations.readOnlyHint);
      const known = writes(people);
      assert.deepEqual(writing.map((tool) => tool.name).sort(), Object.keys(known).sort());
      const timeless = (key, value) => (key === 'score' || key === 'strength' ? undefined : value); // these two fade by the second
      const look = async () => JSON.parse(JSON.stringify([await call(client, 'get_network_stats'), await call(client, 'list_groups'), await call(client, 'list_changes'),
        await call(client, 'get_connection', { id: people[0].id, include: ['notes', 'interactions'] }), await call(client, 'get_member_profile')], timeless));
      const before = await look();
      for (const tool of writing) {
        assert.equal(tool._meta['kith/in_scope'], false, `${tool.name} is not marked`);
        for (const args of [known[tool.name], { id: people[0].id }, {}]) {
          await assert.rejects(client.callTool({ name: tool.name, arguments: args }), (error) => {
            assert.equal(error.code, -32001);
            assert.equal(error.data.reason, 'read_only_account');
            assert.deepEqual(error.data.required_scopes, tool._meta['kith/scopes']);
            return true;
          });
        }
      }
      assert.deepEqual(await look(), before);
    });

    test('default answers stay below the size limit of clients', async () => {
      const known = { ...reads(people), get_connection: [{ id: people[0].id, include: ['notes', 'interactions', 'positions'] }] };
      delete known.export_connections; // an exported document is never cut
      for (const [name, [args]] of Object.entries(known)) {
        const size = Buffer.byteLength(JSON.stringify((await client.callTool({ name, arguments: args })).structuredContent));
        assert.ok(size <= MAX_ANSWER, `${name} answers ${size} bytes`);
      }
    });
  });
}

/** Returns at least forty connections with all their fields. */
async function somePeople(client) {
  const ids = new Set();
  let cursor;
  while (ids.size < 40) {
    const answer = await call(client, 'list_timeline', { limit: 50, ...(cursor && { cursor }) });
    for (const entry of answer.entries) for (const one of entry.participants) ids.add(one.id);
    if (!answer.has_more) break;
    cursor = answer.next_cursor;
  }
  const people = [];
  for (const id of ids) people.push((await call(client, 'get_connection', { id })).connection);
  assert.ok(people.length >= 40, `only ${people.length} people have a timeline`);
  return people;
}

/** Returns the word with a letter left out, doubled or replaced, and with two swapped. */
function mistakes(word) {
  const at = Math.floor(word.length / 2);
  const [head, letter, rest] = [word.slice(0, at), word[at], word.slice(at + 1)];
  return [head + rest, head + letter + letter + rest, `${head}q${rest}`, head + rest[0] + letter + rest.slice(1)];
}

/** Returns valid arguments for each reading tool, and a check of its answer. */
function reads(people) {
  const person = people.find((one) => one.organization && one.tags.length > 0 && one.last_interaction_at);
  const other = people.find((one) => one !== person);
  const { id, name } = person;
  const about = (list) => list.some((one) => one.person.id === id);
  return {
    search_connections: [{ query: name }, ({ hits }) => hits[0].name === name],
    get_connection: [{ id }, ({ connection }) => connection.name === name],
    resolve_people: [{ entries: [name, 'Nobody At All'] }, ({ entries }) => entries[0].people.some((one) => one.id === id) && entries[1].outcome === 'none'],
    find_duplicates: [{}, ({ pairs }) => pairs.length === 10 && pairs.every((pair) => pair.score >= 0.75 && pair.reasons.length > 0)],
    export_connections: [{ format: 'csv' }, ({ content, count, has_more: more }) => count === 50 && more && content.startsWith('Id,Name,')],
    list_timeline: [{}, ({ entries }) => entries.length === 10],
    search_notes: [{ query: 'coffee' }, ({ entries }) => entries.length > 0 && entries.every((entry) => /coffee/i.test(entry.text))],
    count_interactions: [{ group_by: 'kind' }, ({ count, groups }) => count === 600 && groups.reduce((sum, one) => sum + one.count, 0) === 600],
    list_groups: [{}, ({ groups, tags }) => groups.length === 8 && groups.every((group) => group.people > 0) && tags.length === 25],
    list_due: [{}, ({ items, counts }) => items.length === 10 && counts.reminders > 0 && counts.dates > 0 && counts.cadences > 0 && counts.overdue > 0],
    find_people_at: [{ organization: person.organization }, ({ people: found }) => about(found)],
    prepare_meeting: [{ connection_ids: [id, other.id] }, ({ people: found }) => about(found) && found.length === 2 && found[0].recent.length > 0],
    suggest_introductions: [{}, ({ introductions }) => introductions.length === 5 && introductions.every((one) => one.reasons.length > 0)],
    find_similar_connections: [{ connection_id: id }, ({ people: found }) => found.length > 0 && !about(found) && found.every((one) => one.reasons.length > 0)],
    get_network_stats: [{}, (stats) => stats.people >= 190 && stats.closest.length === 10 && stats.organizations.length === 10],
    search_directory: [{}, ({ members, has_more: more }) => members.length === 10 && more],
    get_member_profile: [{ username: 'demo' }, ({ profile }) => profile.username === 'demo' && profile.name !== ''],
    get_account: [{}, ({ member, credits }) => member.username === 'demo' && credits === undefined],
    list_changes: [{}, ({ changes }) => changes.length === 0],
  };
}

/** Returns for each writing tool arguments that are valid for a member. */
function writes([{ id, name }, other]) {
  const ids = [id];
  return {
    create_connection: { name: 'Zebedee Quux' },
    update_connection: { id, nickname: 'Zeb' },
    archive_connections: { ids },
    delete_connection: { id, confirm_name: name },
    merge_connections: { into_id: id, from_ids: [other.id], dry_run: false },
    link_connections: { from_id: id, to_id: other.id, type: 'friend' },
    add_note: { connection_ids: ids, body: 'Zeb' },
    log_interaction: { connection_ids: ids, kind: 'call' },
    log_interactions: { interactions: [{ connection_ids: ids, kind: 'call' }] },
    update_note: { id: 'not_vk440wx355', body: 'Zeb' },
    update_interaction: { id: 'int_zf775mk147', kind: 'call' },
    delete_timeline_entry: { id: 'not_vk440wx355' },
    save_group: { name: 'Zeb' },
    delete_group: { group: 'Zeb' },
    update_membership: { connection_ids: ids, add_tags: ['zeb'] },
    rename_tag: { from: 'zeb', to: 'zebra' },
    update_organization: { name: 'Zeb', notes: 'Zeb' },
    create_reminder: { text: 'Zeb', due_on: '2030-01-01', connection_id: id },
    update_reminder: { id: 'rem_hl671kd125', text: 'Zeb' },
    complete_reminder: { id: 'rem_hl671kd125' },
    set_cadence: { connection_ids: [id], days: 7 },
    update_my_profile: { headline: 'Zeb' },
    define_field: { name: 'Zeb' },
    update_my_settings: { timezone: 'Asia/Tokyo' },
    undo_change: { change_id: 'chg_lt796ft723' },
    import_file: { content: 'Name\nZebedee Quux\n' },
    embed_objects: {},
    cancel_job: { task_id: 1 },
  };
}
