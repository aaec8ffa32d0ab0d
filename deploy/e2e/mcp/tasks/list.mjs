// Tasks that ask for a list of people.
import assert from 'node:assert/strict';
import { handles, hasTag, inGroup, isIn, sorted } from './network.mjs';

export const list = [
  {
    ask: 'Who lives in London?',
    async plan(call) {
      const { hits } = await call('search_connections', { location: 'London' });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names(isIn('London'))),
  },
  {
    ask: 'Which investors do I know?',
    async plan(call) {
      const { hits } = await call('search_connections', { tag: ['investor'], limit: 50 });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names(hasTag('investor'))),
  },
  {
    ask: 'Who works at Halden Systems now?',
    async plan(call) {
      const { people } = await call('find_people_at', { organization: 'Halden Systems', include_past: false, include_one_step: false, limit: 50 });
      return people.map((one) => one.person);
    },
    check: (people, { net }) => assert.deepEqual(sorted(people), net.names((one) => net.employer(one)?.organization === 'Halden Systems')),
  },
  {
    ask: 'Whom do I know in Portugal?',
    async plan(call) {
      const { hits } = await call('search_connections', { country: 'Portugal' });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names(isIn('Portugal'))),
  },
  {
    ask: 'Which former colleagues have I not been in touch with for six months?',
    async plan(call, { monthsAgo }) {
      const { hits } = await call('search_connections', { group: 'Former colleagues', last_contact_before: monthsAgo(6), limit: 50 });
      return hits;
    },
    check(hits, { net, monthsAgo }) {
      const silent = net.names((one) => inGroup('Former colleagues')(one) && (net.lastContact(one) ?? '') < monthsAgo(6));
      assert.deepEqual(sorted(hits), silent);
      assert.ok(hits.some((hit) => hit.last_contact_on === undefined), 'those never contacted are missing');
    },
  },
  {
    ask: 'Whom did I meet at Tideline Days?',
    async plan(call) {
      const { hits } = await call('search_connections', { met_how: 'Tideline Days', limit: 50 });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names((one) => /Tideline Days/.test(one.met_how))),
  },
  {
    ask: 'List the birthdays of December with phone numbers.',
    async plan(call) {
      const { hits } = await call('search_connections', { birthday_between: ['12-01', '12-31'], include: ['birthday', 'phones'], limit: 50 });
      return hits;
    },
    check(hits, { net }) {
      assert.deepEqual(sorted(hits), net.names((one) => net.birthday(one)?.slice(5, 7) === '12'));
      assert.ok(hits.length > 2);
      for (const hit of hits) assert.deepEqual([hit.birthday, hit.phones ?? []], [net.birthday(net.person(hit.name)), handles(net.person(hit.name), 'phone')]);
    },
  },
  {
    ask: 'Who are my oldest contacts?',
    async plan(call) {
      const { hits } = await call('search_connections', { sort: 'created', order: 'asc' });
      return hits;
    },
    check(hits, { net }) {
      const oldest = net.people.toSorted((a, b) => a.created_at.localeCompare(b.created_at)).slice(0, 10);
      assert.deepEqual(sorted(hits), oldest.map((one) => one.name).sort());
    },
  },
  {
    ask: 'Which climate people are in London or elsewhere in the United Kingdom?',
    async plan(call) {
      const { hits } = await call('search_connections', { tag: ['climate'], country: 'GB' });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names((one) => hasTag('climate')(one) && isIn('United Kingdom')(one))),
  },
  {
    ask: 'Which starred people have I neglected for three months?',
    async plan(call, { monthsAgo }) {
      const { hits } = await call('search_connections', { starred: true, last_contact_before: monthsAgo(3), sort: 'last_contact', order: 'asc' });
      return hits;
    },
    check(hits, { net, monthsAgo }) {
      assert.deepEqual(sorted(hits), net.names((one) => one.starred && (net.lastContact(one) ?? '') < monthsAgo(3)));
    },
  },
  {
    ask: 'Whose e-mail address is missing?',
    async plan(call) {
      const { hits } = await call('search_connections', { missing: ['email'], limit: 50 });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names((one) => handles(one, 'email').length === 0)),
  },
  {
    ask: 'Which board members have I never spoken to?',
    async plan(call) {
      const { hits } = await call('search_connections', { tag: ['board'], never_contacted: true });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names((one) => hasTag('board')(one) && net.lastContact(one) === undefined)),
  },
  {
    ask: 'My birthday is in March. Who shares the month?',
    async plan(call) {
      const { hits } = await call('search_connections', { birthday_between: ['03-01', '03-31'], include: ['birthday'], limit: 50 });
      return hits;
    },
    check(hits, { net }) {
      assert.deepEqual(sorted(hits), net.names((one) => net.birthday(one)?.slice(5, 7) === '03'));
      assert.ok(hits.length > 2);
    },
  },
  {
    ask: 'Who are the ten people I am closest to?',
    async plan(call) {
      const { hits } = await call('search_connections', { sort: 'strength', limit: 10 });
      return hits;
    },
    check(hits, { net }) {
      assert.equal(hits.length, 10);
      const strengths = hits.map((hit) => hit.strength);
      assert.deepEqual(strengths, strengths.toSorted((a, b) => b - a));
      for (const hit of hits) assert.ok(net.contacts(net.person(hit.name)).length > 3, `${hit.name} is hardly close`);
    },
  },
  {
    ask: 'Who is in my book club?',
    async plan(call) {
      const { hits } = await call('search_connections', { group: 'Book club' });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names(inGroup('Book club'))),
  },
  {
    ask: 'Whom am I losing touch with?',
    async plan(call) {
      const { hits } = await call('search_connections', { cadence_overdue: true, limit: 50 });
      return hits;
    },
    async check(hits, { read }) {
      const { counts } = await read('list_due', { kinds: ['cadence'] });
      assert.equal(hits.length, counts.overdue);
      assert.ok(hits.some((hit) => hit.name === 'Felicity Underhill'));
    },
  },
];
