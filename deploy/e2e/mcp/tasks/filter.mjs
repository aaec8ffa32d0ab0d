// Tasks that ask for people by their life: jobs, birthdays, contacts, own fields.
import assert from 'node:assert/strict';
import { pages } from './count.mjs';
import { handles, hasTag, inGroup, isIn, sorted } from './network.mjs';

/** Finds the jobs of people, twenty at a time, as an agent reads them that cannot filter by job. */
async function jobs(call, ids) {
  const people = [];
  for (let i = 0; i < ids.length; i += 20) {
    const { connections, positions } = await call('get_connection', { ids: ids.slice(i, i + 20), include: ['positions'] });
    people.push(...connections.map(({ id, name }) => ({ name, positions: positions.filter((job) => job.connection_id === id) })));
  }
  return people;
}

const startedIn = (year) => (job) => job.started_on?.startsWith(`${year}`);

export const filter = [
  {
    ask: 'Who changed jobs this year?',
    async prepare({ read, year }) {
      const { entries } = await read('resolve_people', { entries: ['Zdeněk Šíp'] });
      await read('update_connection', { id: entries[0].people[0].id, add_positions: [{ organization: 'Relay Yard', title: 'CTO', started_on: `${year}` }] });
    },
    async plan(call, { year }) {
      const { hits } = await call('search_connections', { job_started: `${year}`, limit: 50 });
      return hits;
    },
    before: {
      async plan(call, { year }) {
        const hits = await pages(call, 'search_connections', 'hits', { has: ['organization'] });
        return (await jobs(call, hits.map((hit) => hit.id))).filter((one) => one.positions.some(startedIn(year)));
      },
    },
    check(people, { net, year }) {
      const changed = net.names((one) => one.name === 'Zdeněk Šíp' || one.positions?.some(startedIn(year)));
      assert.deepEqual(sorted(people), changed);
    },
  },
  {
    ask: 'Who joined Halden Systems in the last two years?',
    async plan(call, { monthsAgo }) {
      const { hits } = await call('search_connections', { company: 'Halden Systems', job_started: `${monthsAgo(24).slice(0, 7)}..` });
      return hits.filter((hit) => hit.headline.endsWith('Halden Systems'));
    },
    before: {
      async plan(call, { monthsAgo }) {
        const { people } = await call('find_people_at', { organization: 'Halden Systems', include_past: false, include_one_step: false, limit: 50 });
        const here = (job) => job.organization === 'Halden Systems' && job.started_on >= monthsAgo(24).slice(0, 7);
        return (await jobs(call, people.map((one) => one.person.id))).filter((one) => one.positions.some(here));
      },
    },
    check(people, { net, monthsAgo }) {
      const joined = net.names((one) => net.employer(one)?.organization === 'Halden Systems' && net.employer(one).started_on >= monthsAgo(24).slice(0, 7));
      assert.ok(joined.length > 2);
      assert.deepEqual(sorted(people), joined);
    },
  },
  {
    ask: 'Who turns 50 this year?',
    async plan(call, { year }) {
      const { hits } = await call('search_connections', { born: `${year - 50}`, include: ['birthday'] });
      return hits;
    },
    before: {
      async plan(call, { year }) {
        const hits = await pages(call, 'search_connections', 'hits', { has: ['birthday'], include: ['birthday'] });
        return hits.filter((hit) => hit.birthday.startsWith(`${year - 50}`));
      },
    },
    check(hits, { net, year }) {
      assert.deepEqual(sorted(hits), net.names((one) => net.birthday(one)?.startsWith(`${year - 50}`)));
      for (const hit of hits) assert.equal(hit.birthday, net.birthday(net.person(hit.name)));
    },
  },
  {
    ask: 'Which Americans were born in the seventies?',
    async plan(call) {
      const { hits } = await call('search_connections', { country: 'US', born: '1970..1979' });
      return hits;
    },
    before: {
      async plan(call) {
        const hits = await pages(call, 'search_connections', 'hits', { country: 'US', has: ['birthday'], include: ['birthday'] });
        return hits.filter((hit) => hit.birthday.startsWith('197'));
      },
    },
    check(hits, { net }) {
      assert.ok(hits.length > 3);
      assert.deepEqual(sorted(hits), net.names((one) => isIn('United States')(one) && net.birthday(one)?.startsWith('197')));
    },
  },
  {
    ask: 'Whom have I only ever e-mailed?',
    async plan(call) {
      const { hits } = await call('search_connections', { contacted_only_by: ['email'], limit: 50 });
      return hits;
    },
    before: {
      async plan(call) {
        const entries = await pages(call, 'list_timeline', 'entries', { kinds: ['meeting', 'call', 'email', 'message', 'event', 'intro', 'other'] });
        const kinds = new Map();
        for (const { kind, participants } of entries) {
          for (const { id, name } of participants) kinds.set(id, { name, kinds: [...(kinds.get(id)?.kinds ?? []), kind] });
        }
        return [...kinds.values()].filter((one) => one.kinds.every((kind) => kind === 'email'));
      },
    },
    check(people, { net }) {
      assert.ok(people.length > 2);
      assert.deepEqual(sorted(people), net.names((one) => net.lastContact(one) && net.contacts(one).every((contact) => contact.kind === 'email')));
    },
  },
  {
    ask: 'Whom did I meet at the Grain & Grid forum and never followed up with?',
    async plan(call) {
      const { hits } = await call('search_connections', { met_how: 'Grain & Grid forum', never_contacted: true });
      return hits;
    },
    check(hits, { net }) {
      assert.ok(hits.length > 1);
      assert.deepEqual(sorted(hits), net.names((one) => /Grain & Grid forum/.test(one.met_how) && !net.lastContact(one)));
    },
  },
  {
    ask: 'Whom did Jürgen Osterwald introduce to me?',
    async plan(call) {
      const { hits } = await call('search_connections', { met_through: 'Jürgen Osterwald' });
      return hits;
    },
    before: { plan: async (call) => (await call('search_connections', { met_how: 'Introduced by Jürgen Osterwald' })).hits },
    check(hits, { net }) {
      assert.ok(hits.length > 1);
      assert.deepEqual(sorted(hits), net.names((one) => one.met_how === 'Introduced by Jürgen Osterwald'));
    },
  },
  {
    ask: 'Which of my investors are in no group?',
    async plan(call) {
      const { hits } = await call('search_connections', { tag: ['investor'], missing: ['group'] });
      return hits;
    },
    check: (hits, { net }) => assert.deepEqual(sorted(hits), net.names((one) => hasTag('investor')(one) && !one.groups?.length)),
  },
  {
    ask: 'Whom in London have I not been in touch with this year?',
    async plan(call, { year }) {
      const { hits } = await call('search_connections', { location: 'London', last_contact_before: `${year}-01-01` });
      return hits;
    },
    check(hits, { net, year }) {
      assert.deepEqual(sorted(hits), net.names((one) => isIn('London')(one) && (net.lastContact(one) ?? '') < `${year}-01-01`));
    },
  },
  {
    ask: 'I want to write to the Thursday run club. What are their addresses?',
    async plan(call) {
      const { hits } = await call('search_connections', { group: 'Thursday run club', include: ['emails'] });
      return hits;
    },
    check(hits, { net }) {
      assert.deepEqual(sorted(hits), net.names(inGroup('Thursday run club')));
      const addresses = net.people.filter(inGroup('Thursday run club')).flatMap((one) => handles(one, 'email'));
      assert.deepEqual(hits.flatMap((hit) => hit.emails ?? []).sort(), addresses.sort());
    },
  },
  {
    ask: 'Who is Managing Director at Vindmark Energi?',
    async plan(call) {
      const { hits } = await call('search_connections', { company: 'Vindmark Energi', title: 'Managing Director' });
      return hits;
    },
    check(hits, { net }) {
      const directs = (job) => job.organization === 'Vindmark Energi AS' && job.title === 'Managing Director';
      assert.deepEqual(sorted(hits), net.names((one) => one.positions?.some(directs)));
      assert.ok(hits.length > 0);
    },
  },
  {
    ask: 'I want to record shoe sizes: Begoña Villagarza has 38.',
    async plan(call) {
      await call('define_field', { name: 'Shoe size', type: 'number' });
      const { hits } = await call('search_connections', { query: 'Begoña Villagarza' });
      await call('update_connection', { id: hits[0].id, set_fields: { 'Shoe size': 38 } });
    },
    async check(_, { read }) {
      const { hits } = await read('search_connections', { fields: { 'Shoe size': '38' }, include: ['fields'] });
      assert.deepEqual(sorted(hits), ['Begoña Villagarza']);
    },
  },
  {
    ask: 'Who has shoe size 42 or more?',
    async prepare({ read }) {
      await read('define_field', { name: 'Shoe size', type: 'number' });
      const sizes = { 'Begoña Villagarza': 38, 'Gareth Radcliffe': 46, 'Idris Al-Khatibi': 42 };
      const { entries } = await read('resolve_people', { entries: Object.keys(sizes) });
      for (const { entry, people } of entries) await read('update_connection', { id: people[0].id, set_fields: { 'Shoe size': sizes[entry] } });
    },
    async plan(call) {
      const { hits } = await call('search_connections', { fields: { 'Shoe size': '42..' } });
      return hits;
    },
    check: (hits) => assert.deepEqual(sorted(hits), ['Gareth Radcliffe', 'Idris Al-Khatibi']),
  },
];
