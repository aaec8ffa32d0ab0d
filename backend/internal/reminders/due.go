package reminders

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
)

// The kinds of due entries, in the order in which those of one day are listed.
const (
	KindReminder = "reminder"
	KindDate     = "date"
	KindCadence  = "cadence"
)

// DueQuery says which due entries to read.
type DueQuery struct {
	// Today is the current day for the member, in the time zone Zone.
	Today time.Time
	Zone  *time.Location
	// Until is the last day to read, today or later.
	Until time.Time
	// Kinds is empty for all.
	Kinds []string
	// ConnectionID is empty for all people.
	ConnectionID string
	// After is the last entry of the page before; nil for the first page.
	After *Cursor
	// Limit is the largest number of entries to return, at least 1.
	Limit int
}

// Wants reports whether the query asks for entries of a kind.
func (q DueQuery) Wants(kind string) bool { return len(q.Kinds) == 0 || slices.Contains(q.Kinds, kind) }

// Cursor is the position of an entry in the order of the list.
type Cursor struct{ DueOn, Kind, ID string }

// start returns where the entries of a kind continue after the previous page: on the day day, with
// ids after id, and on later days. The day is zero for the first page.
func (q DueQuery) start(kind string) (day time.Time, id string) {
	if q.After == nil {
		return time.Time{}, ""
	}
	day, err := time.Parse(time.DateOnly, q.After.DueOn)
	switch {
	case err != nil: // not a cursor that we made
		return time.Time{}, ""
	case rank(kind) < rank(q.After.Kind):
		return day.AddDate(0, 0, 1), ""
	case rank(kind) == rank(q.After.Kind):
		return day, q.After.ID
	default:
		return day, ""
	}
}

// Rows are the rows from which the list is made, as far as the query asks for them: open
// reminders due by its last day, dates that may recur until then, and people with a
// keep-in-touch interval. Archived people are left out.
type Rows struct {
	Reminders []ReminderRow
	Dates     []DateRow
	// People have their GroupCadence, but not their lists.
	People []people.Connection
}

// ReminderRow is a reminder, and the name of the person it is about.
type ReminderRow struct {
	Reminder

	Name string
}

// DateRow is a date, and the name of the person it belongs to.
type DateRow struct {
	people.ImportantDate

	Name string
}

// Due is one entry of the list.
type Due struct {
	Kind, DueOn string
	// Overdue says that the day has passed or, for a person, that one and a half intervals
	// have.
	Overdue bool
	// Text describes the entry in one line.
	Text string
	// ReminderID is empty for other kinds; ConnectionID and Name are empty for a reminder
	// about no person.
	ReminderID, ConnectionID, Name string
	// LastContactOn is the day of the last contact, for people only; empty when no contact
	// is stored.
	LastContactOn string

	id string // of the reminder, the date or the person
}

// Cursor returns the position of the entry.
func (d Due) Cursor() Cursor { return Cursor{DueOn: d.DueOn, Kind: d.Kind, ID: d.id} }

// Counts is how many entries there are in all.
type Counts struct{ Reminders, Dates, Cadences, Overdue int }

// List returns a page of due entries, soonest first, and the counts of all pages. For the
// whole network it counts dates and people in the member's search index, and reads no more
// rows than a page has. It fails with fault.NotFound for a connection that does not exist.
func List(ctx context.Context, r db.Reader, ix *index.Index, q DueQuery) ([]Due, Counts, error) {
	if q.ConnectionID == "" {
		rows, counts, err := readPage(ctx, r, ix.Summary(), q)
		return rows.Page(q), counts, err
	}
	rows, err := readPerson(ctx, r, q)
	return rows.Page(q), rows.Counts(q), err
}

// Page returns a page of the due entries that the rows give, soonest first.
func (rows Rows) Page(q DueQuery) []Due {
	all := rows.entries(q)
	slices.SortFunc(all, func(a, b Due) int { return compare(a.Cursor(), b.Cursor()) })
	if q.After != nil {
		n, found := slices.BinarySearchFunc(all, *q.After, func(d Due, p Cursor) int { return compare(d.Cursor(), p) })
		if found {
			n++
		}
		all = all[n:]
	}
	return all[:min(len(all), q.Limit)]
}

// Counts counts the due entries that the rows give.
func (rows Rows) Counts(q DueQuery) Counts {
	var counts Counts
	for _, d := range rows.entries(q) {
		switch d.Kind {
		case KindReminder:
			counts.Reminders++
		case KindDate:
			counts.Dates++
		default:
			counts.Cadences++
		}
		if d.Overdue {
			counts.Overdue++
		}
	}
	return counts
}

func compare(a, b Cursor) int {
	return cmp.Or(strings.Compare(a.DueOn, b.DueOn), cmp.Compare(rank(a.Kind), rank(b.Kind)), strings.Compare(a.ID, b.ID))
}

func rank(kind string) int { return slices.Index([]string{KindReminder, KindDate, KindCadence}, kind) }

// entries returns the due entries in no particular order.
func (rows Rows) entries(q DueQuery) []Due {
	var all []Due
	today, until := q.Today.Format(time.DateOnly), q.Until.Format(time.DateOnly)
	for _, r := range rows.Reminders {
		if q.Wants(KindReminder) && r.DueOn <= until {
			all = append(all, Due{
				Kind: KindReminder, DueOn: r.DueOn, Overdue: r.DueOn < today, Text: r.Text,
				ReminderID: r.ID, ConnectionID: r.ConnectionID, Name: r.Name, id: r.ID,
			})
		}
	}
	for _, d := range rows.Dates {
		on, ok := d.Next(q.Today)
		if q.Wants(KindDate) && ok && !on.After(q.Until) {
			all = append(all, Due{
				Kind: KindDate, DueOn: on.Format(time.DateOnly), Text: dateText(d.ImportantDate, on),
				ConnectionID: d.ConnectionID, Name: d.Name, id: d.ID,
			})
		}
	}
	for i := range rows.People {
		if d, ok := cadenceDue(&rows.People[i], q); ok && q.Wants(KindCadence) {
			all = append(all, d)
		}
	}
	return all
}

// dateText describes a date on the day on which it recurs.
func dateText(d people.ImportantDate, on time.Time) string {
	years := on.Year() - d.Year
	if d.Year == 0 {
		years = 0
	}
	switch {
	case d.Kind == people.DateBirthday && years > 0:
		return fmt.Sprintf("Birthday, turns %d", years)
	case d.Kind == people.DateBirthday:
		return "Birthday"
	}
	what := "Date"
	if d.Kind == people.DateAnniversary {
		what = "Anniversary"
	}
	if d.Label != "" {
		what = d.Label
	}
	if years > 0 {
		what += ", " + counted(years, "year")
	}
	return what
}

// cadenceDue returns the entry of a person who is due within the query's days.
func cadenceDue(c *people.Connection, q DueQuery) (Due, bool) {
	due, ok := c.Cadence().NextDue(q.Zone)
	if !ok || due.After(q.Until) || c.Cadence().Snoozed(q.Today) {
		return Due{}, false
	}
	out := Due{
		Kind: KindCadence, DueOn: due.Format(time.DateOnly), Overdue: c.Cadence().Overdue(q.Today, q.Zone),
		ConnectionID: c.ID, Name: c.Name, id: c.ID,
	}
	days, _ := c.Cadence().Days()
	since := "no recorded contact, added " + ago(civil.Of(c.CreatedAt, q.Zone), q.Today)
	if last, ok := c.LastContact(q.Zone); ok {
		out.LastContactOn = last.Format(time.DateOnly)
		since = "last contact " + ago(last, q.Today)
	}
	every := "Every day"
	if days > 1 {
		every = "Every " + counted(days, "day")
	}
	out.Text = every + ", " + since
	return out, true
}

func ago(then, today time.Time) string {
	if days := civil.Between(then, today); days > 0 {
		return counted(days, "day") + " ago"
	}
	return "today"
}

func counted(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
