// Tasks that ask how many, how often or how long.
import assert from 'node:assert/strict';
import { hasTag, tally } from './network.mjs';

const contacts = ['meeting', 'call', 'email', 'message', 'event', 'intro', 'other'];

/** Returns the pages of a list, one after the other, as an agent reads them that cannot count. */
export async function pages(call, tool, list, args) {
  const all = [];
  for (let cursor; ;) {
    const answer = await call(tool, { ...args, limit: 50, ...(cursor && { cursor }) });
    all.push(...answer[list]);
    if (!answer.has_more) return all;
    cursor = answer.next_cursor;
  }
}

export const count = [
  {
    ask: 'Whom was I in touch with most often this year?',
    varies: true,
    async prepare({ read, today }) { // so that there is something to count on the first days of a year
      const { entries } = await read('resolve_people', { entries: ['Rosalind Fairbrother'] });
      for (let i = 0; i < 2; i++) await read('log_interaction', { connection_ids: [entries[0].people[0].id], kind: 'message', occurred_at: today });
    },
    async plan(call, { year }) {
      const { groups } = await call('count_interactions', { group_by: 'person', since: `${year}-01-01` });
      return groups[0];
    },
    before: {
      async plan(call, { year }) {
        const entries = await pages(call, 'list_timeline', 'entries', { since: `${year}-01-01`, kinds: contacts });
        const [name, count] = tally(entries.flatMap((entry) => entry.participants.map((one) => one.name)))[0];
        return { name, count };
      },
    },
    check({ name, count }, { net, year }) {
      const times = new Map(tally(net.since(`${year}-01-01`).flatMap((one) => net.namesIn(one))));
      times.set('Rosalind Fairbrother', (times.get('Rosalind Fairbrother') ?? 0) + 2);
      assert.equal(count, Math.max(...times.values()));
      assert.equal(count, times.get(name));
    },
  },
  {
    ask: 'How many hours did I spend in meetings this week?',
    async prepare({ read, today }) {
      const { entries } = await read('resolve_people', { entries: ['Rosalind Fairbrother', 'Idris Al-Khatibi'] });
      const [rosalind, idris] = entries.map((entry) => entry.people[0].id);
      await read('log_interaction', { connection_ids: [rosalind], kind: 'meeting', occurred_at: today, duration_minutes: 45 });
      await read('log_interaction', { connection_ids: [rosalind, idris], kind: 'meeting', occurred_at: today, duration_minutes: 90 });
      await read('log_interaction', { connection_ids: [idris], kind: 'call', occurred_at: today, duration_minutes: 20 });
    },
    async plan(call, { monday }) {
      const { minutes } = await call('count_interactions', { kinds: ['meeting'], since: monday });
      return minutes / 60;
    },
    before: {
      async plan(call, { monday }) {
        const entries = await pages(call, 'list_timeline', 'entries', { since: monday, kinds: ['meeting'] });
        return entries.reduce((sum, entry) => sum + (entry.duration_minutes ?? 0), 0) / 60;
      },
    },
    check(hours, { net, monday }) {
      const minutes = net.since(monday).filter((one) => one.kind === 'meeting').reduce((sum, one) => sum + (one.duration_minutes ?? 0), 0);
      assert.equal(hours, (minutes + 135) / 60);
    },
  },
  {
    ask: 'How many calls did I have in each month of the last half year?',
    varies: true,
    async plan(call, { monthsAgo }) {
      const { groups } = await call('count_interactions', { group_by: 'month', kinds: ['call'], since: monthsAgo(6) });
      return groups.map(({ name, count }) => [name, count]);
    },
    before: {
      async plan(call, { monthsAgo }) {
        const entries = await pages(call, 'list_timeline', 'entries', { since: monthsAgo(6), kinds: ['call'] });
        return tally(entries.map((entry) => entry.occurred_at.slice(0, 7)));
      },
    },
    check(months, { net, monthsAgo }) {
      const calls = net.since(monthsAgo(6)).filter((one) => one.kind === 'call');
      assert.ok(calls.length > 10);
      assert.deepEqual(months.toSorted(), tally(calls.map((one) => one.occurred_at.slice(0, 7))).sort());
    },
  },
  {
    ask: 'People of which organization did I talk to most in the last six months?',
    async plan(call, { monthsAgo }) {
      const { groups } = await call('count_interactions', { group_by: 'organization', since: monthsAgo(6) });
      return groups[0];
    },
    before: {
      async plan(call, { monthsAgo }) {
        const hits = await pages(call, 'search_connections', 'hits', { last_contact_after: monthsAgo(6), has: ['organization'] });
        const employer = new Map(hits.map((hit) => [hit.id, hit.organization]));
        const entries = await pages(call, 'list_timeline', 'entries', { since: monthsAgo(6), kinds: contacts });
        const [name, count] = tally(entries.flatMap((entry) => [...new Set(entry.participants.map((one) => employer.get(one.id)).filter(Boolean))]))[0];
        return { name, count };
      },
    },
    check({ name, count }, { net, monthsAgo }) {
      const employers = (one) => [...new Set(one.connection_ids.map((id) => net.employer(net.byId.get(id))?.organization).filter(Boolean))];
      const times = tally(net.since(monthsAgo(6)).flatMap(employers));
      assert.equal(count, times[0][1]);
      assert.ok(times.some(([organization, most]) => organization === name && most === count), `${name} ${count}`);
    },
  },
  {
    ask: 'How many of my investors are in each city?',
    async plan(call) {
      const { groups } = await call('search_connections', { tag: ['investor'], group_by: 'place', limit: 50 });
      return groups.map(({ name, count }) => [name, count]);
    },
    before: {
      async plan(call) {
        const hits = await pages(call, 'search_connections', 'hits', { tag: ['investor'] });
        return tally(hits.map((hit) => hit.location));
      },
    },
    check(cities, { net }) {
      assert.deepEqual(cities.toSorted(), tally(net.people.filter(hasTag('investor')).map((one) => one.location)).sort());
    },
  },
  {
    ask: 'In which month do most of my people have their birthdays?',
    async plan(call) {
      const { groups } = await call('search_connections', { group_by: 'birth_month', limit: 12 });
      return groups.map(({ name, count }) => [Number(name), count]);
    },
    before: {
      async plan(call) {
        const hits = await pages(call, 'search_connections', 'hits', { has: ['birthday'], include: ['birthday'] });
        return tally(hits.map((hit) => Number(hit.birthday.slice(5, 7))));
      },
    },
    check(months, { net }) {
      const born = net.people.map((one) => net.birthday(one)).filter(Boolean);
      assert.deepEqual(months.toSorted((a, b) => a[0] - b[0]), tally(born.map((date) => Number(date.slice(5, 7)))).sort((a, b) => a[0] - b[0]));
    },
  },
  {
    ask: 'How many founders do I know?',
    async plan(call) {
      const { count } = await call('search_connections', { tag: ['founder'], count_only: true });
      return count;
    },
    before: { plan: async (call) => (await call('search_connections', { tag: ['founder'], limit: 1 })).count },
    check: (count, { net }) => assert.equal(count, net.names(hasTag('founder')).length),
  },
  {
    ask: 'How many people did I get to know last year?',
    async plan(call, { year }) {
      const { count } = await call('search_connections', { met_on_after: `${year - 2}`, met_on_before: `${year}`, count_only: true });
      return count;
    },
    before: {
      plan: async (call, { year }) => (await call('search_connections', { met_on_after: `${year - 2}`, met_on_before: `${year}`, limit: 1 })).count,
    },
    check(count, { net, year }) {
      assert.ok(count > 20);
      assert.equal(count, net.names((one) => one.met_on?.startsWith(`${year - 1}`)).length);
    },
  },
  {
    ask: 'Of how many people do I have no phone number?',
    async plan(call) {
      const { count } = await call('search_connections', { missing: ['phone'], count_only: true });
      return count;
    },
    before: { plan: async (call) => (await call('search_connections', { missing: ['phone'], limit: 1 })).count },
    check: (count, { net }) => assert.equal(count, net.names((one) => !one.handles?.some((handle) => handle.kind === 'phone')).length),
  },
];
