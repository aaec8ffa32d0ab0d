// Tasks that put things right: what changed in life, what another agent did, what to try first.
import assert from 'node:assert/strict';
import { dayAfter, hasTag, inGroup, sorted } from './network.mjs';

/** Finds the id of a person. */
async function idOf({ read }, name) {
  const { entries } = await read('resolve_people', { entries: [name] });
  return entries[0].people[0].id;
}

/** Lists the reminders of the next week, which begins on a Monday. */
async function nextWeek(call, { monday, today }) {
  const days = (Date.parse(monday) - Date.parse(today)) / 86_400_000 + 13;
  const { items } = await call('list_due', { kinds: ['reminder'], days, limit: 50 });
  return items.filter((item) => item.due_on >= dayAfter(monday, 7));
}

const guests = ['Name,E-mail,Company', 'Idris Al-Khatibi,idris@new.example,Mosspath', 'Gareth Radcliffe,gareth.radcliffe@haldensystems.example,', 'Nadia Petrossian,nadia@copperline.example,Copperline Foods'];

export const mend = [
  {
    ask: 'Ove has died. No more reminders of him, please.',
    async prepare({ read, day, about }) {
      const { connection } = await read('create_connection', { name: 'Ove Sandbakken', important_dates: [{ kind: 'birthday', date: `1950${day(3).slice(4)}` }] });
      await read('set_cadence', { connection_ids: [connection.id], days: 14 });
      await read('create_reminder', { ...about(connection.id), text: 'Call Ove', due_on: day(5), recurrence: 'monthly' });
      const { items } = await read('list_due', { connection_id: connection.id, days: 60 });
      assert.ok(items.length > 1);
      return { id: connection.id };
    },
    async plan(call, { today }) {
      const { hits } = await call('search_connections', { query: 'Ove' });
      await call('update_connection', { id: hits[0].id, deceased_on: today });
    },
    async check(_, { prepared, read, today }) {
      const { items } = await read('list_due', { connection_id: prepared.id, days: 366 });
      assert.deepEqual(items, []);
      const { connection } = await read('get_connection', { id: prepared.id });
      assert.deepEqual([connection.name, connection.deceased_on], ['Ove Sandbakken', today]);
    },
  },
  {
    ask: 'A bot has archived my book club today. Undo that.',
    async prepare({ read }) {
      const { selection } = await read('search_connections', { group: 'Book club' });
      await read('archive_connections', { selection });
    },
    async plan(call, { today }) {
      const { changes } = await call('list_changes', { tool: 'archive_connections', since: today, limit: 5 });
      await call('undo_change', { change_id: changes[0].id });
    },
    async check(_, { net, read }) {
      const { hits } = await read('search_connections', { group: 'Book club' });
      assert.deepEqual(sorted(hits), net.names(inGroup('Book club')));
    },
  },
  {
    ask: 'I deleted Quentin Farrowby by mistake. Bring him back.',
    async prepare(facts) {
      await facts.read('delete_connection', { id: await idOf(facts, 'Quentin Farrowby'), confirm_name: 'Quentin Farrowby' });
    },
    async plan(call) {
      const { changes } = await call('list_changes', { tool: 'delete_connection', limit: 5 });
      await call('undo_change', { change_id: changes.find((one) => /Quentin Farrowby/.test(one.summary)).id });
    },
    async check(_, facts) {
      const { interactions } = await facts.read('get_connection', { id: await idOf(facts, 'Quentin Farrowby'), include: ['interactions'] });
      assert.deepEqual(interactions.map((one) => one.summary), ['Said goodbye']);
    },
  },
  {
    ask: 'Bring Ulrike Stammberger back from the archive.',
    async prepare(facts) {
      await facts.read('archive_connections', { ids: [await idOf(facts, 'Ulrike Stammberger')] });
    },
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Ulrike Stammberger', archived: true });
      await call('archive_connections', { ids: [hits[0].id], archived: false });
    },
    async check(_, { read }) {
      const { hits } = await read('search_connections', { query: 'Ulrike Stammberger' });
      assert.deepEqual(sorted(hits), ['Ulrike Stammberger']);
    },
  },
  {
    ask: 'Are the two Oyelarins one person? What would a merge change? Do not do it yet.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Oyelarin' });
      return call('merge_connections', { into_id: hits[0].id, from_ids: [hits[1].id] });
    },
    async check({ merged, connection, conflicts }, { net, read }) {
      assert.equal(merged, false);
      assert.equal(connection.name, 'Margaret Oyelarin');
      assert.ok(conflicts.some((one) => one.field === 'name' && one.dropped === 'Maggie Oyelarin'), JSON.stringify(conflicts));
      const { hits } = await read('search_connections', { query: 'Oyelarin' });
      assert.deepEqual(sorted(hits), net.names((one) => /Oyelarin/.test(one.name)));
    },
  },
  {
    ask: 'Here is a table of three guests. Whom would an import add, and whom do I know? Do not import it yet.',
    async plan(call) {
      const { job } = await call('import_file', { filename: 'guests.csv', content: guests.join('\n'), dry_run: true, wait_seconds: 20 });
      return job.result.rows.map(({ name, action, match, may_be: maybe }) => ({ name, action, like: (match ?? maybe?.[0])?.headline }));
    },
    before: {
      async plan(call) { // its dry run had no rows
        const { task_id: task } = await call('import_file', { filename: 'guests.csv', content: guests.join('\n'), dry_run: true });
        const { job } = await call('get_job', { task_id: task, wait_seconds: 20 });
        assert.equal(job.result.created, 2);
        const { entries } = await call('resolve_people', { entries: ['Idris Al-Khatibi', 'gareth.radcliffe@haldensystems.example', 'Nadia Petrossian'] });
        const [idris, gareth] = entries.map((entry) => entry.people?.[0]);
        return [
          { name: 'Idris Al-Khatibi', action: 'add', like: idris.headline }, { name: gareth.name, action: 'skip', like: gareth.headline },
          { name: 'Nadia Petrossian', action: 'add', like: undefined },
        ];
      },
    },
    async check(rows, { net, read }) {
      const headline = (name) => `${net.employer(net.person(name)).title} at ${net.employer(net.person(name)).organization}`;
      assert.deepEqual(rows, [
        { name: 'Idris Al-Khatibi', action: 'add', like: headline('Idris Al-Khatibi') },
        { name: 'Gareth Radcliffe', action: 'skip', like: headline('Gareth Radcliffe') },
        { name: 'Nadia Petrossian', action: 'add', like: undefined },
      ]);
      assert.deepEqual((await read('search_connections', { query: 'Nadia Petrossian' })).hits, []);
    },
  },
  {
    ask: 'Add Daniel Mensah-Cole, the pianist, if I do not have him yet.',
    plan: (call) => call('create_connection', { name: 'Daniel Mensah-Cole', title: 'Pianist' }),
    before: {
      async plan(call) {
        const { hits } = await call('search_connections', { query: 'Daniel Mensah-Cole' });
        const created = await call('create_connection', { name: 'Daniel Mensah-Cole', title: 'Pianist' });
        return { ...created, same_name: hits };
      },
    },
    async check({ connection, same_name: others }, { net, read }) {
      assert.deepEqual(sorted(others), net.names((one) => one.name === 'Daniel Mensah-Cole'));
      const { hits } = await read('search_connections', { query: 'Daniel Mensah-Cole', title: 'Pianist' });
      assert.deepEqual(hits.map((hit) => hit.id), [connection.id]);
    },
  },
  {
    ask: 'Leave me alone with my neighbours until the end of next month.',
    async plan(call, { today }) {
      const { selection } = await call('search_connections', { group: 'Neighbours and family friends', limit: 1 });
      const end = new Date(Date.UTC(Number(today.slice(0, 4)), Number(today.slice(5, 7)) + 1, 0)).toISOString().slice(0, 10);
      return call('set_cadence', { selection, snooze_until: end });
    },
    async check(_, { net, read }) {
      const { items } = await read('list_due', { kinds: ['cadence'], days: 1, limit: 50 });
      const due = new Set(items.map((item) => item.connection_name));
      for (const name of net.names(inGroup('Neighbours and family friends'))) assert.ok(!due.has(name), `${name} is due`);
    },
  },
  {
    ask: 'Halden Systems is called Halden Group now.',
    plan: (call) => call('update_organization', { name: 'Halden Systems', new_name: 'Halden Group' }),
    async check(_, { net, read }) {
      const { people } = await read('find_people_at', { organization: 'Halden Group', include_past: false, include_one_step: false, limit: 50 });
      assert.deepEqual(sorted(people.map((one) => one.person)), net.names((one) => net.employer(one)?.organization === 'Halden Systems'));
    },
  },
  {
    ask: 'Remind me every month, from the day after tomorrow, to call Begoña Villagarza.',
    async plan(call, { day, about }) {
      const { hits } = await call('search_connections', { query: 'Begoña Villagarza' });
      await call('create_reminder', { ...about(hits[0].id), text: 'Call Begoña', due_on: day(2), recurrence: 'monthly' });
    },
    async check(_, facts) {
      const { items } = await facts.read('list_due', { connection_id: await idOf(facts, 'Begoña Villagarza'), kinds: ['reminder'], days: 3 });
      assert.deepEqual(items.map((item) => [item.text, item.due_on]), [['Call Begoña', facts.day(2)]]);
      const { next_due: next, change_id: change } = await facts.read('complete_reminder', { id: items[0].reminder_id });
      const months = (date) => Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7));
      assert.equal(months(next) - months(facts.day(2)), 1);
      await facts.read('undo_change', { change_id: change });
    },
  },
  {
    ask: 'I am ill. Move all reminders of next week by a week.',
    async plan(call, facts) {
      const items = await nextWeek(call, facts);
      await call('update_reminder', { ids: items.map((item) => item.reminder_id), shift_days: 7 });
    },
    before: {
      async plan(call, facts) {
        for (const { reminder_id: id, due_on: due } of await nextWeek(call, facts)) await call('update_reminder', { id, due_on: dayAfter(due, 7) });
      },
    },
    async check(_, { net, read, monday }) {
      const week = net.document.reminders.filter((one) => one.state === 'open' && one.due_on >= dayAfter(monday, 7) && one.due_on < dayAfter(monday, 14));
      assert.ok(week.length > 0);
      const { items } = await read('list_due', { kinds: ['reminder'], days: 30, limit: 50 });
      for (const { text, due_on: due } of week) assert.deepEqual(items.filter((item) => item.text === text).map((item) => item.due_on), [dayAfter(due, 7)]);
    },
  },
  {
    ask: 'I had the quarterly lunch with Åsa. When is the next?',
    async plan(call) {
      const { items } = await call('list_due', { kinds: ['reminder'], days: 14, limit: 50 });
      return call('complete_reminder', { id: items.find((item) => /lunch with Åsa/.test(item.text)).reminder_id });
    },
    async check({ reminder, next_due: next }, { net }) {
      const { due_on: due } = net.document.reminders.find((one) => /lunch with Åsa/.test(one.text));
      const months = (date) => Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7));
      assert.equal(months(next ?? reminder.due_on) - months(due), 3);
    },
  },
  {
    ask: 'Log that I called Benjamin Oakley and Katherine Garrick together yesterday, for 25 minutes.',
    async plan(call, { day }) {
      const { entries } = await call('resolve_people', { entries: ['Benjamin Oakley', 'Katherine Garrick'] });
      await call('log_interaction', { connection_ids: entries.map((entry) => entry.people[0].id), kind: 'call', occurred_at: day(-1), duration_minutes: 25 });
    },
    async check(_, { read, day }) {
      const { entries } = await read('list_timeline', { kinds: ['call'], since: day(-1) });
      assert.deepEqual(entries.map((entry) => [sorted(entry.participants), entry.duration_minutes]), [[['Benjamin Oakley', 'Katherine Garrick'], 25]]);
    },
  },
  {
    ask: 'Tag the board members who work on climate with panel. How many are they?',
    async plan(call) {
      const { selection } = await call('search_connections', { tag: ['climate', 'board'], limit: 1 });
      return (await call('update_membership', { selection, add_tags: ['panel'] })).changed;
    },
    async check(changed, { net, read }) {
      const panel = net.names((one) => hasTag('climate')(one) && hasTag('board')(one));
      assert.ok(changed > 1);
      assert.equal(changed, panel.length);
      assert.deepEqual(sorted((await read('search_connections', { tag: ['panel'], limit: 50 })).hits), panel);
    },
  },
  {
    ask: 'What is the name of Meenal Iyengar’s husband, and where does he work?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Meenal Iyengar' });
      const { connection } = await call('get_connection', { id: hits[0].id });
      const { connection_id: id, name } = connection.relationships.find((one) => one.type === 'spouse');
      const { connection: husband } = await call('get_connection', { id });
      return [name, husband.headline];
    },
    check([name, headline], { net }) {
      const [{ connection_id: id }] = net.person('Meenal Iyengar').relationships.filter((one) => one.type === 'spouse');
      assert.equal(name, net.byId.get(id).name);
      assert.ok(headline.endsWith(net.employer(net.byId.get(id)).organization));
    },
  },
];
