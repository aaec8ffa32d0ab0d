// The network that the tasks use: the demo account's, with fixed birthdays instead of ones that
// depend on today, and with people last met years ago. Checks take the expected values from the
// imported file, not from answers of the service.

/** Returns the date the given number of days later. */
export function dayAfter(from, days) {
  return new Date(Date.parse(from) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Returns the date some months earlier; the last day of the month if the month is shorter. */
export function monthsBefore(from, months) {
  const [year, month, date] = from.split('-').map(Number);
  const first = new Date(Date.UTC(year, month - 1 - months, 1));
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(date, last));
  return first.toISOString().slice(0, 10);
}

/** People whom the member last met more than three years ago. */
export const longAgo = ['Halvard Nesbakken', 'Petra Oldenkamp', 'Quentin Farrowby', 'Ulrike Stammberger'];

/** Returns the network to import, made from the demo account's exported document; with longIds as ids once were. */
export function network(document, today, { longIds } = {}) {
  let dates = 0;
  for (const person of document.people) {
    for (const one of person.important_dates ?? []) {
      one.date = `19${60 + (dates % 40)}-${two(1 + (dates % 12))}-${two(1 + ((dates * 5) % 28))}`;
      dates++;
    }
  }
  longAgo.forEach((name, i) => {
    const id = `con_goodbye${i}`;
    const then = `${dayAfter(today, -1200 - 30 * i)}T10:00:00Z`;
    document.people.push({ id, name, met_on: '2019', source: 'manual', tags: ['alumni'], created_at: then, updated_at: then });
    document.interactions.push({
      id: `int_goodbye${i}`, connection_ids: [id], kind: 'call', occurred_at: then, summary: 'Said goodbye', created_at: then,
    });
  });
  if (!longIds) return new Network(document);
  const known = new Map();
  const long = (id, prefix) => {
    if (!known.has(id)) known.set(id, `${prefix}_01${String(known.size).padStart(24, '0')}`);
    return known.get(id);
  };
  return new Network(JSON.parse(JSON.stringify(document).replace(/(?<=")(con|int|not|rem|grp|rel)_\w+(?=")/g, long)));
}

const two = (n) => String(n).padStart(2, '0');

/** The expected values, read from the imported document. */
export class Network {
  constructor(document) {
    this.document = document;
    this.people = document.people;
    this.byId = new Map(document.people.map((person) => [person.id, person]));
  }

  /** Returns the only person with the name. */
  person(name) {
    const found = this.people.filter((person) => person.name === name);
    if (found.length !== 1) throw new Error(`${found.length} people are named ${name}`);
    return found[0];
  }

  /** Returns the names of the people who pass the filter, in alphabetical order. */
  names(passes) {
    return this.people.filter(passes).map((person) => person.name).sort();
  }

  /** Returns the interactions with a person, latest first. */
  contacts(person) {
    return this.document.interactions.filter((one) => one.connection_ids.includes(person.id))
      .sort((a, b) => b.occurred_at.localeCompare(a.occurred_at));
  }

  /** Returns the interactions from a day on. */
  since(day) {
    return this.document.interactions.filter((one) => one.occurred_at >= day);
  }

  /** Returns the names of the people of an interaction or a note. */
  namesIn({ connection_ids: ids }) {
    return ids.map((id) => this.byId.get(id).name);
  }

  /** Returns the date of the last contact, or undefined. */
  lastContact(person) {
    return this.contacts(person)[0]?.occurred_at.slice(0, 10);
  }

  notes(person) {
    return this.document.notes.filter((note) => note.connection_ids.includes(person.id));
  }

  birthday(person) {
    return person.important_dates?.find((one) => one.kind === 'birthday')?.date;
  }

  employer(person) {
    return person.positions?.find((one) => one.current);
  }
}

/** Returns a person's contact details of one kind, such as email. */
export function handles(person, kind) {
  return (person.handles ?? []).filter((one) => one.kind === kind).map((one) => one.value);
}

export const hasTag = (tag) => (person) => (person.tags ?? []).includes(tag);
export const isIn = (place) => (person) => (person.location ?? '').includes(place);
export const inGroup = (group) => (person) => (person.groups ?? []).includes(group);

/** Returns the names in a list of people, in alphabetical order. */
export const sorted = (list) => list.map((one) => one.name).sort();

/** Returns each value with how often it is in the list, the most frequent first. */
export function tally(values) {
  const times = new Map();
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1);
  return [...times].sort((a, b) => b[1] - a[1]);
}
