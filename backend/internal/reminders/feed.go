package reminders

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/uptrace/bun"
)

// FeedQuery says which entries a calendar feed has.
type FeedQuery struct {
	// Today is the current day for the member, in the time zone Zone.
	Today time.Time
	Zone  *time.Location
	// Dates are the kinds of important dates to read.
	Dates []string
	// Reminders and Cadences say whether to read reminders, and the days on which people are due.
	Reminders, Cadences bool
	// GroupID limits the entries to those about people of a group; empty for all.
	GroupID string
	// Limit is the largest number of entries of each kind.
	Limit int
}

// FeedEntry is an entry of a calendar that lasts a day.
type FeedEntry struct {
	// Kind is KindReminder, KindDate or KindCadence. ID is that of the reminder, the date or the person; the second of two series of a
	// reminder has "-february" after it.
	Kind, ID string
	// Day is the first day. Rule says on which other days the entry recurs; empty for none. See Series.
	Day  time.Time
	Rule string
	// Date is set for KindDate, Text for KindReminder.
	Date people.ImportantDate
	Text string
	// People are those whom it is about.
	People []Person
	// ChangedAt is when it last changed.
	ChangedAt time.Time
}

// firstYear is the year in which a yearly date begins in a calendar that has no year, or an earlier one: some programs do not show
// dates before it.
const firstYear = 1970

// maxAhead is how many days ahead a calendar has the days on which people are due.
const maxAhead = 366

// ListFeed returns the entries of a calendar: open reminders, the important dates of living people, and the next day on which each
// person with a keep-in-touch interval is due. Archived people are left out. What is overdue and does not recur is on today. More says
// that there are more entries of a kind than the limit.
func ListFeed(ctx context.Context, r db.Reader, ix *index.Index, q FeedQuery) (entries []FeedEntry, more bool, err error) {
	for _, list := range []func(context.Context, db.Reader, FeedQuery) ([]FeedEntry, error){feedDates, feedReminders} {
		found, err := list(ctx, r, q)
		if err != nil {
			return nil, false, err
		}
		more = more || len(found) > q.Limit
		entries = append(entries, found[:min(len(found), q.Limit)]...)
	}
	found, err := feedCadences(ctx, r, ix, q)
	if err != nil {
		return nil, false, err
	}
	return append(entries, found[:min(len(found), q.Limit)]...), more || len(found) > q.Limit, nil
}

// inGroup is the condition for a connection of a group, whose id follows.
const inGroup = "EXISTS (SELECT 1 FROM group_connections g WHERE g.tenant_id = c.tenant_id AND g.connection_id = c.id AND g.group_id = ?)"

func feedDates(ctx context.Context, r db.Reader, q FeedQuery) ([]FeedEntry, error) {
	if len(q.Dates) == 0 {
		return nil, nil
	}
	statement := `SELECT d.id, d.connection_id, d.kind, d.label, d.year, d.month, d.day, c.name, c.updated_at FROM important_dates d
JOIN connections c ON c.tenant_id = d.tenant_id AND c.id = d.connection_id
WHERE d.tenant_id = ? AND d.month > 0 AND d.day > 0 AND d.kind IN (?) AND c.archived_at IS NULL AND c.deceased_on = ''`
	args := []any{r.TenantID(), bun.List(q.Dates)}
	if q.GroupID != "" {
		statement, args = statement+" AND "+inGroup, append(args, q.GroupID)
	}
	var rows []struct {
		people.ImportantDate

		Name      string
		UpdatedAt time.Time
	}
	if err := r.NewRaw(statement+" ORDER BY d.month, d.day, d.id LIMIT ?", append(args, q.Limit+1)...).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	entries := make([]FeedEntry, len(rows))
	for i, row := range rows {
		first := max(row.Year, firstYear)
		entries[i] = FeedEntry{
			Kind: KindDate, ID: row.ID, Day: civil.Clamped(first, time.Month(row.Month), row.Day), Date: row.ImportantDate,
			Rule:   yearly(time.Month(row.Month), row.Day),
			People: []Person{{row.ConnectionID, row.Name}}, ChangedAt: row.UpdatedAt,
		}
	}
	return entries, nil
}

func feedReminders(ctx context.Context, r db.Reader, q FeedQuery) ([]FeedEntry, error) {
	if !q.Reminders {
		return nil, nil
	}
	const about = `SELECT 1 FROM reminder_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = r.tenant_id AND l.reminder_id = r.id`
	statement := `SELECT r.id, r.text, r.due_on, r.starts_on, r.recurrence, r.updated_at FROM reminders r WHERE r.tenant_id = ? AND r.state = ? AND `
	args := []any{r.TenantID(), Open}
	if q.GroupID != "" {
		statement, args = statement+"EXISTS ("+about+" AND "+inGroup+")", append(args, q.GroupID)
	} else {
		statement += "(EXISTS (" + about + ") OR NOT EXISTS (SELECT 1 FROM reminder_connections l WHERE l.tenant_id = r.tenant_id AND l.reminder_id = r.id))"
	}
	var rows []ReminderRow
	err := r.NewRaw(statement+" ORDER BY r.due_on, r.id LIMIT ?", append(args, q.Limit+1)...).Scan(ctx, &rows)
	if err == nil {
		err = addAllPeople(ctx, r, rows)
	}
	if err != nil {
		return nil, err
	}
	entries := make([]FeedEntry, 0, len(rows))
	for _, row := range rows {
		due, start, err := row.days()
		if err != nil {
			return nil, err
		}
		for i, series := range SeriesOf(start, due, row.Recurrence) {
			e := FeedEntry{
				Kind: KindReminder, ID: row.ID, Day: series.First, Rule: series.Rule, Text: row.Text, People: row.People, ChangedAt: row.UpdatedAt,
			}
			if i > 0 {
				e.ID += "-february"
			}
			entries = append(entries, e.notBefore(q))
		}
	}
	return entries, nil
}

func feedCadences(ctx context.Context, r db.Reader, ix *index.Index, q FeedQuery) ([]FeedEntry, error) {
	if !q.Cadences {
		return nil, nil
	}
	due := DueQuery{Today: q.Today, Zone: q.Zone, Until: q.Today.AddDate(0, 0, maxAhead), Kinds: []string{KindCadence}, Limit: q.Limit + 1}
	if q.GroupID != "" {
		due.Limit = maxOfPerson
	}
	found, _, err := List(ctx, r, ix, due)
	if err != nil {
		return nil, err
	}
	changed, err := changedPeople(ctx, r, people.IDs(found, func(d Due) string { return d.ConnectionID }), q.GroupID)
	if err != nil {
		return nil, err
	}
	var entries []FeedEntry
	for _, d := range found {
		at, ok := changed[d.ConnectionID]
		if !ok {
			continue // not in the group
		}
		day, err := time.Parse(time.DateOnly, d.DueOn)
		if err != nil {
			return nil, fmt.Errorf("person %s: %w", d.ConnectionID, err)
		}
		if last, err := time.Parse(time.DateOnly, d.LastContactOn); err == nil {
			at = later(at, civil.Start(last, q.Zone))
		}
		e := FeedEntry{Kind: KindCadence, ID: d.ConnectionID, Day: day, People: []Person{{d.ConnectionID, d.Name}}, ChangedAt: at}
		entries = append(entries, e.notBefore(q))
	}
	return entries, nil
}

// changedPeople returns when people last changed: those of the group, unless it is empty.
func changedPeople(ctx context.Context, r db.Reader, ids []string, groupID string) (map[string]time.Time, error) {
	changed := make(map[string]time.Time, len(ids))
	for some := range slices.Chunk(ids, ofStatement) {
		statement, args := "SELECT c.id, c.updated_at FROM connections c WHERE c.tenant_id = ? AND c.id IN (?)", []any{r.TenantID(), bun.List(some)}
		if groupID != "" {
			statement, args = statement+" AND "+inGroup, append(args, groupID)
		}
		var rows []struct {
			ID        string
			UpdatedAt time.Time
		}
		if err := r.NewRaw(statement, args...).Scan(ctx, &rows); err != nil {
			return nil, err
		}
		for _, row := range rows {
			changed[row.ID] = row.UpdatedAt
		}
	}
	return changed, nil
}

// notBefore returns the entry, on today if it does not recur and is overdue: each day changes it.
func (e FeedEntry) notBefore(q FeedQuery) FeedEntry {
	if e.Rule == "" && e.Day.Before(q.Today) {
		e.Day, e.ChangedAt = q.Today, later(e.ChangedAt, civil.Start(q.Today, q.Zone))
	}
	return e
}

// Series is a day, and the recurrence rule (RFC 5545, section 3.3.10) of further ones; empty for none.
type Series struct {
	First time.Time
	Rule  string
}

// SeriesOf returns the days that Next returns from a due day on, for calendars. It avoids BYSETPOS, which some programs ignore, so that
// the last days of February are a series of their own where the day of start is the 29th or the 30th.
func SeriesOf(start, due time.Time, recurrence string) []Series {
	const everyMonth, quarter = 1, 3
	step := map[string]int{RecursMonthly: everyMonth, RecursQuarterly: quarter}[recurrence]
	inFebruary := step == everyMonth || step == quarter && start.Month()%quarter == time.February%quarter
	switch {
	case recurrence == RecursWeekly:
		return []Series{{due, "FREQ=WEEKLY"}}
	case recurrence == RecursYearly:
		return []Series{{due, yearly(start.Month(), start.Day())}}
	case step == 0:
		return []Series{{First: due}}
	case start.Day() == 31:
		return []Series{{due, fmt.Sprintf("FREQ=MONTHLY;INTERVAL=%d;BYMONTHDAY=-1", step)}}
	case start.Day() < 29 || !inFebruary:
		return []Series{{due, fmt.Sprintf("FREQ=MONTHLY;INTERVAL=%d", step)}}
	}
	var months []string
	february := Series{Rule: yearly(time.February, 29)}
	others := Series{}
	for day := due; february.First.IsZero() || len(months) < 12/step-1; day, _ = Next(start, recurrence, day) {
		switch {
		case day.Month() == time.February:
			february.First = day
			continue
		case others.First.IsZero():
			others.First = day
		}
		months = append(months, strconv.Itoa(int(day.Month())))
	}
	others.Rule = fmt.Sprintf("FREQ=YEARLY;BYMONTH=%s;BYMONTHDAY=%d", strings.Join(months, ","), start.Day())
	return []Series{others, february}
}

// yearly returns the rule of a day of each year; 29 February is the last day of February.
func yearly(month time.Month, day int) string {
	if month == time.February && day == 29 {
		return "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1"
	}
	return "FREQ=YEARLY"
}
