// Prints the days of the calendar in a file until a day, as ical.js reads them, which Thunderbird does too: lines with a day and a title.
import { readFileSync } from 'node:fs';
import ICAL from 'ical.js';

const [file, until] = process.argv.slice(2);
const calendar = new ICAL.Component(ICAL.parse(readFileSync(file, 'utf8')));
for (const component of calendar.getAllSubcomponents('vevent')) {
  const event = new ICAL.Event(component);
  if (!event.startDate.isDate || event.duration.toSeconds() !== 24 * 60 * 60) throw new Error(`${event.summary} does not last a day`);
  const days = event.isRecurring() ? event.iterator() : [event.startDate].values();
  const next = () => (event.isRecurring() ? days.next() : days.next().value);
  for (let day = next(); day && day.toString() <= until; day = next()) console.log(`${day} ${event.summary}`);
}
