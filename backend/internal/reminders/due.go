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
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/uptrace/bun"
)

// The kinds of due entries, in the order in which those of one day are listed.
const (
	KindMeeting  = "meeting"
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
	// Now is the time from which on meetings are ahead.
	Now time.Time
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
// reminders due by its last day, dates that may recur until then, people with a
// keep-in-touch interval, and meetings of calendars that are ahead. Archived people are left out.
type Rows struct {
	Meetings  []MeetingRow
	Reminders []ReminderRow
	Dates     []DateRow
	// People have their GroupCadence, but not their lists.
	People []people.Connection
}

// ReminderRow is a reminder with the people whom it is about, without archived ones.
type ReminderRow struct {
	Reminder

	People []Person
}

// Person is a person whom a reminder is about.
type Person struct{ ID, Name string }

// MeetingRow is a meeting with the people on file who take part.
type MeetingRow struct {
	sources.Meeting

	People []Person
}

// id returns the place of the meeting among those of a day.
func (m MeetingRow) id() string { return m.StartsAt.UTC().Format(time.RFC3339) + " " + m.Key }

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
	// Others are the other people that a reminder is about, or who are at a meeting.
	Others []Person
	// Recurrence is how often a reminder recurs; empty for never, and for other kinds.
	Recurrence string
	// LastContactOn is the day of the last contact, for people only; empty when no contact
	// is stored.
	LastContactOn string

	id string // of the reminder, the date or the person
}

// Cursor returns the position of the entry.
func (d Due) Cursor() Cursor { return Cursor{DueOn: d.DueOn, Kind: d.Kind, ID: d.id} }

// Counts is how many entries there are in all.
type Counts struct{ Meetings, Reminders, Dates, Cadences, Overdue int }

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
		case KindMeeting:
			counts.Meetings++
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

func rank(kind string) int {
	return slices.Index([]string{KindMeeting, KindReminder, KindDate, KindCadence}, kind)
}

// entries returns the due entries in no particular order.
func (rows Rows) entries(q DueQuery) []Due {
	var all []Due
	today, until := q.Today.Format(time.DateOnly), q.Until.Format(time.DateOnly)
	for _, m := range rows.Meetings {
		if !q.Wants(KindMeeting) {
			continue
		}
		due := Due{Kind: KindMeeting, DueOn: civil.Of(m.StartsAt, q.Zone).Format(time.DateOnly), Text: meetingText(m, q.Zone), id: m.id()}
		due.about(m.People, q.ConnectionID)
		all = append(all, due)
	}
	for _, r := range rows.Reminders {
		if q.Wants(KindReminder) && r.DueOn <= until {
			due := Due{Kind: KindReminder, DueOn: r.DueOn, Overdue: r.DueOn < today, Text: r.Text, ReminderID: r.ID, id: r.ID}
			if r.Recurrence != RecursNever {
				due.Recurrence = r.Recurrence
			}
			due.about(r.People, q.ConnectionID)
			all = append(all, due)
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

// about sets the people of an entry. The one who was asked for comes first.
func (d *Due) about(people []Person, asked string) {
	if len(people) > 0 {
		first := max(0, slices.IndexFunc(people, func(p Person) bool { return p.ID == asked }))
		d.ConnectionID, d.Name = people[first].ID, people[first].Name
		d.Others = slices.Delete(slices.Clone(people), first, first+1)
	}
}

// meetingText describes a meeting.
func meetingText(m MeetingRow, zone *time.Location) string {
	said := "Meets you"
	if !m.AllDay {
		said += " at " + m.StartsAt.In(zone).Format("15:04")
	}
	if m.Title != "" {
		said += ": " + m.Title
	}
	return said
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

// readPage reads the rows of a page about the whole network, and the counts of all pages. It
// takes six statements at most.
func readPage(ctx context.Context, q db.Reader, s *index.Summary, query DueQuery) (rows Rows, counts Counts, err error) {
	if query.Wants(KindCadence) {
		day, id := query.start(KindCadence)
		due := s.Due(index.DueQuery{Today: query.Today, Until: query.Until, Zone: query.Zone, AfterDay: day, AfterID: id, Limit: query.Limit})
		counts.Cadences, counts.Overdue = due.Total, due.Overdue
		rows.People = connectionsOf(due.People)
	}
	if query.Wants(KindDate) {
		recurrences := recurrences(query.Today, query.Until)
		for _, r := range recurrences {
			counts.Dates += s.Recurring(r.since, r.year, r.first, r.last)
		}
		if counts.Dates > 0 {
			if rows.Dates, err = datesDue(ctx, q, query, recurrences); err != nil {
				return rows, counts, err
			}
		}
	}
	if query.Wants(KindMeeting) {
		if counts.Meetings, err = sources.CountAhead(ctx, q, query.Now, query.end()); err != nil {
			return rows, counts, err
		}
		if counts.Meetings > 0 {
			if rows.Meetings, err = meetingsDue(ctx, q, query); err != nil {
				return rows, counts, err
			}
		}
	}
	if !query.Wants(KindReminder) {
		return rows, counts, nil
	}
	overdue := 0
	if counts.Reminders, overdue, err = countReminders(ctx, q, query); err != nil || counts.Reminders == 0 {
		return rows, counts, err
	}
	counts.Overdue += overdue
	rows.Reminders, err = remindersDue(ctx, q, query)
	return rows, counts, err
}

// end returns when the last day ends.
func (q DueQuery) end() time.Time { return civil.Start(q.Until.AddDate(0, 0, 1), q.Zone) }

// meetingsDue reads the meetings ahead in the order of the list, with the names of who takes part.
func meetingsDue(ctx context.Context, q db.Reader, query DueQuery) ([]MeetingRow, error) {
	ahead := sources.AheadQuery{Now: query.Now, Until: query.end(), ConnectionID: query.ConnectionID, Limit: query.Limit}
	if day, id := query.start(KindMeeting); !day.IsZero() {
		ahead.From = civil.Start(day, query.Zone)
		begins, key, _ := strings.Cut(id, " ")
		if at, err := time.Parse(time.RFC3339, begins); err == nil {
			ahead.From, ahead.After = at, key
		}
	}
	meetings, err := sources.ListAhead(ctx, q, ahead)
	if err != nil || len(meetings) == 0 {
		return nil, err
	}
	var who []string
	for _, m := range meetings {
		who = append(who, m.ConnectionIDs...)
	}
	names, err := people.ListNames(ctx, q, people.DistinctIDs(who))
	rows := make([]MeetingRow, len(meetings))
	for i, m := range meetings {
		rows[i].Meeting = m
		for _, id := range m.ConnectionIDs {
			if names[id] != "" { // otherwise deleted since
				rows[i].People = append(rows[i].People, Person{id, names[id]})
			}
		}
	}
	return rows, err
}

// connectionsOf returns what the index knows of people, as far as a due entry shows it.
func connectionsOf(docs []*index.Document) []people.Connection {
	out := make([]people.Connection, len(docs))
	for i, d := range docs {
		out[i] = people.Connection{
			ID: d.ID, Name: d.Name, CadenceDays: d.CadenceDays, GroupCadence: d.GroupCadence, SnoozedUntil: d.SnoozedUntil,
			LastInteractionAt: d.LastInteractionAt, CreatedAt: d.CreatedAt,
		}
	}
	return out
}

// readPerson returns all rows about one person, with one statement for each kind; After and
// Limit have no effect. It fails with fault.NotFound for a connection that does not exist.
func readPerson(ctx context.Context, q db.Reader, query DueQuery) (Rows, error) {
	var out Rows
	var err error
	if out.People, err = PersonDue(ctx, q, query.ConnectionID); err != nil {
		return out, err
	}
	if len(out.People) == 0 {
		return out, people.NoConnection(ctx, q, query.ConnectionID)
	}
	query.After, query.Limit = nil, maxOfPerson
	if query.Wants(KindMeeting) {
		if out.Meetings, err = meetingsDue(ctx, q, query); err != nil {
			return out, err
		}
	}
	if query.Wants(KindReminder) {
		if out.Reminders, err = remindersDue(ctx, q, query); err != nil {
			return out, err
		}
	}
	if query.Wants(KindDate) {
		out.Dates, err = datesDue(ctx, q, query, recurrences(query.Today, query.Until))
	}
	return out, err
}

// maxOfPerson limits how many reminders and dates of one person are read.
const maxOfPerson = 100_000

// aboutLive is the condition for a reminder about a person who is not archived.
const aboutLive = `EXISTS (SELECT 1 FROM reminder_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id
AND c.archived_at IS NULL WHERE l.tenant_id = r.tenant_id AND l.reminder_id = r.id)`

// countReminders counts all open reminders and subtracts those about archived people only, of which
// there are few.
func countReminders(ctx context.Context, q db.Reader, query DueQuery) (all, overdue int, err error) {
	until := query.Until.Format(time.DateOnly)
	err = q.NewRaw(`SELECT coalesce(sum(n), 0), coalesce(sum(CASE WHEN due_on < ? THEN n ELSE 0 END), 0) FROM (
SELECT 1 AS n, due_on FROM reminders WHERE tenant_id = ? AND state = ? AND due_on <= ?
UNION ALL SELECT -1, r.due_on FROM (SELECT DISTINCT l.reminder_id FROM connections c CROSS JOIN reminder_connections l
WHERE c.tenant_id = ? AND c.archived_at IS NOT NULL AND l.tenant_id = c.tenant_id AND l.connection_id = c.id) AS hidden CROSS JOIN reminders r
WHERE r.tenant_id = ? AND r.id = hidden.reminder_id AND r.state = ? AND r.due_on <= ? AND NOT `+aboutLive+`) AS due`,
		query.Today.Format(time.DateOnly), q.TenantID(), Open, until, q.TenantID(), q.TenantID(), Open, until).Scan(ctx, &all, &overdue)
	return all, overdue, err
}

// remindersDue reads open reminders due up to a day, which the index on state and day finds, in the order of
// the list, without those about archived people only.
func remindersDue(ctx context.Context, q db.Reader, query DueQuery) ([]ReminderRow, error) {
	statement := `SELECT r.id, r.text, r.due_on, r.recurrence FROM reminders r WHERE r.tenant_id = ? AND r.state = ? AND r.due_on <= ?
AND (` + aboutLive + ` OR NOT EXISTS (SELECT 1 FROM reminder_connections l WHERE l.tenant_id = r.tenant_id AND l.reminder_id = r.id))`
	args := []any{q.TenantID(), Open, query.Until.Format(time.DateOnly)}
	if query.ConnectionID != "" {
		statement += " AND r.id IN (SELECT reminder_id FROM reminder_connections WHERE tenant_id = ? AND connection_id = ?)"
		args = append(args, q.TenantID(), query.ConnectionID)
	}
	if day, id := query.start(KindReminder); !day.IsZero() {
		statement += " AND (r.due_on, r.id) > (?, ?)"
		args = append(args, day.Format(time.DateOnly), id)
	}
	var rows []ReminderRow
	err := q.NewRaw(statement+" ORDER BY r.due_on, r.id LIMIT ?", append(args, query.Limit)...).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	return rows, addAllPeople(ctx, q, rows)
}

// ofStatement is how many ids a statement names.
const ofStatement = 1_000

// addAllPeople adds the people whom reminders are about, in parts.
func addAllPeople(ctx context.Context, q db.Reader, rows []ReminderRow) error {
	for some := range slices.Chunk(rows, ofStatement) {
		if err := addPeople(ctx, q, some); err != nil {
			return err
		}
	}
	return nil
}

// addPeople adds the people whom reminders are about.
func addPeople(ctx context.Context, q db.Reader, rows []ReminderRow) error {
	at := make(map[string]*ReminderRow, len(rows))
	for i := range rows {
		at[rows[i].ID] = &rows[i]
	}
	var about []struct{ ReminderID, ID, Name string }
	err := q.NewRaw(`SELECT l.reminder_id, c.id, c.name FROM reminder_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id
WHERE l.tenant_id = ? AND l.reminder_id IN (?) AND c.archived_at IS NULL ORDER BY c.name, c.id`,
		q.TenantID(), bun.List(people.IDs(rows, func(r ReminderRow) string { return r.ID }))).Scan(ctx, &about)
	for _, p := range about {
		at[p.ReminderID].People = append(at[p.ReminderID].People, Person{p.ID, p.Name})
	}
	return err
}

// recurrence is a range of days of one year. It has the recurrences of dates whose own year is
// from since to that year. first and last are month * 100 + day.
type recurrence struct{ since, year, first, last int }

// dueOn returns the first and the last day of the range. In a common year, 29 February is
// the 28th.
func (r recurrence) dueOn() (first, last time.Time) {
	return civil.Clamped(r.year, time.Month(r.first/100), r.first%100), civil.Clamped(r.year, time.Month(r.last/100), r.last%100)
}

// isLeapDay reports whether the range is 29 February.
func (r recurrence) isLeapDay() bool { return r.first == leapDay && r.last == leapDay }

const leapDay = 229

// recurrences returns the ranges for the days from from to until, both included, which are at
// most two years apart. The first year has the next recurrence of every date that has already
// begun. The ranges after the first year are only for dates of the same year as the range.
func recurrences(from, until time.Time) []recurrence {
	second := from.AddDate(1, 0, 0)
	if until.Before(second) {
		return rangesOf(from, until)
	}
	out := rangesOf(from, second.AddDate(0, 0, -1))
	for _, r := range rangesOf(second, until) {
		r.since = r.year
		out = append(out, r)
	}
	return out
}

// rangesOf returns the ranges for the days from from to until, which are at most a year apart. In a
// common year, 29 February is a separate range, so that the dates of each range are in the order
// of the day and the id.
func rangesOf(from, until time.Time) []recurrence {
	leap := from.Month() == time.February && from.Day() == 29
	var out []recurrence
	for !from.After(until) {
		end := time.Date(from.Year(), time.December, 31, 0, 0, 0, 0, time.UTC)
		if until.Before(end) {
			end = until
		}
		all := recurrence{year: from.Year(), first: dayOfYear(from), last: dayOfYear(end)}
		_, last := recurrence{year: from.Year(), first: leapDay, last: leapDay}.dueOn()
		if common := last.Day() == 28; common && all.first <= dayOfYear(last) && all.last >= dayOfYear(last) {
			out = append(out, recurrence{year: all.year, first: all.first, last: dayOfYear(last)})
			if !leap { // otherwise it is due today
				out = append(out, recurrence{year: all.year, first: leapDay, last: leapDay})
			}
			all.first = 301
		}
		if all.first <= all.last {
			out = append(out, all)
		}
		from = end.AddDate(0, 0, 1)
	}
	return out
}

func dayOfYear(day time.Time) int { return 100*int(day.Month()) + day.Day() }

// datesDue reads dates in the order of the list, a page of each range.
func datesDue(ctx context.Context, q db.Reader, query DueQuery, ranges []recurrence) ([]DateRow, error) {
	// CROSS JOIN keeps SQLite, which has no statistics, from starting with the larger
	// table; to PostgreSQL it is a join like any other.
	const columns = `SELECT id, connection_id, kind, label, year, month, day, name FROM (SELECT d.id, d.connection_id, d.kind, d.label, d.year, d.month, d.day, c.name FROM important_dates d CROSS JOIN connections c
WHERE d.tenant_id = ? AND c.tenant_id = d.tenant_id AND c.id = d.connection_id AND c.archived_at IS NULL AND c.deceased_on = ''
AND (d.month, d.day) >= (?, ?) AND (d.month, d.day) <= (?, ?) AND d.year >= ? AND d.year <= ?`
	after, id := query.start(KindDate)
	var parts []string
	var args []any
	for _, r := range ranges {
		first, last := r.dueOn()
		if last.Before(after) {
			continue
		}
		part := columns
		args = append(args, q.TenantID(), r.first/100, r.first%100, r.last/100, r.last%100, r.since, r.year)
		if query.ConnectionID != "" {
			part += " AND d.connection_id = ?"
			args = append(args, query.ConnectionID)
		}
		switch {
		case after.Before(first):
		case r.isLeapDay(): // due on 28 February
			part += " AND d.id > ?"
			args = append(args, id)
		default:
			part += " AND (d.month, d.day, d.id) > (?, ?, ?)"
			args = append(args, int(after.Month()), after.Day(), id)
		}
		parts = append(parts, part+" ORDER BY d.month, d.day, d.id LIMIT ?) AS part")
		args = append(args, query.Limit)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	var rows []DateRow
	err := q.NewRaw(strings.Join(parts, " UNION ALL "), args...).Scan(ctx, &rows)
	return rows, err
}

// PersonDue reads a person with their keep-in-touch interval, own or of a group. It returns an
// empty list for a connection that does not exist or is archived.
func PersonDue(ctx context.Context, q db.Reader, connectionID string) ([]people.Connection, error) {
	var rows []struct {
		people.Connection

		ShortestOfGroups int
	}
	err := q.NewRaw(`SELECT c.id, c.name, c.deceased_on, c.cadence_days, c.snoozed_until, c.last_interaction_at, c.created_at,
coalesce((SELECT min(g.cadence_days) FROM group_connections l
JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id AND g.cadence_days > 0
WHERE l.tenant_id = c.tenant_id AND l.connection_id = c.id), 0) AS shortest_of_groups
FROM connections c WHERE c.tenant_id = ? AND c.id = ? AND c.archived_at IS NULL`, q.TenantID(), connectionID).Scan(ctx, &rows)
	people := make([]people.Connection, len(rows))
	for i, row := range rows {
		people[i] = row.Connection
		people[i].GroupCadence = row.ShortestOfGroups
	}
	return people, err
}
