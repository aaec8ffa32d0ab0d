// Tasks about time: what is due, what was said, whom to meet.
import assert from 'node:assert/strict';
import { hasTag } from './network.mjs';

const texts = (evidence) => (evidence ?? []).map((line) => line.text).join('\n');

export const meet = [
  {
    ask: 'What is due this week?',
    plan: (call) => call('list_due', { days: 7, limit: 50 }),
    check({ items, has_more: more }, { net, day }) {
      const week = net.document.reminders.filter((one) => one.state === 'open' && one.due_on <= day(7)).map((one) => one.text);
      const told = items.filter((item) => item.kind === 'reminder').map((item) => item.text);
      assert.ok(week.length > 8);
      assert.deepEqual(told.sort(), week.sort());
      assert.equal(more, false);
    },
  },
  {
    ask: 'Brief me for my meeting with Ananya Iyengar, Idris Al-Khatibi and Gareth Radcliffe.',
    async plan(call) {
      const { entries } = await call('resolve_people', { entries: ['Ananya Iyengar', 'Idris Al-Khatibi', 'Gareth Radcliffe'] });
      return call('prepare_meeting', { connection_ids: entries.map((entry) => entry.people[0].id) });
    },
    check({ people }, { net }) {
      assert.deepEqual(people.map((one) => one.person.name), ['Ananya Iyengar', 'Idris Al-Khatibi', 'Gareth Radcliffe']);
      for (const { person: { name }, background, recent } of people) {
        const person = net.person(name);
        assert.ok(texts(background).includes(person.met_how), `${name}: how they met is missing`);
        assert.ok(texts(recent).includes(net.contacts(person)[0].summary), `${name}: the last contact is missing`);
      }
    },
  },
  {
    ask: 'Who can introduce me to Sunfold Microgrids, and what did we last talk about?',
    async plan(call) {
      const { people } = await call('find_people_at', { organization: 'Sunfold Microgrids' });
      const { entries } = await call('list_timeline', { connection_id: people[0].person.id, limit: 5 });
      return { name: people[0].person.name, tie: people[0].tie, talk: entries.find((entry) => entry.kind !== 'note').text };
    },
    check({ name, tie, talk }, { net }) {
      assert.equal(tie, 'current');
      assert.equal(net.employer(net.person(name)).organization, 'Sunfold Microgrids');
      assert.equal(talk, net.contacts(net.person(name))[0].summary);
    },
  },
  {
    ask: 'Whom should I introduce to Ananya Iyengar?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Ananya Iyengar' });
      const { introductions } = await call('suggest_introductions', { connection_id: hits[0].id });
      return introductions;
    },
    check(introductions, { net }) {
      assert.equal(introductions.length, 5);
      const { tags } = net.person('Ananya Iyengar');
      for (const { first, second, reasons } of introductions) {
        assert.equal(first.name, 'Ananya Iyengar');
        const shared = tags.filter((tag) => net.names(hasTag(tag)).includes(second.name));
        assert.ok(shared.some((tag) => texts(reasons).includes(tag)), `${second.name}: ${texts(reasons)}`);
      }
    },
  },
  {
    ask: 'Who else is like Ananya Iyengar?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Ananya Iyengar' });
      const { people } = await call('find_similar_connections', { connection_id: hits[0].id });
      return people;
    },
    check(people, { net }) {
      assert.equal(people.length, 10);
      const employer = (name) => net.employer(net.person(name))?.organization;
      assert.equal(employer(people[0].person.name), employer('Ananya Iyengar'));
    },
  },
  {
    ask: 'Whom was I in touch with during the last seven days?',
    async plan(call, { day }) {
      const { entries } = await call('list_timeline', { since: day(-7), kinds: ['meeting', 'call', 'email', 'message', 'event', 'intro', 'other'], limit: 50 });
      return entries;
    },
    check(entries, { net, day }) {
      const lately = net.document.interactions.filter((one) => one.occurred_at >= day(-7));
      assert.ok(lately.length > 5);
      assert.deepEqual(entries.map((entry) => entry.text).sort(), lately.map((one) => one.summary).sort());
    },
  },
  {
    ask: 'Give me an overview of my network.',
    plan: (call) => call('get_network_stats'),
    check(stats, { net }) {
      const { people, notes, interactions, never_contacted: never } = stats;
      assert.deepEqual({ people, notes, interactions }, {
        people: net.people.length, notes: net.document.notes.length, interactions: net.document.interactions.length,
      });
      assert.equal(never, net.names((one) => net.lastContact(one) === undefined).length);
    },
  },
  {
    ask: 'Did Faris Benmoussa ever say something about a book swap?',
    async plan(call) {
      const { hits } = await call('search_connections', { query: 'Faris Benmoussa' });
      const { entries } = await call('search_notes', { query: 'book swap', connection_id: hits[0].id });
      return entries;
    },
    check(entries, { net }) {
      const person = net.person('Faris Benmoussa');
      const said = [...net.notes(person).map((note) => note.body), ...net.contacts(person).map((one) => one.summary)].filter((text) => /book swap/.test(text));
      assert.ok(said.length > 1);
      assert.equal(entries.length, said.length);
    },
  },
  {
    ask: 'Which other members work on microgrids?',
    async plan(call) {
      const { members } = await call('search_directory', { query: 'microgrids' });
      return members;
    },
    check: (members) => assert.deepEqual(members.map((one) => one.name), ['Inês Valadão-Reis']),
  },
  {
    ask: 'How many credits are left this month?',
    async plan(call) {
      const { credits } = await call('get_account');
      return credits;
    },
    check: ({ allowance, used, remaining }) => assert.ok(used > 0 && remaining === allowance - used),
  },
];
