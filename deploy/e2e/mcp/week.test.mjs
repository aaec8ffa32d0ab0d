// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestAssistantsWeek
// An assistant works for a member for a week with the official SDK's client: it calls every
// tool, and the test checks the values of each answer and every credit.
import assert from 'node:assert/strict';
import { afterEach, before, test } from 'node:test';
import { call, connect, fail, setting } from '../harness/client.mjs';

const path = setting('MCP_PATH');
const username = setting('MEMBER_USERNAME');

let client;
let tools;
let today; // the member's, YYYY-MM-DD
let spent = 0; // credits, by the price list of tools/list
const called = new Set();
const people = {}; // ids by name

before(async () => {
  ({ client, tools } = await connect(path, { token: setting('MEMBER_TOKEN') }));
});

// After each day, the credits used are the prices of the successful calls.
afterEach(async () => {
  const { credits, prices } = await call(client, 'get_account', { include: ['prices'] });
  assert.equal(credits.used, spent);
  assert.equal(credits.remaining, credits.allowance - spent);
  assert.deepEqual(prices, tools.map((tool) => ({ tool: tool.name, credits: tool._meta['kith/credits'] })));
});

/** Calls a tool, which must succeed, and adds its price to the credits spent. */
async function pay(name, args = {}) {
  const answer = await call(client, name, args);
  spent += tools.find((tool) => tool.name === name)._meta['kith/credits'];
  called.add(name);
  return answer;
}

/** Returns the date n days from today. */
function day(n) {
  return new Date(Date.parse(today) + n * 86_400_000).toISOString().slice(0, 10);
}

/** Returns the texts of evidence; each item must have source ids. */
function texts(evidence) {
  for (const line of evidence) assert.ok(line.source_ids.length > 0, `${line.text} has no source`);
  return evidence.map((line) => line.text);
}

async function meet(name, fields = {}) {
  const { connection, change_id: change } = await pay('create_connection', { name, ...fields });
  assert.match(change, /^chg_/);
  people[name] = connection.id;
  return connection;
}

const names = (list) => list.map((one) => one.name);

test('Sunday: add connections', async () => {
  ({ today } = await pay('list_due'));
  assert.match(today, /^\d{4}-\d\d-\d\d$/);
  await meet('Grace Hopper', {
    organization: 'Navy Labs', title: 'Commodore', emails: ['grace@navylabs.example'], tags: ['compilers'], location: 'Arlington',
    met_on: '2024-05', met_how: 'At a lecture',
  });
  await meet('Katherine Johnson', {
    organization: 'Orbital Dynamics', title: 'Mathematician', emails: ['kath@orbital.example'], phones: ['+44 20 7946 0101'], tags: ['maths', 'space'], location: 'Hampton',
  });
  const birthday = `1980${day(2).slice(4)}`;
  const dorothy = await meet('Dorothy Vaughan', {
    organization: 'Orbital Dynamics', title: 'Lead Programmer', emails: ['dorothy@orbital.example'], tags: ['maths'], location: 'Hampton',
    important_dates: [{ kind: 'birthday', date: birthday }],
  });
  assert.deepEqual(dorothy.important_dates, [{ kind: 'birthday', date: birthday }]);
  await meet('Mary Jackson', { organization: 'Orbital Dynamics', title: 'Engineer', tags: ['space'] });
  await meet('Joan Clarke', { organization: 'Bletchley Park', title: 'Cryptanalyst' });
  const twin = await meet('Grace M. Hopper', { emails: ['grace@navylabs.example'], phones: ['+44 20 7946 0102'], location: 'New York', on_duplicate: 'create' });
  assert.notEqual(twin.id, people['Grace Hopper']);
  assert.equal(new Set(Object.values(people)).size, 6);
});

test('Monday: find someone', async () => {
  const { connection: mary } = await pay('update_connection', { id: people['Mary Jackson'], organization: 'Wind Tunnel Works', title: 'Director', add_emails: ['mary@tunnel.example'] });
  assert.equal(mary.headline, 'Director at Wind Tunnel Works');

  const { hits, has_more: more, mode_used: mode } = await pay('search_connections', { query: 'orbital dynamics' });
  assert.deepEqual(names(hits).sort(), ['Dorothy Vaughan', 'Katherine Johnson', 'Mary Jackson']);
  for (const hit of hits) assert.ok(hit.matched_fields.includes('organization'));
  assert.deepEqual([more, mode], [false, 'keyword']);
  assert.deepEqual(names((await pay('search_connections', { query: 'hampton', tag: ['space'] })).hits), ['Katherine Johnson']);

  const { entries } = await pay('resolve_people', {
    entries: ['KATH@orbital.example', '020 7946 0101', 'joan clarke', 'grace@navylabs.example', 'nobody@else.example', 'Somebody Else'],
  });
  assert.deepEqual(entries.map((entry) => [entry.outcome, ...(entry.people ?? []).map((one) => `${one.name} by ${one.matched_by}`)]), [
    ['matched', 'Katherine Johnson by email'], ['matched', 'Katherine Johnson by phone'], ['matched', 'Joan Clarke by name'],
    ['ambiguous', 'Grace Hopper by email', 'Grace M. Hopper by email'], ['none'], ['none'],
  ]);
  assert.equal(entries[0].entry, 'KATH@orbital.example');

  const { connection, positions } = await pay('get_connection', { id: people['Mary Jackson'], include: ['positions'] });
  assert.deepEqual(connection, mary);
  assert.deepEqual(positions.map((one) => [one.organization, one.title, one.current]), [
    ['Wind Tunnel Works', 'Director', true], ['Orbital Dynamics', 'Engineer', undefined],
  ]);
});

test('Tuesday: brief, and log', async () => {
  const [kath, dorothy] = [people['Katherine Johnson'], people['Dorothy Vaughan']];
  const { interaction: meeting, next_due: due } = await pay('log_interaction', {
    connection_ids: [kath, dorothy], kind: 'meeting', occurred_at: `${day(-10)}T10:00:00Z`, summary: 'Launch window', duration_minutes: 30, external_key: 'calendar-1',
  });
  assert.deepEqual(meeting.connection_ids, [kath, dorothy]);
  meeting.connection_ids.sort();
  assert.equal(due, undefined, 'a keep-in-touch date without a cadence');
  const repeated = await pay('log_interaction', { connection_ids: [kath], kind: 'call', external_key: 'calendar-1' });
  assert.deepEqual({ ...repeated.interaction, connection_ids: repeated.interaction.connection_ids.sort() }, meeting);
  assert.equal(repeated.change_id, undefined);

  const today = [
    { connection_ids: [kath], kind: 'call', external_key: 'calendar-1' },
    { connection_ids: [dorothy], kind: 'email', occurred_at: day(-11), external_key: 'calendar-2' },
    { connection_ids: [kath, dorothy], kind: 'meeting', occurred_at: day(-12) },
  ];
  const many = await pay('log_interactions', { interactions: today });
  assert.deepEqual([many.ids[0], many.ids.length, many.known, many.summary], [meeting.id, 3, 1, 'Logged 2 interactions (Dorothy Vaughan, Katherine Johnson)']);
  const retried = await pay('log_interactions', { interactions: today.slice(0, 2) });
  assert.deepEqual([retried.ids, retried.known, retried.change_id], [many.ids.slice(0, 2), 2, undefined]);
  assert.equal((await pay('undo_change', { change_id: many.change_id })).restored_count, 2);

  const { note } = await pay('add_note', { connection_ids: [kath], body: 'Draws **charts** by hand', pinned: true });
  const { note: changed } = await pay('update_note', { id: note.id, expected_version: 1, body: 'Draws charts by hand, over tea' });
  const { version, updated_at: _changed, created_at: _made, ...rest } = changed;
  assert.deepEqual([version, rest], [2, { ...note, body: 'Draws charts by hand, over tea' }]);

  const { interaction: call } = await pay('log_interaction', { connection_ids: [kath], kind: 'call', occurred_at: day(-3) });
  const { interaction: corrected } = await pay('update_interaction', { id: call.id, kind: 'email', summary: 'Sent the slides' });
  assert.deepEqual([corrected.kind, corrected.summary, corrected.on], ['email', 'Sent the slides', day(-3)]);
  assert.equal((await pay('delete_timeline_entry', { id: call.id })).deleted, true);

  const found = await pay('search_notes', { query: 'tea' });
  assert.deepEqual(found.entries.map((entry) => [entry.id, entry.text, entry.pinned]), [[note.id, changed.body, true]]);
  assert.deepEqual(found.entries[0].participants, [{ id: kath, name: 'Katherine Johnson' }]);
  assert.deepEqual((await pay('search_notes', { query: 'tea', connection_id: dorothy })).entries, []);
  assert.deepEqual((await pay('search_notes', { query: 'launch' })).entries.map((entry) => entry.id), [meeting.id]);
  assert.deepEqual((await pay('list_timeline', { connection_id: kath })).entries.map((entry) => entry.id), [note.id, meeting.id]);

  const { people: briefed, common } = await pay('prepare_meeting', { connection_ids: [kath, dorothy], topic: 'charts' });
  assert.deepEqual(briefed.map((one) => one.person.id), [kath, dorothy]);
  const [forKath, forDorothy] = briefed;
  assert.deepEqual([forKath.person.strength.meetings, forKath.person.strength.calls], [1, undefined]);
  assert.equal(forKath.person.strength.last_contact_on, meeting.at.slice(0, 10));
  assert.ok(texts(forKath.background).includes('Mathematician at Orbital Dynamics, current'));
  assert.deepEqual(texts(forKath.recent), [`${day(-10)} meeting, 30 min: Launch window`]);
  assert.deepEqual(forKath.recent[0].source_ids, [meeting.id]);
  assert.deepEqual(forKath.notes.map((line) => line.source_ids), [[note.id]]);
  assert.match(forKath.notes[0].text, /pinned, on the topic: Draws charts by hand, over tea$/);
  assert.match(texts(forDorothy.due)[0], new RegExp(`Birthday on ${day(2)}`));
  assert.equal(forDorothy.notes, undefined);
  assert.ok(texts(common).includes('At Orbital Dynamics: Katherine Johnson and Dorothy Vaughan'));
  assert.ok(common.some((line) => line.source_ids.includes(meeting.id)), 'the common meeting is missing');
});

test('Wednesday: follow up', async () => {
  const [kath, grace] = [people['Katherine Johnson'], people['Grace Hopper']];
  const { reminder: charts } = await pay('create_reminder', { text: 'Send the charts', due_on: day(0), connection_id: kath });
  assert.deepEqual([charts.state, charts.recurrence], ['open', 'none']);
  const { reminder: weekly } = await pay('create_reminder', { text: 'Read the mail', due_on: day(0), recurrence: 'weekly' });
  await pay('log_interaction', { connection_ids: [grace], kind: 'call', occurred_at: day(-60), summary: 'Nanoseconds' });
  const cadence = await pay('set_cadence', { connection_ids: [grace], days: 30 });
  assert.deepEqual([cadence.changed, cadence.names, cadence.next_due], [1, ['Grace Hopper'], day(-30)]);

  const due = await pay('list_due');
  assert.deepEqual(due.counts, { reminders: 2, dates: 1, cadences: 1, overdue: 1 });
  assert.deepEqual(due.items.map((item) => [item.kind, item.due_on, item.overdue]), [
    ['cadence', day(-30), true], ['reminder', day(0), undefined], ['reminder', day(0), undefined], ['date', day(2), undefined],
  ]);
  assert.deepEqual(due.items.map((item) => item.connection_name ?? '').sort(), ['', 'Dorothy Vaughan', 'Grace Hopper', 'Katherine Johnson']);
  assert.equal(due.items[0].last_contact_on, day(-60));
  assert.deepEqual((await pay('list_due', { days: 1, kinds: ['date'] })).items, []);

  const { reminder: later } = await pay('update_reminder', { id: charts.id, due_on: day(1) });
  assert.deepEqual([later.due_on, later.text], [day(1), charts.text]);
  await pay('update_reminder', { id: charts.id, due_on: day(0) });

  const done = await pay('complete_reminder', { id: charts.id });
  assert.deepEqual([done.reminder.state, done.next_due], ['done', undefined]);
  const again = await pay('complete_reminder', { id: charts.id });
  assert.deepEqual([again.reminder, again.change_id], [done.reminder, undefined]);
  const moved = await pay('complete_reminder', { id: weekly.id, due_on: day(0) });
  assert.deepEqual([moved.reminder.state, moved.reminder.due_on, moved.next_due], ['open', day(7), day(7)]);
  const notTwice = await pay('complete_reminder', { id: weekly.id, due_on: day(0) });
  assert.deepEqual([notTwice.reminder.due_on, notTwice.change_id], [day(7), undefined]);

  // A call restarts the interval; a snooze postpones it without a contact.
  assert.equal((await pay('log_interaction', { connection_ids: [grace], kind: 'call', summary: 'Catching up' })).next_due, day(30));
  assert.deepEqual((await pay('list_due', { kinds: ['cadence'], days: 29 })).items, []);
  assert.equal((await pay('set_cadence', { connection_ids: [grace], snooze_until: day(40) })).next_due, day(40));
  assert.deepEqual((await pay('list_due', { kinds: ['reminder'] })).items.map((item) => item.reminder_id), [weekly.id]);
  assert.equal((await pay('list_timeline', { connection_id: grace })).entries.length, 2, 'the snooze was logged as a contact');
});

test('Thursday: organise', async () => {
  const [kath, dorothy, mary] = ['Katherine Johnson', 'Dorothy Vaughan', 'Mary Jackson'].map((name) => people[name]);
  const { group, created } = await pay('save_group', { name: 'Mathematicians', description: 'Who calculates', cadence_days: 90 });
  assert.deepEqual([created, group.people, group.version], [true, 0, 1]);
  const { group: renamed, created: second } = await pay('save_group', { name: 'MATHEMATICIANS', cadence_days: 60 });
  assert.deepEqual([second, renamed.id, renamed.cadence_days, renamed.description], [false, group.id, 60, 'Who calculates']);

  await pay('save_group', { name: 'Spare' });
  assert.equal((await pay('delete_group', { group: 'spare' })).summary, 'Deleted the group Spare');

  const put = await pay('update_membership', { connection_ids: [kath, dorothy], add_groups: ['mathematicians'], add_tags: ['nasa'] });
  assert.deepEqual([put.changed, put.unchanged], [2, 0]);
  const same = await pay('update_membership', { connection_ids: [kath, mary], add_tags: ['NASA'] });
  assert.deepEqual([same.changed, same.unchanged], [1, 1]);
  await pay('update_membership', { connection_ids: [mary], remove_tags: ['nasa'] });
  assert.equal((await pay('rename_tag', { from: 'nasa', to: 'agency' })).changed, 2);
  assert.equal((await pay('rename_tag', { from: 'agency', to: 'nasa' })).changed, 2);

  const { groups, tags } = await pay('list_groups');
  assert.deepEqual(groups.map((one) => [one.name, one.people, one.cadence_days]), [[renamed.name, 2, 60]]);
  assert.deepEqual(tags, [{ name: 'maths', people: 2 }, { name: 'nasa', people: 2 }, { name: 'space', people: 2 }, { name: 'compilers', people: 1 }]);
  assert.deepEqual(names((await pay('search_connections', { query: 'orbital', group: group.id })).hits).sort(), ['Dorothy Vaughan', 'Katherine Johnson']);

  const linked = await pay('link_connections', { from_id: mary, to_id: dorothy, type: 'manager' });
  assert.deepEqual(linked.relationships, [{ connection_id: dorothy, name: 'Dorothy Vaughan', type: 'manager' }]);
  assert.equal((await pay('link_connections', { from_id: mary, to_id: dorothy, type: 'manager' })).change_id, undefined);
  const { connection } = await pay('get_connection', { id: dorothy });
  assert.deepEqual(connection.relationships, [{ connection_id: mary, name: 'Mary Jackson', type: 'report' }]);
  assert.deepEqual(connection.groups, [renamed.name]);
  assert.deepEqual(connection.tags, ['maths', 'nasa']);
});

test('Friday: merge, archive, export and undo', async () => {
  const [grace, twin, joan] = ['Grace Hopper', 'Grace M. Hopper', 'Joan Clarke'].map((name) => people[name]);
  const { note } = await pay('add_note', { connection_ids: [twin], body: 'Keeps a wire of one nanosecond' });
  const { connection: keptAs } = await pay('get_connection', { id: grace });
  const { connection: twinAs } = await pay('get_connection', { id: twin });

  const { pairs } = await pay('find_duplicates');
  assert.deepEqual(pairs.map((pair) => [pair.first.id, pair.second.id]), [[grace, twin]]);
  assert.ok(pairs[0].score > 0.95 && pairs[0].reasons.includes('same e-mail: grace@navylabs.example'), JSON.stringify(pairs));
  assert.deepEqual((await pay('find_duplicates', { connection_id: joan, min_score: 0.5 })).pairs, []);

  const merge = { into_id: grace, from_ids: [twin] };
  const preview = await pay('merge_connections', merge);
  assert.deepEqual([preview.merged, preview.change_id, preview.moved], [false, undefined, 1]);
  assert.deepEqual(preview.connection.phones, ['+44 20 7946 0102']);
  assert.deepEqual((await pay('get_connection', { id: grace })).connection, keptAs, 'the preview changed data');
  const merged = await pay('merge_connections', { ...merge, dry_run: false });
  assert.deepEqual([merged.merged, merged.moved], [true, 1]);
  assert.deepEqual(merged.conflicts, preview.conflicts);
  assert.deepEqual(merged.conflicts, [
    { field: 'name', kept: 'Grace Hopper', dropped: 'Grace M. Hopper' }, { field: 'location', kept: 'Arlington', dropped: 'New York' },
  ]);
  const { notes } = await pay('get_connection', { id: grace, include: ['notes'] });
  assert.equal(notes.length, 2);
  assert.ok(notes.some((one) => one.id === note.id) && notes.some((one) => one.body.includes('New York')), JSON.stringify(notes));
  assert.deepEqual(names((await pay('search_connections', { query: 'grace hopper' })).hits), ['Grace Hopper']);

  const archived = await pay('archive_connections', { ids: [joan] });
  assert.deepEqual([archived.changed, archived.unchanged], [1, 0]);
  assert.deepEqual((await pay('search_connections', { query: 'joan clarke' })).hits, []);
  assert.ok((await pay('get_connection', { id: joan })).connection.archived_at);

  const csv = await pay('export_connections', { format: 'csv' });
  assert.deepEqual([csv.count, csv.has_more, csv.media_type], [4, false, 'text/csv; charset=utf-8']);
  assert.deepEqual(csv.content.trim().split('\r\n').slice(1).map((line) => line.split(',')[1]), ['Grace Hopper', 'Katherine Johnson', 'Dorothy Vaughan', 'Mary Jackson']);
  const json = await pay('export_connections', { format: 'json', selection: (await pay('search_connections', { group: 'Mathematicians' })).selection });
  assert.deepEqual(names(JSON.parse(json.content).people), ['Katherine Johnson', 'Dorothy Vaughan']);
  const vcard = await pay('export_connections', { format: 'vcard', ids: [grace] });
  assert.match(vcard.content, /^BEGIN:VCARD\r\nVERSION:4\.0\r\n[^]*FN:Grace Hopper\r\n[^]*END:VCARD\r\n$/);
  const { selection } = await pay('search_connections', { tag: ['space'] });
  const cards = await pay('export_connections', { format: 'jscontact', selection, limit: 1 });
  assert.deepEqual([cards.count, cards.has_more], [1, true]);
  assert.deepEqual([(await pay('export_connections', { format: 'jscontact', selection, limit: 1, cursor: cards.next_cursor })).has_more], [false]);

  const { changes } = await pay('list_changes', { limit: 2 });
  assert.deepEqual(changes.map((change) => [change.id, change.tool, change.summary, change.undoable ?? true, change.undone_by]), [
    [archived.change_id, 'archive_connections', 'Archived Joan Clarke', true, undefined],
    [merged.change_id, 'merge_connections', 'Merged Grace M. Hopper into Grace Hopper', true, undefined],
  ]);

  const would = await pay('undo_change', { change_id: merged.change_id, dry_run: true });
  assert.deepEqual([would.conflicts, would.change_id], [[], undefined]);
  assert.deepEqual((await pay('get_connection', { id: grace })).connection.phones, ['+44 20 7946 0102'], 'the dry run changed data');
  const undone = await pay('undo_change', { change_id: merged.change_id });
  assert.deepEqual([undone.conflicts, undone.already_undone, undone.restored], [[], false, would.restored]);
  assert.deepEqual((await pay('get_connection', { id: grace })).connection, keptAs);
  const back = await pay('get_connection', { id: twin, include: ['notes'] });
  assert.deepEqual(back.connection, twinAs);
  assert.deepEqual(back.notes.map((one) => [one.id, one.connection_ids]), [[note.id, [twin]]]);
  assert.equal((await pay('undo_change', { change_id: merged.change_id })).already_undone, true);

  assert.equal((await pay('undo_change', { change_id: archived.change_id })).restored_count, 1);
  assert.deepEqual(names((await pay('search_connections', { query: 'joan clarke' })).hits), ['Joan Clarke']);
  const { changes: later } = await pay('list_changes', { connection_id: joan });
  assert.deepEqual(later.map((change) => change.tool), ['undo_change', 'archive_connections', 'create_connection']);
  assert.deepEqual([later[0].undoes, later[1].undone_by, later[1].undoable], [archived.change_id, later[0].id, false]);
});

test('Saturday: insights', async () => {
  const [kath, dorothy, mary, joan] = ['Katherine Johnson', 'Dorothy Vaughan', 'Mary Jackson', 'Joan Clarke'].map((name) => people[name]);
  const at = await pay('find_people_at', { organization: 'orbital dynamics' });
  assert.deepEqual(at.organizations, ['Orbital Dynamics']);
  assert.deepEqual(at.people.map((one) => [one.person.name, one.tie]), [['Dorothy Vaughan', 'current'], ['Katherine Johnson', 'current'], ['Mary Jackson', 'past']]);
  assert.deepEqual(texts(at.people[2].evidence), ['Engineer at Orbital Dynamics, past']);
  assert.deepEqual((await pay('find_people_at', { organization: 'Orbital Dynamics', include_past: false, include_one_step: false })).people.length, 2);
  const step = await pay('find_people_at', { organization: 'Wind Tunnel Works' });
  assert.deepEqual(step.people.map((one) => [one.person.id, one.tie]), [[mary, 'current'], [dorothy, 'one_step']]);

  const { introductions } = await pay('suggest_introductions', { connection_id: mary });
  assert.deepEqual(introductions.map((one) => [one.first.id, one.second.id]), [[mary, kath]]);
  assert.ok(texts(introductions[0].reasons).includes('Both tagged space'));

  const { people: similar } = await pay('find_similar_connections', { connection_id: kath });
  assert.deepEqual(similar.map((one) => one.person.id), [dorothy, mary]);
  assert.ok(similar[0].score > similar[1].score && texts(similar[0].reasons).includes('Both work at Orbital Dynamics'));
  assert.deepEqual((await pay('find_similar_connections', { connection_id: joan })).people, []);

  const counted = await pay('count_interactions', { group_by: 'person', since: day(-365), limit: 1 });
  assert.deepEqual([counted.count, counted.groups.length, counted.has_more], [3, 1, true]);
  const stats = await pay('get_network_stats');
  const { people: count, archived, notes, interactions, contacted_30_days: lately, contacted_365_days: thisYear, never_contacted: never, added_30_days: added, overdue } = stats;
  assert.deepEqual({ count, archived, notes, interactions, lately, thisYear, never, added, overdue }, {
    count: 6, archived: 0, notes: 2, interactions: 3, lately: 3, thisYear: 3, never: 3, added: 6, overdue: 0,
  });
  assert.deepEqual(names(stats.closest).sort(), ['Dorothy Vaughan', 'Grace Hopper', 'Katherine Johnson']);
  assert.deepEqual(stats.organizations[0], { name: 'Orbital Dynamics', people: 2 });
  assert.deepEqual(stats.places[0], { name: 'Hampton', people: 2 });
  assert.deepEqual(names(stats.tags), ['maths', 'nasa', 'space', 'compilers']);
  assert.deepEqual(stats.groups.map((one) => one.people), [2]);
});

test('Sunday again: other members, and the member’s own page', async () => {
  const { members } = await pay('search_directory', { query: 'microgrids' });
  assert.ok(members.length > 0);
  const { profile, visibility } = await pay('get_member_profile', { username: members[0].username });
  assert.deepEqual([profile.name, profile.headline, visibility], [members[0].name, members[0].headline, undefined]);
  assert.ok(!(await pay('search_directory', { query: username })).members.some((one) => one.username === username), 'a private member is found');

  const mine = await pay('get_member_profile');
  assert.deepEqual([mine.profile.username, mine.visibility, mine.listed], [username, 'private', false]);
  const changed = await pay('update_my_profile', { headline: 'Keeps in touch', skills: ['maths'], listed: false });
  assert.deepEqual([changed.profile.headline, changed.profile.skills], ['Keeps in touch', ['maths']]);
  assert.equal((await pay('undo_change', { change_id: changed.change_id })).restored_count, 1);
  const { updated_at: now, ...restored } = (await pay('get_member_profile')).profile;
  const { updated_at: then, ...before } = mine.profile;
  assert.deepEqual(restored, before);
  assert.ok(now >= then);

  const field = await pay('define_field', { name: 'Boat', type: 'choice', choices: ['yawl', 'ketch'] });
  assert.deepEqual(field.fields, [{ name: 'Boat', type: 'choice', choices: ['yawl', 'ketch'] }]);
  await pay('update_connection', { id: people['Mary Jackson'], set_fields: { boat: 'Ketch' } });
  const sailors = await pay('search_connections', { fields: { Boat: 'ketch' } });
  assert.deepEqual(sailors.hits.map((hit) => [hit.id, hit.fields]), [[people['Mary Jackson'], { Boat: 'ketch' }]]);
  const dropped = await pay('define_field', { name: 'Boat', remove: true });
  assert.equal(dropped.people, 1);
  assert.equal((await pay('undo_change', { change_id: dropped.change_id })).restored_count, 2);

  const yard = await pay('update_organization', { name: 'wind tunnel works', website: 'https://tunnel.example', notes: 'Ask for Mary' });
  assert.deepEqual([yard.organization.name, yard.organization.domain, yard.organization.people_now], ['Wind Tunnel Works', 'tunnel.example', 1]);
  assert.equal((await pay('undo_change', { change_id: yard.change_id })).restored_count, 1);

  const set = await pay('update_my_settings', { timezone: 'Pacific/Kiritimati', locale: 'de-DE' });
  const { member } = await pay('get_account');
  assert.deepEqual([set.timezone, set.locale, set.today], [member.timezone, member.locale, member.today]);
  const there = new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Kiritimati' });
  assert.ok([0, 60_000].some((ago) => there.format(Date.now() - ago) === set.today), set.today);
  assert.equal((await pay('list_due')).today, set.today);
  assert.equal((await pay('update_my_settings', { timezone: 'Pacific/Kiritimati' })).change_id, undefined);
  assert.equal((await pay('undo_change', { change_id: set.change_id })).restored_count, 1);
  assert.equal((await pay('get_account')).member.timezone, 'UTC');

  const gone = await pay('delete_connection', { id: people['Joan Clarke'], confirm_name: 'Joan Clarke' });
  assert.equal(gone.deleted, true);
  assert.match(await fail(client, 'get_connection', { id: people['Joan Clarke'] }), new RegExp(people['Joan Clarke']));
});

test('Monday again: import a file, find similar people', async () => {
  const kath = people['Katherine Johnson'];
  const file = {
    filename: 'Connections.csv', tags: ['computers'],
    content: 'First Name,Last Name,URL,Email Address,Company,Position,Connected On\n'
      + 'Katherine,Johnson,,kath@orbital.example,Orbital Dynamics,Mathematician,02 Jan 2024\n'
      + 'Annie,Easley,https://www.linkedin.com/in/annie-easley,,Rocket Works,Programmer,03 Jan 2024\n'
      + ',,,,,,03 Jan 2024\n',
  };
  const ended = async (task) => (await pay('get_job', { task_id: task, wait_seconds: 20 })).job;
  const { task_id: trial } = await pay('import_file', { ...file, dry_run: true });
  const tried = await ended(trial);
  assert.deepEqual([tried.job_id, tried.kind, tried.state, tried.terminal, tried.retry_after], [trial, 'file_import', 'succeeded', true, 0]);
  const { total, created, updated, skipped, failed, format, dry_run: dry } = tried.result;
  assert.deepEqual({ total, created, updated, skipped, failed, format, dry }, { total: 3, created: 1, updated: 1, skipped: 0, failed: 1, format: 'linkedin_csv', dry: true });
  assert.deepEqual((await pay('search_connections', { query: 'annie easley' })).hits, []);

  const { task_id: task } = await pay('import_file', file);
  assert.equal(task, trial + 1);
  const { state, progress, result } = await ended(task);
  assert.deepEqual([state, progress, result.created, result.updated, result.failed], ['succeeded', { done: 3, total: 3 }, 1, 1, 1]);
  assert.equal(result.errors.length, 1);
  const { hits } = await pay('search_connections', { query: 'annie easley' });
  assert.deepEqual(hits.map((hit) => [hit.name, hit.headline]), [['Annie Easley', 'Programmer at Rocket Works']]);
  assert.ok((await pay('get_connection', { id: kath })).connection.tags.includes('computers'));

  const { task_id: embedding } = await pay('embed_objects');
  assert.deepEqual([(await ended(embedding)).result.embedded, (await ended(embedding)).result.provider], [6, 'local']);
  const alike = await pay('search_connections', { query: 'rocket programer', mode: 'semantic' });
  assert.equal(alike.mode_used, 'semantic');
  assert.equal(alike.hits[0].name, 'Annie Easley');
  assert.equal((await pay('cancel_job', { task_id: embedding })).job.state, 'succeeded', 'an ended job was cancelled');

  const { task_id: undo } = await pay('undo_change', { import_id: result.import_id });
  const undone = (await ended(undo)).result;
  assert.deepEqual([undone.conflicts ?? [], undone.restored_count], [[], 2]);
  assert.deepEqual((await pay('search_connections', { query: 'annie easley' })).hits, []);
  assert.ok(!(await pay('get_connection', { id: kath })).connection.tags.includes('computers'));
});

test('refused and failed calls are free', async () => {
  const nobody = 'con_ch541ck879';
  for (const [tool, args] of [
    ['search_connections', { query: '' }], ['create_connection', { name: 'X', emails: ['none'] }], ['get_connection', { id: nobody }],
    ['add_note', { connection_ids: [nobody], body: 'x' }], ['prepare_meeting', { connection_ids: [nobody] }],
    ['merge_connections', { into_id: people['Grace Hopper'], from_ids: [nobody] }], ['update_note', { id: 'not_vk440wx355', body: 'x' }],
    ['create_connection', { name: 'K. Johnson', emails: ['kath@orbital.example'], on_duplicate: 'error' }], ['update_my_profile', { listed: true }],
    ['update_connection', { id: people['Mary Jackson'], expected_version: 1, nickname: 'M' }], ['get_member_profile', { username: 'nobody-at-all' }],
    ['delete_connection', { id: people['Mary Jackson'], confirm_name: 'Mary' }], ['set_cadence', { connection_ids: [people['Mary Jackson']] }],
  ]) {
    assert.ok((await fail(client, tool, args)).length > 20, tool);
  }
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), (error) => error.code === -32602);
  const { client: reader } = await connect(path, { token: setting('READER_TOKEN') });
  await assert.rejects(reader.callTool({ name: 'create_connection', arguments: { name: 'Z' } }), (error) => error.code === -32001);
  await reader.close();
  assert.equal((await call(client, 'get_account')).credits.used, spent);
});

test('every tool was called', () => {
  called.add('get_account'); // after each day
  assert.deepEqual(tools.map((tool) => tool.name).filter((name) => !called.has(name)), []);
});
