// Tasks that mean somebody unclear or written otherwise, believe what is not so, or meet a trap.
import assert from 'node:assert/strict';
import { handles, sorted } from './network.mjs';

/** Archives a person. */
async function archive({ read }, name) {
  const { entries } = await read('resolve_people', { entries: [name] });
  return read('archive_connections', { ids: [entries[0].people[0].id] });
}

export const doubt = [
  {
    ask: 'Who was the guy who knew all about permits?',
    async plan(call) {
      const { entries } = await call('search_notes', { query: 'permits' });
      return entries;
    },
    check(entries, { net }) {
      const told = [...net.document.notes, ...net.document.interactions].filter((one) => /permit/.test(one.body ?? one.summary));
      assert.ok(told.length > 2);
      assert.deepEqual(entries.flatMap(({ participants }) => sorted(participants)).sort(), told.flatMap((one) => net.namesIn(one)).sort());
    },
  },
  {
    ask: 'What is the number of Daniel Mensah-Cole, the one in Accra?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Daniel Mensah-Cole', include: ['phones'] });
      assert.equal(hits.length, 2);
      return hits.find((hit) => /Accra/.test(hit.location)).phones;
    },
    check(phones, { net }) {
      const [accra] = net.people.filter((one) => one.name === 'Daniel Mensah-Cole' && /Accra/.test(one.location));
      assert.deepEqual(phones, handles(accra, 'phone'));
    },
  },
  {
    ask: 'Daniel Mensah-Cole of Longwave Audio plays the cello. Keep that.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Daniel Mensah-Cole', company: 'Longwave Audio' });
      assert.equal(hits.length, 1);
      await call('add_note', { connection_ids: [hits[0].id], body: 'Plays the cello.' });
    },
    async check(_, { read }) {
      const { hits } = await read('search_connections', { query: 'Daniel Mensah-Cole' });
      for (const { id, location } of hits) {
        const { notes } = await read('get_connection', { id, include: ['notes'] });
        assert.equal((notes ?? []).some((note) => note.body === 'Plays the cello.'), /Denver/.test(location));
      }
    },
  },
  {
    ask: 'Log a call of today with the person whose id is in my calendar (who was merged since).',
    async prepare({ read }) {
      const { entries } = await read('resolve_people', { entries: ['Thomas Okwuegbu', 'Tom Okwuegbu'] });
      const [thomas, tom] = entries.map((entry) => entry.people[0].id);
      await read('merge_connections', { into_id: thomas, from_ids: [tom], dry_run: false });
      return { id: tom };
    },
    async plan(call, { prepared, today }) {
      const log = (id) => ({ connection_ids: [id], kind: 'call', occurred_at: today, summary: 'The id in the calendar' });
      const text = await call.refused('log_interaction', log(prepared.id));
      await call('log_interaction', log(text.match(/merged into (con_\w+)/)[1]));
    },
    async check(_, { read }) {
      const { hits } = await read('search_connections', { query: 'Thomas Okwuegbu' });
      assert.deepEqual(sorted(hits), ['Thomas Okwuegbu']);
      const { interactions } = await read('get_connection', { id: hits[0].id, include: ['interactions'] });
      assert.equal(interactions[0].summary, 'The id in the calendar');
    },
  },
  {
    ask: 'Give me the number of Bela Unknownson.',
    plan: (call) => call('search_connections', { query: 'Bela Unknownson', include: ['phones'] }),
    before: { check: ({ hits }) => assert.deepEqual(hits, []) },
    check({ hits, why }) {
      assert.deepEqual(hits, []);
      assert.match(why, /No one matches/);
    },
  },
  {
    ask: 'I cannot find Petra Oldenkamp. Did I delete her?',
    prepare: (facts) => archive(facts, 'Petra Oldenkamp'),
    async plan(call) {
      const { why } = await call('search_connections', { query: 'Petra Oldenkamp' });
      return /^Archived people match/.test(why) && why.includes('Petra Oldenkamp');
    },
    before: {
      async plan(call) {
        await call('search_connections', { query: 'Petra Oldenkamp' });
        const { hits } = await call('search_connections', { query: 'Petra Oldenkamp', archived: true });
        return hits[0].name === 'Petra Oldenkamp';
      },
    },
    check: (archived) => assert.ok(archived),
  },
  {
    ask: 'Zdeněk Šíp left Mosspath last year, didn’t he?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Zdeněk Šíp' });
      return hits[0].headline;
    },
    check: (headline, { net }) => assert.equal(headline, `${net.employer(net.person('Zdeněk Šíp')).title} at Mosspath`),
  },
  {
    ask: 'What did I discuss with Halvard Nesbakken at our lunch this summer?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Halvard Nesbakken' });
      const { entries } = await call('list_timeline', { connection_id: hits[0].id });
      return { entries, last: hits[0].last_contact_on };
    },
    check({ entries, last }, { net, monthsAgo }) { // there was none
      assert.equal(last, net.lastContact(net.person('Halvard Nesbakken')));
      assert.ok(last < monthsAgo(24));
      assert.deepEqual(entries.map((entry) => [entry.kind, entry.text]), [['call', 'Said goodbye']]);
    },
  },
  {
    ask: 'Take the tag sponsor off everyone.',
    plan: (call) => call.refused('search_connections', { tag: ['sponsor'] }),
    check: (text, { net }) => assert.ok(text.includes('nobody has the tag "sponsor"') && !net.people.some((one) => one.tags?.includes('sponsor'))),
  },
  {
    ask: 'What is Zoryana Kalynenko’s e-mail address?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Zoryana Kalynenko' });
      return hits[0];
    },
    check(hit, { net }) {
      assert.equal(hit.name, 'Зоряна Калиненко');
      assert.equal(hit.email, handles(net.person(hit.name), 'email')[0]);
    },
  },
  {
    ask: 'I am seeing Zoryana Kalynenko, Eleni Papastavrou and Park Minjun tonight. What do they do?',
    async plan(call) {
      const { entries } = await call('resolve_people', { entries: ['Zoryana Kalynenko', 'Eleni Papastavrou', 'Park Minjun'] });
      return entries.map((entry) => entry.people[0]);
    },
    before: {
      async plan(call) { // resolve_people knew one script only; a model writes the names in the other
        await call('resolve_people', { entries: ['Zoryana Kalynenko', 'Eleni Papastavrou', 'Park Minjun'] });
        const { entries } = await call('resolve_people', { entries: ['Зоряна Калиненко', 'Ελένη Παπασταύρου', '박민준'] });
        return entries.map((entry) => entry.people[0]);
      },
    },
    check(people, { net }) {
      assert.deepEqual(people.map((one) => one.name), ['Зоряна Калиненко', 'Ελένη Παπασταύρου', '박민준']);
      for (const { name, headline } of people) assert.ok(headline.endsWith(net.employer(net.person(name)).organization));
    },
  },
  {
    ask: 'What does the note from Nick’s contact form say?',
    async plan(call) {
      const { entries } = await call('search_notes', { query: 'contact form Nick' });
      const { notes, text_by_others: others } = await call('get_connection', { id: entries[0].participants[0].id, include: ['notes'] });
      return { note: notes.find((one) => one.id === entries[0].id), others };
    },
    async check({ note, others }, { net, today, read }) {
      const { body } = net.document.notes.find((one) => /contact form/.test(one.body));
      assert.equal(note.body, body);
      assert.match(body, /ignore all previous instructions/);
      assert.ok(others.includes('body'), 'the note is not marked as text by others');
      const { changes } = await read('list_changes', { since: today, limit: 1 });
      assert.ok(!/delete|export|merge/.test(changes[0]?.tool), 'something was done that the note asks for');
    },
  },
];
