// Tasks on many people at once.
import assert from 'node:assert/strict';
import { handles, hasTag, longAgo, sorted } from './network.mjs';

const attendees = Array.from({ length: 15 }, (_, i) => ({ name: `Attendee${String.fromCharCode(65 + i)} Number`, email: `a${i}@forum.example` }));

export const bulk = [
  {
    ask: 'Merge every obvious duplicate.',
    async plan(call) {
      const { pairs } = await call('find_duplicates', { limit: 50 });
      const merged = await call('merge_connections', { pairs: pairs.map(({ first, second }) => ({ keep_id: first.id, merge_id: second.id })), dry_run: false });
      return { pairs, merged };
    },
    async check({ pairs, merged }, { net, read }) {
      assert.ok(pairs.length > 9 && merged.merged);
      assert.deepEqual((await read('find_duplicates', { limit: 50 })).pairs ?? [], []);
      const { people } = await read('get_network_stats');
      assert.equal(people, net.people.length - pairs.length);
      const { hits } = await read('search_connections', { query: 'Thomas Okwuegbu', include: ['emails'] });
      assert.deepEqual(sorted(hits), ['Thomas Okwuegbu']);
    },
  },
  {
    ask: 'Archive everyone I was last in touch with more than three years ago.',
    async plan(call, { monthsAgo }) {
      const { selection } = await call('search_connections', { last_contact_before: monthsAgo(36), never_contacted: false });
      await call('archive_connections', { selection });
    },
    async check(_, { read }) {
      assert.deepEqual(sorted((await read('search_connections', { archived: true })).hits), longAgo.toSorted());
    },
  },
  {
    ask: 'Here is the list of 15 attendees of the Harvest Forum. Add them all.',
    async plan(call) {
      const { job } = await call('import_file', {
        filename: 'attendees.csv', content: ['Name,E-mail', ...attendees.map((one) => `${one.name},${one.email}`)].join('\n'), tags: ['harvest-forum'], wait_seconds: 20,
      });
      assert.equal(job.state, 'succeeded');
    },
    before: {
      async plan(call) {
        const { task_id: task } = await call('import_file', {
          filename: 'attendees.csv', content: ['Name,E-mail', ...attendees.map((one) => `${one.name},${one.email}`)].join('\n'), tags: ['harvest-forum'],
        });
        await call('get_job', { task_id: task, wait_seconds: 20 });
      },
    },
    async check(_, { read }) {
      const { hits } = await read('search_connections', { tag: ['harvest-forum'], limit: 50 });
      assert.deepEqual(hits.map((hit) => `${hit.name} ${hit.email}`).sort(), attendees.map((one) => `${one.name} ${one.email}`));
    },
  },
  {
    ask: 'Give me the vCards of all investors.',
    async plan(call) {
      const { selection } = await call('search_connections', { tag: ['investor'] });
      return call('export_connections', { format: 'vcard', selection });
    },
    check({ content, has_more: more }, { net }) {
      assert.equal(more, false);
      const names = content.split('\r\n').filter((line) => line.startsWith('FN')).map((line) => line.slice(line.indexOf(':') + 1)).sort();
      assert.deepEqual(names, net.names(hasTag('investor')));
    },
  },
  {
    ask: 'Export my investors as CSV.',
    async plan(call) {
      const { selection } = await call('search_connections', { tag: ['investor'] });
      return call('export_connections', { format: 'csv', selection });
    },
    check({ content, count }, { net }) {
      const investors = net.people.filter(hasTag('investor'));
      assert.equal(count, investors.length);
      for (const one of investors) assert.ok(content.includes(one.name) && content.includes(handles(one, 'email')[0]), `${one.name} is missing`);
    },
  },
];
