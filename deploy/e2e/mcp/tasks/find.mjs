// Tasks that ask for a fact about one person.
import assert from 'node:assert/strict';
import { handles, sorted } from './network.mjs';

export const find = [
  {
    ask: 'What is Zdeněk Šíp’s e-mail address?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Zdeněk Šíp' });
      return hits[0].email;
    },
    check: (email) => assert.equal(email, 'zdenek.sip@mosspath.example'),
  },
  {
    ask: 'I need the phone number of Pawel Sokolowicz.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Pawel Sokolowicz', include: ['phones'] });
      return hits[0];
    },
    check(hit, { net }) {
      assert.equal(hit.name, 'Paweł Sokołowicz');
      assert.deepEqual(hit.phones, handles(net.person(hit.name), 'phone'));
    },
  },
  {
    ask: 'When is Ananya Iyengar’s birthday?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Ananya Iyengar', include: ['birthday'] });
      return hits[0];
    },
    check(hit, { net }) {
      assert.equal(hit.name, 'Ananya Iyengar');
      assert.equal(hit.birthday, net.birthday(net.person(hit.name)));
    },
  },
  {
    ask: 'When was I last in touch with Gareth Radcliffe?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Gareth Radcliffe' });
      return hits[0].last_contact_on;
    },
    check: (day, { net }) => assert.equal(day, net.lastContact(net.person('Gareth Radcliffe'))),
  },
  {
    ask: 'What did Amélie Vasseur and I last talk about?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Amélie Vasseur' });
      const { entries } = await call('list_timeline', { connection_id: hits[0].id, limit: 5 });
      return entries.find((entry) => entry.kind !== 'note').text;
    },
    check: (text, { net }) => assert.equal(text, net.contacts(net.person('Amélie Vasseur'))[0].summary),
  },
  {
    ask: 'Who told me about the half marathon?',
    async plan(call) {
      const { entries } = await call('search_notes', { query: 'half marathon' });
      return entries;
    },
    check(entries, { net }) {
      assert.equal(entries.length, 10);
      for (const entry of entries) {
        const [first] = entry.participants;
        const all = [...net.notes(net.person(first.name)).map((note) => note.body), ...net.contacts(net.person(first.name)).map((one) => one.summary)];
        assert.ok(all.some((text) => /half marathon/.test(text)), `${first.name} told nothing of it`);
      }
    },
  },
  {
    ask: 'How did I meet Aoife O’Shaughnan?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Aoife O’Shaughnan', include: ['met'] });
      return hits[0];
    },
    check(hit, { net }) {
      const { met_on: on, met_how: how } = net.person('Aoife O\'Shaughnan');
      assert.deepEqual([hit.met_on, hit.met_how], [on, how]);
    },
  },
  {
    ask: 'Tell me all about Harpreet Chaturvedi.',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Harpreet Chaturvedi' });
      return call('get_connection', { id: hits[0].id, include: ['notes', 'interactions', 'positions'] });
    },
    check({ connection, notes, interactions, positions }, { net }) {
      const person = net.person('Harpreet Chaturvedi');
      assert.deepEqual([connection.emails, connection.phones ?? []], [handles(person, 'email'), handles(person, 'phone')]);
      assert.deepEqual(notes.map((note) => note.body).sort(), net.notes(person).map((note) => note.body).sort());
      assert.deepEqual(interactions.map((one) => one.summary), net.contacts(person).slice(0, 10).map((one) => one.summary));
      assert.deepEqual(positions.map((one) => one.organization).sort(), person.positions.map((one) => one.organization).sort());
    },
  },
  {
    ask: 'Whose number is +1 415 555-0130?',
    async plan(call) {
      const { entries } = await call('resolve_people', { entries: ['+1 415 555-0130'] });
      return entries[0].people;
    },
    check: (people, { net }) => assert.deepEqual(sorted(people), net.names((one) => handles(one, 'phone').includes('+1 415 555-0130'))),
  },
  {
    ask: 'I have the list of a dinner: Ananya Iyengar, Idris Al-Khatibi, Bela Unknownson, thomas.okwuegbu@slateanchor.example. Whom do I know?',
    async plan(call) {
      const { entries } = await call('resolve_people', {
        entries: ['Ananya Iyengar', 'Idris Al-Khatibi', 'Bela Unknownson', 'thomas.okwuegbu@slateanchor.example'],
      });
      return entries;
    },
    check(entries) {
      assert.deepEqual(entries.map((entry) => entry.outcome), ['matched', 'matched', 'none', 'ambiguous']);
      assert.deepEqual(sorted(entries[3].people), ['Thomas Okwuegbu', 'Tom Okwuegbu']);
    },
  },
  {
    ask: 'Who introduced me to Zdeněk Šíp?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Zdeněk Šíp', include: ['met'] });
      return hits[0].met_how;
    },
    check: (how) => assert.equal(how, 'Introduced by Käthe Weißmann'),
  },
];
