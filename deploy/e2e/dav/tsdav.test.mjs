// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run TestTsdav
// tsdav, unmodified: from the bare address to the cards, and what changed since the last time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAVClient } from 'tsdav';
import { setting } from '../harness/client.mjs';

const base = setting('BASE_URL');
const username = setting('MEMBER_USERNAME');
const home = `${base}/dav/${username}/books/`;
const url = `${home}people/`;
const etag = /^"[0-9a-f]{32}"$/;
const credentials = { username, password: setting('APP_PASSWORD') };
const filename = '5d2c7f0e-0000-4000-8000-000000000001.vcf';
const edsger = [
  'BEGIN:VCARD', 'VERSION:3.0', 'UID:5d2c7f0e-0000-4000-8000-000000000001', 'FN:Edsger Dijkstra', 'N:Dijkstra;Edsger;;;', 'EMAIL:ewd@eindhoven.example', 'X-OWN;X-P=1:as it is', 'END:VCARD', '',
].join('\r\n');

/** The cards by the names of the people in them. */
const byName = (cards) => Object.fromEntries(cards.map((card) => [/^FN:(.*?)\r?$/m.exec(card.data)[1], card]));

/** Asserts that an answer has a status and no body that the client would take for a card. */
async function answered(response, status) {
  const body = await response.text();
  assert.equal(response.status, status, body);
  assert.equal(response.headers.get('etag'), null, 'the stored card may differ from the one that was sent');
  return body;
}

test('tsdav', async (t) => {
  const client = new DAVClient({ serverUrl: base, credentials, authMethod: 'Basic', defaultAccountType: 'carddav' });
  await client.login();
  let book;

  await t.test('finds the address book', async () => {
    const account = await client.createAccount({ account: { serverUrl: base, credentials, accountType: 'carddav' } });
    const found = { serverUrl: base, credentials, accountType: 'carddav', rootUrl: `${base}/dav/`, principalUrl: `${base}/dav/${username}/`, homeUrl: home };
    assert.deepEqual(account, found);
    assert.deepEqual(client.account, found);
    const books = await client.fetchAddressBooks();
    assert.equal(books.length, 1);
    [book] = books;
    for (const state of [book.syncToken, book.ctag]) assert.match(state, /^urn:kith:sync:[0-9a-f]{8}:[0-9][\w:]*$/);
    assert.deepEqual(book, {
      url, ctag: book.ctag, displayName: 'People', resourcetype: ['collection', 'addressbook'], syncToken: book.syncToken,
      reports: ['addressbookQuery', 'addressbookMultiget', 'syncCollection'],
    });
    assert.deepEqual(await client.isCollectionDirty({ collection: book }), { isDirty: false, newCtag: book.ctag });
    const wrong = new DAVClient({ serverUrl: base, credentials: { username, password: 'aaaa-bbbb-cccc-dddd-eeee-ffff' }, authMethod: 'Basic', defaultAccountType: 'carddav' });
    await assert.rejects(wrong.login(), /cannot find principalUrl/);
  });

  await t.test('reads all cards', async () => {
    for (const useMultiGet of [true, false]) {
      const cards = await client.fetchVCards({ addressBook: book, useMultiGet });
      const { 'Grace Hopper': grace, 'Alan Turing': alan, ...others } = byName(cards);
      assert.deepEqual(others, {});
      assert.match(grace.data, /^BEGIN:VCARD\r?\nVERSION:3\.0\r?\n[^]*EMAIL[^]*:grace@navy\.example\r?\n[^]*END:VCARD$/);
      assert.match(alan.data, /TEL[^]*:\+44 20 7946 0018\r?\n/);
      for (const card of cards) {
        assert.deepEqual(Object.keys(card), ['url', 'etag', 'data']);
        assert.match(card.etag, etag);
        assert.ok(card.url.startsWith(url) && card.url.endsWith('.vcf'), card.url);
      }
      book.objects = cards;
    }
  });

  const sync = (collection, method) => client.smartCollectionSyncDetailed({
    collection: { ...collection, objectMultiGet: client.addressBookMultiGet.bind(client), fetchObjects: ({ collection: addressBook }) => client.fetchVCards({ addressBook }) }, method, account: client.account,
  });
  const fetchOne = async (path) => (await client.fetchVCards({ addressBook: book, objectUrls: [path] }))[0];
  const nothing = { created: [], updated: [], deleted: [] };

  await t.test('synchronises when nothing is new', async () => {
    for (const method of [undefined, 'webdav', 'basic']) {
      const same = await sync(book, method);
      assert.deepEqual(same.objects, nothing);
      assert.equal(same.syncToken, book.syncToken);
      assert.equal(same.ctag, book.ctag);
    }
    const [report, ...more] = await client.syncCollection({ url, props: { 'd:getetag': {} }, syncLevel: 1, syncToken: book.syncToken });
    assert.deepEqual(more, []);
    assert.equal(report.status, 207);
    assert.equal(report.href, undefined);
    assert.equal(report.raw.multistatus.syncToken, book.syncToken);
  });

  /** Synchronises by both methods, which must find the same, and keeps the state for the next time. */
  async function next() {
    const [webdav, basic] = [await sync(book, 'webdav'), await sync(book, 'basic')];
    assert.deepEqual({ ...webdav.objects, deleted: webdav.objects.deleted.map((o) => o.url) }, { ...basic.objects, deleted: basic.objects.deleted.map((o) => o.url) });
    assert.notEqual(webdav.syncToken, book.syncToken);
    assert.notEqual(basic.ctag, book.ctag);
    const { created, updated, deleted } = webdav.objects;
    const changed = new Set([...updated, ...deleted].map((o) => o.url));
    book = { ...book, syncToken: webdav.syncToken, ctag: basic.ctag, objects: [...book.objects.filter((o) => !changed.has(o.url)), ...created, ...updated] };
    for (const method of ['webdav', 'basic']) assert.deepEqual((await sync(book, method)).objects, nothing);
    return webdav.objects;
  }

  await t.test('creates a card', async () => {
    const before = book;
    assert.equal(await answered(await client.createVCard({ addressBook: book, filename, vCardString: edsger }), 201), '');
    assert.match(await answered(await client.createVCard({ addressBook: book, filename, vCardString: edsger }), 412), /^<\?xml/);
    const { created: [card, ...more], updated, deleted } = await next();
    assert.deepEqual([more, updated, deleted], [[], [], []]);
    assert.equal(card.url, url + filename);
    assert.match(card.etag, etag);
    for (const line of ['UID:5d2c7f0e-0000-4000-8000-000000000001', 'FN:Edsger Dijkstra', 'N:Dijkstra;Edsger;;;', 'X-OWN;X-P=1:as it is']) assert.ok(card.data.split(/\r?\n/).includes(line), card.data);
    const report = await client.syncCollection({ url, props: { 'd:getetag': {} }, syncLevel: 1, syncToken: before.syncToken });
    assert.deepEqual(report.map(({ href, status, ok, props }) => ({ href, status, ok, props })), [{ href: new URL(card.url).pathname, status: 207, ok: true, props: { getetag: card.etag } }]);
  });

  await t.test('updates cards', async () => {
    const old = await fetchOne(url + filename);
    const edited = { ...old, data: old.data.replace('ewd@eindhoven.example', 'ewd@austin.example') };
    assert.equal(await answered(await client.updateVCard({ vCard: edited }), 204), '');
    const { created, updated: [card, ...more], deleted } = await next();
    assert.deepEqual([created, more, deleted], [[], [], []]);
    assert.equal(card.url, old.url);
    assert.notEqual(card.etag, old.etag);
    assert.match(card.data, /ewd@austin\.example/);
    assert.doesNotMatch(card.data, /ewd@eindhoven\.example/);

    // A client with the former tag is told so, and changes nothing.
    assert.match(await answered(await client.updateVCard({ vCard: { ...old, data: old.data.replace('Dijkstra', 'D.') } }), 412), /has changed or was deleted/);
    assert.match(await answered(await client.deleteVCard({ vCard: old }), 412), /has changed or was deleted/);
    assert.deepEqual(await fetchOne(old.url), card);
    assert.deepEqual((await sync(book)).objects, nothing);

    const grace = byName(book.objects)['Grace Hopper'];
    assert.equal(await answered(await client.updateVCard({ vCard: { ...grace, data: grace.data.replace('FN:Grace Hopper', 'FN:Grace B. Hopper') } }), 204), '');
    assert.deepEqual((await next()).updated.map((o) => o.url), [grace.url]);
  });

  await t.test('makes and deletes a group', async () => {
    const member = byName(book.objects)['Grace B. Hopper'];
    const uid = /^UID:(.*?)\r?$/m.exec(member.data)[1];
    const vCardString = ['BEGIN:VCARD', 'VERSION:3.0', 'UID:5d2c7f0e-0000-4000-8000-000000000002', 'FN:Navy', 'N:Navy;;;;', 'X-ADDRESSBOOKSERVER-KIND:group', `X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:${uid}`, 'END:VCARD', ''].join('\r\n');
    assert.equal(await answered(await client.createVCard({ addressBook: book, filename: 'navy.vcf', vCardString }), 201), '');
    const { created: [group, ...more], updated, deleted } = await next();
    assert.deepEqual([more, deleted, updated.map((o) => o.url)], [[], [], [member.url]]); // its groups are categories of a card
    assert.equal(group.url, `${url}navy.vcf`);
    assert.ok(group.data.replace(/\r?\n /g, '').split(/\r?\n/).includes(`X-ADDRESSBOOKSERVER-MEMBER:urn:uuid:${uid}`), group.data);
    assert.match(byName(book.objects)['Grace B. Hopper'].data, /^CATEGORIES:.*Navy/m);
    assert.equal(await answered(await client.deleteVCard({ vCard: group }), 204), '');
    const after = await next();
    assert.deepEqual([after.created, after.updated.map((o) => o.url), after.deleted], [[], [member.url], [{ url: group.url, etag: '' }]]);
  });

  await t.test('deletes a card', async () => {
    const before = book.syncToken;
    const alan = byName(book.objects)['Alan Turing'];
    assert.equal(await answered(await client.deleteVCard({ vCard: alan }), 204), '');
    assert.deepEqual(await next(), { created: [], updated: [], deleted: [{ url: alan.url, etag: '' }] });
    const [gone, ...more] = await client.syncCollection({ url, props: { 'd:getetag': {} }, syncLevel: 1, syncToken: before });
    assert.deepEqual(more, []);
    assert.deepEqual([gone.href, gone.status, gone.ok], [new URL(alan.url).pathname, 404, false]);
    assert.match(await answered(await client.deleteVCard({ vCard: { url: alan.url } }), 404), /nothing at this address/);
    assert.deepEqual(Object.keys(byName(await client.fetchVCards({ addressBook: book }))).sort(), ['Edsger Dijkstra', 'Grace B. Hopper']);
    assert.deepEqual(Object.keys(byName(book.objects)).sort(), ['Edsger Dijkstra', 'Grace B. Hopper']);
  });

  await t.test('is refused a token of another address book', async () => {
    const [refused, ...more] = await client.syncCollection({ url, props: { 'd:getetag': {} }, syncLevel: 1, syncToken: 'urn:kith:sync:00000000:1' });
    assert.deepEqual(more, []);
    assert.deepEqual([refused.status, refused.ok], [403, false]);
    assert.match(refused.raw, /<d:valid-sync-token\/>/);
    await assert.rejects(sync({ ...book, syncToken: 'urn:kith:sync:00000000:1' }), /403/);
    const all = await sync({ ...book, syncToken: '', objects: [] });
    assert.deepEqual(Object.keys(byName(all.objects.created)).sort(), ['Edsger Dijkstra', 'Grace B. Hopper']);
    assert.equal(all.syncToken, book.syncToken);
  });
});
