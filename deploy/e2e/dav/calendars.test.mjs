// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run TestCalendars
// tsdav, unmodified: from the bare address to the events of a calendar that only reads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAVClient } from 'tsdav';
import { setting } from '../harness/client.mjs';

const base = setting('BASE_URL');
const username = setting('MEMBER_USERNAME');
const due = setting('DUE');
const home = `${base}/dav/${username}/calendars/`;
const credentials = { username, password: setting('APP_PASSWORD') };

test('tsdav with calendars', async (t) => {
  const client = new DAVClient({ serverUrl: base, credentials, authMethod: 'Basic', defaultAccountType: 'caldav' });
  await client.login();
  let calendar;

  await t.test('finds the calendar', async () => {
    assert.equal(client.account.homeUrl, home);
    const calendars = await client.fetchCalendars();
    assert.equal(calendars.length, 1);
    [calendar] = calendars;
    assert.ok(calendar.url.startsWith(home), calendar.url);
    assert.equal(calendar.displayName, 'dates');
    assert.deepEqual(calendar.components, ['VEVENT']);
    assert.deepEqual(calendar.reports, ['calendarQuery', 'calendarMultiget']);
    assert.deepEqual(await client.isCollectionDirty({ collection: calendar }), { isDirty: false, newCtag: calendar.ctag });
  });

  await t.test('reads the events', async () => {
    for (const useMultiGet of [true, false]) {
      const events = await client.fetchCalendarObjects({ calendar, useMultiGet });
      const titles = events.map((event) => /^SUMMARY:(.*?)\r?$/m.exec(event.data)[1]).sort();
      assert.deepEqual(titles, ['Ask about COBOL (Grace Hopper)', 'Birthday of Alan Turing (1912)', 'Birthday of Grace Hopper (1904)']);
      for (const event of events) {
        assert.match(event.etag, /^"[0-9a-f]{32}"$/);
        assert.ok(event.url.startsWith(calendar.url) && event.url.endsWith('.ics'), event.url);
        assert.equal(event.data.match(/BEGIN:VEVENT/g).length, 1);
      }
    }
  });

  await t.test('finds the events of a span of time', async () => {
    const titles = async (start, end) => (await client.fetchCalendarObjects({ calendar, timeRange: { start, end } })).map((event) => /^SUMMARY:(.*?)\r?$/m.exec(event.data)[1]);
    assert.deepEqual(await titles(`${due}T10:00:00Z`, `${due}T11:00:00Z`), ['Ask about COBOL (Grace Hopper)']);
    assert.deepEqual(await titles('1999-06-23T10:00:00Z', '1999-06-23T11:00:00Z'), ['Birthday of Alan Turing (1912)']);
    assert.deepEqual(await titles('1999-06-24T10:00:00Z', '1999-06-24T11:00:00Z'), []);
  });

  await t.test('changes nothing', async () => {
    const [event] = await client.fetchCalendarObjects({ calendar });
    for (const response of [
      await client.createCalendarObject({ calendar, filename: 'new.ics', iCalString: event.data }),
      await client.updateCalendarObject({ calendarObject: event }),
      await client.deleteCalendarObject({ calendarObject: event }),
    ]) {
      assert.equal(response.status, 403);
      assert.match(await response.text(), /need-privileges/);
    }
    assert.equal((await client.fetchCalendarObjects({ calendar })).length, 3);
    assert.equal((await client.isCollectionDirty({ collection: calendar })).isDirty, false);
  });
});
