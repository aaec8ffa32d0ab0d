// Tasks that write about one person, or a few.
import assert from 'node:assert/strict';
import { handles } from './network.mjs';

/** Finds a person by name and returns what is stored. */
async function stored({ read }, name, include = []) {
  const { hits } = await read('search_connections', { query: name });
  return read('get_connection', { id: hits.find((hit) => hit.name === name).id, include });
}

/** The calls of three people of a morning. */
function calls(entries, today) {
  return [10, 25, 5].map((minutes, i) => ({ connection_ids: [entries[i].people[0].id], kind: 'call', occurred_at: today, duration_minutes: minutes }));
}

export const write = [
  {
    ask: 'I had coffee with Rosalind Fairbrother yesterday, about the pilot. Remind me in three weeks to ask how it went.',
    async plan(call, { day, about }) {
      const { hits } = await call('search_connections', { query: 'Rosalind Fairbrother' });
      await call('log_interaction', { connection_ids: [hits[0].id], kind: 'meeting', occurred_at: day(-1), summary: 'Coffee: the pilot' });
      await call('create_reminder', { ...about(hits[0].id), text: 'Ask Rosalind how the pilot went', due_on: day(21) });
    },
    async check(_, facts) {
      const { connection, interactions } = await stored(facts, 'Rosalind Fairbrother', ['interactions']);
      const [{ kind, on, occurred_at: at, summary }] = interactions; // the build before has the time
      assert.deepEqual([kind, on ?? at.slice(0, 10), summary], ['meeting', facts.day(-1), 'Coffee: the pilot']);
      const { items } = await facts.read('list_due', { connection_id: connection.id, kinds: ['reminder'], days: 30 });
      assert.deepEqual(items.map((item) => [item.due_on, item.text]), [[facts.day(21), 'Ask Rosalind how the pilot went']]);
    },
  },
  {
    ask: 'Log this morning’s calls: Rosalind Fairbrother (10 minutes), Idris Al-Khatibi (25) and Gareth Radcliffe (5).',
    async plan(call, { today }) {
      const { entries } = await call('resolve_people', { entries: ['Rosalind Fairbrother', 'Idris Al-Khatibi', 'Gareth Radcliffe'] });
      await call('log_interactions', { interactions: calls(entries, today) });
    },
    before: {
      async plan(call, { today }) {
        const { entries } = await call('resolve_people', { entries: ['Rosalind Fairbrother', 'Idris Al-Khatibi', 'Gareth Radcliffe'] });
        for (const one of calls(entries, today)) await call('log_interaction', one);
      },
    },
    async check(_, { read, today }) {
      const { entries } = await read('list_timeline', { since: today, kinds: ['call'] });
      assert.deepEqual(entries.map((entry) => [entry.participants[0].name, entry.duration_minutes]).sort(), [
        ['Gareth Radcliffe', 5], ['Idris Al-Khatibi', 25], ['Rosalind Fairbrother', 10],
      ]);
    },
  },
  {
    ask: 'Add Nadia Petrossian, CFO of Copperline Foods in Yerevan, nadia@copperline.example, met at the Harvest Forum today.',
    async plan(call, { today }) {
      const { connection, duplicate_of: existing } = await call('create_connection', {
        name: 'Nadia Petrossian', organization: 'Copperline Foods', title: 'CFO', location: 'Yerevan', emails: ['nadia@copperline.example'],
        met_on: today, met_how: 'At the Harvest Forum',
      });
      assert.equal(existing, undefined);
      return connection;
    },
    async check({ id }, facts) {
      const { connection } = await stored(facts, 'Nadia Petrossian');
      assert.deepEqual([connection.id, connection.headline, connection.emails, connection.met_how], [id, 'CFO at Copperline Foods', ['nadia@copperline.example'], 'At the Harvest Forum']);
    },
  },
  {
    ask: 'Zdeněk Šíp is CTO of Relay Yard since May 2026.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Zdeněk Šíp' });
      await call('update_connection', { id: hits[0].id, add_positions: [{ organization: 'Relay Yard', title: 'CTO', started_on: '2026-05' }] });
    },
    async check(_, facts) {
      const { connection, positions } = await stored(facts, 'Zdeněk Šíp', ['positions']);
      assert.equal(connection.headline, 'CTO at Relay Yard');
      assert.deepEqual([positions[0].organization, positions[0].started_on, positions[0].current], ['Relay Yard', '2026-05', true]);
      assert.ok(positions.some((one) => one.organization === 'Mosspath' && !one.current), 'the former job did not end');
    },
  },
  {
    ask: 'Begoña Villagarza was born on 14 February 1984. Leave her anniversary.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Begoña Villagarza' });
      await call('update_connection', { id: hits[0].id, add_important_dates: [{ kind: 'birthday', date: '1984-02-14' }] });
    },
    async check(_, facts) {
      const { connection } = await stored(facts, 'Begoña Villagarza');
      const [anniversary] = facts.net.person('Begoña Villagarza').important_dates;
      const dates = connection.important_dates.map(({ kind, date }) => ({ kind, date }));
      assert.deepEqual(dates.sort((a, b) => a.kind.localeCompare(b.kind)), [anniversary, { kind: 'birthday', date: '1984-02-14' }]);
    },
  },
  {
    ask: 'I want to be in touch with Idris Al-Khatibi every six weeks.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Idris Al-Khatibi' });
      await call('set_cadence', { connection_ids: [hits[0].id], days: 42 });
    },
    async check(_, facts) {
      assert.equal((await stored(facts, 'Idris Al-Khatibi')).connection.cadence_days, 42);
    },
  },
  {
    ask: 'Move the call with Ελένη by a week.',
    async plan(call) {
      const { items } = await call('list_due', { kinds: ['reminder'] });
      const item = items.find((one) => /Ελένη/.test(one.text));
      const later = new Date(Date.parse(item.due_on) + 7 * 86_400_000).toISOString().slice(0, 10);
      await call('update_reminder', { id: item.reminder_id, due_on: later });
      return later;
    },
    async check(later, { read, net }) {
      const { due_on: before, text } = net.document.reminders.find((one) => /Ελένη/.test(one.text));
      assert.equal(Date.parse(later) - Date.parse(before), 7 * 86_400_000);
      const { items } = await read('list_due', { kinds: ['reminder'], days: 60, limit: 50 });
      assert.deepEqual(items.filter((item) => item.text === text).map((item) => item.due_on), [later]);
    },
  },
  {
    ask: 'I booked the table near Mosspath. Tick it off.',
    async plan(call) {
      const { items } = await call('list_due', { kinds: ['reminder'] });
      await call('complete_reminder', { id: items.find((one) => /table near Mosspath/.test(one.text)).reminder_id });
    },
    async check(_, { read }) {
      const { items } = await read('list_due', { kinds: ['reminder'], limit: 50 });
      assert.ok(items.length > 3 && !items.some((item) => /Mosspath/.test(item.text)));
    },
  },
  {
    ask: 'Remove the note about the contact form of Nick, it is spam.',
    async plan(call) {
      const { entries } = await call('search_notes', { query: 'contact form Nick' });
      await call('delete_timeline_entry', { id: entries[0].id });
    },
    async check(_, { read, net }) {
      assert.ok(net.document.notes.some((note) => /contact form/.test(note.body)));
      const { entries } = await read('search_notes', { query: 'contact form Nick' });
      assert.ok(!entries.some((entry) => /contact form/.test(entry.text)));
    },
  },
  {
    ask: 'Note for Ananya Iyengar, Idris Al-Khatibi and Gareth Radcliffe: they plan a joint workshop in Lisbon.',
    async plan(call) {
      const { entries } = await call('resolve_people', { entries: ['Ananya Iyengar', 'Idris Al-Khatibi', 'Gareth Radcliffe'] });
      await call('add_note', { connection_ids: entries.map((entry) => entry.people[0].id), body: 'They plan a joint workshop in Lisbon.' });
    },
    async check(_, facts) {
      for (const name of ['Ananya Iyengar', 'Idris Al-Khatibi', 'Gareth Radcliffe']) {
        const { notes } = await stored(facts, name, ['notes']);
        assert.equal(notes[0].body, 'They plan a joint workshop in Lisbon.');
        assert.equal(notes[0].connection_ids.length, 3);
      }
    },
  },
  {
    ask: 'Aoife O’Shaughnan has a new number: +353 1 555 0177.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Aoife O’Shaughnan' });
      await call('update_connection', { id: hits[0].id, add_phones: ['+353 1 555 0177'] });
    },
    async check(_, facts) {
      const { connection } = await stored(facts, 'Aoife O\'Shaughnan');
      assert.deepEqual(connection.phones, [...handles(facts.net.person('Aoife O\'Shaughnan'), 'phone'), '+353 1 555 0177']);
    },
  },
  {
    ask: 'Gareth Radcliffe reports to Harpreet Chaturvedi.',
    async plan(call) {
      const { entries } = await call('resolve_people', { entries: ['Gareth Radcliffe', 'Harpreet Chaturvedi'] });
      const [gareth, harpreet] = entries.map((entry) => entry.people[0].id);
      await call('link_connections', { from_id: gareth, to_id: harpreet, type: 'manager' });
    },
    async check(_, facts) {
      const { connection } = await stored(facts, 'Harpreet Chaturvedi');
      assert.ok(connection.relationships.some((one) => one.name === 'Gareth Radcliffe' && one.type === 'report'));
    },
  },
  {
    ask: 'My last talk with Amélie Vasseur took 45 minutes.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Amélie Vasseur' });
      const { entries } = await call('list_timeline', { connection_id: hits[0].id, limit: 5 });
      await call('update_interaction', { id: entries.find((entry) => entry.kind !== 'note').id, duration_minutes: 45 });
    },
    async check(_, facts) {
      const { interactions } = await stored(facts, 'Amélie Vasseur', ['interactions']);
      assert.equal(interactions[0].duration_minutes, 45);
      assert.equal(interactions[0].summary, facts.net.contacts(facts.net.person('Amélie Vasseur'))[0].summary);
    },
  },
  {
    ask: 'Delete Halvard Nesbakken.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Halvard Nesbakken' });
      await call('delete_connection', { id: hits[0].id, confirm_name: hits[0].name });
    },
    async check(_, { read }) {
      assert.deepEqual((await read('search_connections', { query: 'Halvard Nesbakken' })).hits, []);
    },
  },
  {
    ask: 'Yesterday’s lunch with Ngozi Adeyinka did not take place. Undo the log.',
    async prepare({ read, day }) {
      const { hits } = await read('search_connections', { query: 'Ngozi Adeyinka' });
      return read('log_interaction', { connection_ids: [hits[0].id], kind: 'meeting', occurred_at: day(-1), summary: 'Lunch' });
    },
    async plan(call) {
      const { changes } = await call('list_changes', { limit: 5 });
      await call('undo_change', { change_id: changes.find((one) => one.tool === 'log_interaction').id });
    },
    async check(_, facts) {
      const { interactions } = await stored(facts, 'Ngozi Adeyinka', ['interactions']);
      assert.deepEqual((interactions ?? []).map((one) => one.summary), facts.net.contacts(facts.net.person('Ngozi Adeyinka')).map((one) => one.summary));
    },
  },
];
