// The network that the tasks are about: that of the demo account, which moves with the day,
// with birthdays that do not, and with people of long ago. Tasks know it from the file that
// is imported, not from answers.

/** The day that is so many days after a day. */
export function dayAfter(from, days) {
  return new Date(Date.parse(from) + days * 86_400_000).toISOString().slice(0, 10);
}

/** The same day so many months before, or the last one of a month that is too short. */
export function monthsBefore(from, months) {
  const [year, month, date] = from.split('-').map(Number);
  const first = new Date(Date.UTC(year, month - 1 - months, 1));
  const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(date, last));
  return first.toISOString().slice(0, 10);
}

/** People whom the member last met more than three years ago. */
export const longAgo = ['Halvard Nesbakken', 'Petra Oldenkamp', 'Quentin Farrowby', 'Ulrike Stammberger'];

/** The document to import, made from the demo account's. */
export function network(document, today) {
  let dates = 0;
  for (const person of document.people) {
    for (const one of person.important_dates ?? []) {
      one.date = `19${60 + (dates % 40)}-${two(1 + (dates % 12))}-${two(1 + ((dates * 5) % 28))}`;
      dates++;
    }
  }
  longAgo.forEach((name, i) => {
    const id = `con_0000000000000000000000000${i}`;
    const then = `${dayAfter(today, -1200 - 30 * i)}T10:00:00Z`;
    document.people.push({ id, name, met_on: '2019', source: 'manual', tags: ['alumni'], created_at: then, updated_at: then });
    document.interactions.push({
      id: `int_0000000000000000000000000${i}`, connection_ids: [id], kind: 'call', occurred_at: then, summary: 'Said goodbye', created_at: then,
    });
  });
  return new Network(document);
}

const two = (n) => String(n).padStart(2, '0');

/** What is true, by the imported file. */
export class Network {
  constructor(document) {
    this.document = document;
    this.people = document.people;
    this.byId = new Map(document.people.map((person) => [person.id, person]));
  }

  /** The only person with the name. */
  person(name) {
    const found = this.people.filter((person) => person.name === name);
    if (found.length !== 1) throw new Error(`${found.length} people are named ${name}`);
    return found[0];
  }

  /** The names of the people who pass, in alphabetical order. */
  names(passes) {
    return this.people.filter(passes).map((person) => person.name).sort();
  }

  /** Interactions with a person, latest first. */
  contacts(person) {
    return this.document.interactions.filter((one) => one.connection_ids.includes(person.id))
      .sort((a, b) => b.occurred_at.localeCompare(a.occurred_at));
  }

  /** The day of the last contact, or undefined. */
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

/** The addresses of a kind that a person has. */
export function handles(person, kind) {
  return (person.handles ?? []).filter((one) => one.kind === kind).map((one) => one.value);
}

export const hasTag = (tag) => (person) => (person.tags ?? []).includes(tag);
export const isIn = (place) => (person) => (person.location ?? '').includes(place);
export const inGroup = (group) => (person) => (person.groups ?? []).includes(group);

/** The names of answers, in alphabetical order. */
export const sorted = (list) => list.map((one) => one.name).sort();
