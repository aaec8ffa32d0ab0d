package index

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"
)

// DueQuery asks for the people to contact by a day. Days are those of a time zone.
type DueQuery struct {
	Today, Until time.Time
	Zone         *time.Location
	// Only people who are due after AfterDay, or on it with an id after AfterID, are returned.
	AfterDay time.Time
	AfterID  string
	// Limit is how many people are returned at most.
	Limit int
}

// Due has the people whom a DueQuery found, ordered by day and id, and the numbers of all people
// who are due by the last day and who are overdue.
type Due struct {
	People         []*Document
	Total, Overdue int
}

// Due returns the people with a keep-in-touch interval who are due by a day. Snoozed
// people are left out.
func (s *Summary) Due(q DueQuery) Due {
	type found struct {
		dueEntry

		doc *Document
	}
	var out Due
	var page []found
	today, until, after := daysOf(q.Today), daysOf(q.Until), daysOf(q.AfterDay)
	for _, p := range s.parts {
		kept := 0
		for _, e := range p.dueIn(q.Zone) {
			if e.due > until {
				break
			}
			if e.snoozed > today || p.out.has(int(e.doc)) {
				continue
			}
			out.Total++
			if e.overdue <= today {
				out.Overdue++
			}
			if kept == q.Limit || e.due < after {
				continue // only counted
			}
			if doc := p.docs[e.doc].doc; e.due > after || doc.ID > q.AfterID {
				page = append(page, found{e, doc})
				kept++
			}
		}
	}
	slices.SortFunc(page, func(a, b found) int { return cmp.Or(cmp.Compare(a.due, b.due), strings.Compare(a.doc.ID, b.doc.ID)) })
	for _, f := range page[:min(q.Limit, len(page))] {
		out.People = append(out.People, f.doc)
	}
	return out
}

// dueEntry is a document with an interval: the day on which it is due, the first day on which
// it is overdue, and the day until which it is snoozed; see daysOf.
type dueEntry struct {
	due, overdue, snoozed int32
	doc                   uint32
}

// dueOrder are the entries of a segment in a time zone, by the day and the id.
type dueOrder struct {
	zone    string
	entries []dueEntry
}

// daysOf returns a day, which is midnight UTC, as a number of days. All days before 1900 have the
// same number.
func daysOf(t time.Time) int32 {
	const earliest = -70 * 366
	return int32(max(earliest, t.Unix()/(24*60*60)))
}

// dueIn returns the entries of a segment. They are cached for one zone, the member's.
func (s *segment) dueIn(zone *time.Location) []dueEntry {
	if kept := s.due.Load(); kept != nil && kept.zone == zone.String() {
		return kept.entries
	}
	var entries []dueEntry
	for i := range s.has[hasCadence].all() {
		c := s.docs[i].doc.Cadence()
		due, _ := c.NextDue(zone)
		overdue, _ := c.OverdueOn(zone)
		entries = append(entries, dueEntry{due: daysOf(due), overdue: daysOf(overdue), snoozed: daysOf(c.SnoozedUntil), doc: uint32(i)})
	}
	slices.SortFunc(entries, func(a, b dueEntry) int {
		return cmp.Or(cmp.Compare(a.due, b.due), strings.Compare(s.docs[a.doc].doc.ID, s.docs[b.doc].doc.ID))
	})
	s.due.Store(&dueOrder{zone: zone.String(), entries: entries})
	return entries
}

// overdue returns the documents that are overdue for a contact on a day, and not snoozed.
func (s *segment) overdue(today time.Time, zone *time.Location) bitset {
	out, day := newBitset(s.len()), daysOf(today)
	for _, e := range s.dueIn(zone) {
		if e.overdue <= day && e.snoozed <= day {
			out.set(e.doc)
		}
	}
	return out
}

// dated is a date of a document. on is month * 100 + day.
type dated struct {
	on   uint16
	year int16
	doc  uint32
}

func appendDates(out []dated, doc uint32, dates []Date) []dated {
	for _, d := range dates {
		if on, known := d.on(); known {
			out = append(out, dated{on: uint16(on), year: d.Year, doc: doc})
		}
	}
	return out
}

func sortDates(dates []dated) {
	slices.SortFunc(dates, func(a, b dated) int { return cmp.Compare(a.on, b.on) })
}

// Recurring counts the dates of people with a day of the year from first to last, both month * 100 +
// day, and a year from since to year; a date without a year has the year 0.
func (s *Summary) Recurring(since, year, first, last int) int {
	n := 0
	for _, p := range s.parts {
		dates := p.numbers().dates
		for _, d := range dates[sort.Search(len(dates), func(i int) bool { return int(dates[i].on) >= first }):] {
			if int(d.on) > last {
				break
			}
			if int(d.year) >= since && int(d.year) <= year && !p.out.has(int(d.doc)) {
				n++
			}
		}
	}
	return n
}
