// Tasks about tags and groups.
import assert from 'node:assert/strict';
import { hasTag, isIn, sorted } from './network.mjs';

export const groups = [
  {
    ask: 'What tags do I have?',
    async plan(call) {
      const { tags } = await call('list_groups');
      return tags;
    },
    check(tags, { net }) {
      assert.deepEqual(tags.map((tag) => tag.name).sort(), [...new Set(net.people.flatMap((one) => one.tags ?? []))].sort());
      for (const tag of tags) assert.equal(tag.people, net.names(hasTag(tag.name)).length);
    },
  },
  {
    ask: 'Rename the tag press to media.',
    async plan(call) {
      await call('rename_tag', { from: 'press', to: 'media' });
    },
    async check(_, { read, net }) {
      assert.deepEqual(sorted((await read('search_connections', { tag: ['media'], limit: 50 })).hits), net.names(hasTag('press')));
    },
  },
  {
    ask: 'Tag everybody in Berlin with berlin-trip.',
    async plan(call) {
      const { selection } = await call('search_connections', { location: 'Berlin' });
      await call('update_membership', { selection, add_tags: ['berlin-trip'] });
    },
    async check(_, { read, net }) {
      assert.deepEqual(sorted((await read('search_connections', { tag: ['berlin-trip'], limit: 50 })).hits), net.names(isIn('Berlin')));
    },
  },
  {
    ask: 'Make a group Londoners of everyone there; I want to see them every 60 days.',
    async plan(call) {
      await call('save_group', { name: 'Londoners', cadence_days: 60 });
      const { selection } = await call('search_connections', { location: 'London' });
      await call('update_membership', { selection, add_groups: ['Londoners'] });
    },
    async check(_, { read, net }) {
      assert.deepEqual(sorted((await read('search_connections', { group: 'Londoners', limit: 50 })).hits), net.names(isIn('London')));
      const { groups } = await read('list_groups');
      assert.equal(groups.find((one) => one.name === 'Londoners').cadence_days, 60);
    },
  },
];
