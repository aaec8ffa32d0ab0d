package reminders

import (
	"context"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
)

// ReadDue returns the rows of a query, with one statement for each kind; After and Limit
// have no effect. It fails with fault.NotFound for a connection that does not exist.
func ReadDue(ctx context.Context, q db.Reader, query DueQuery) (Rows, error) {
	rows, err := readDue(ctx, q, query)
	return rows, err
}

func readDue(ctx context.Context, q db.Reader, query DueQuery) (Rows, error) {
	var out Rows
	var err error
	if query.ConnectionID != "" || query.Wants(KindCadence) {
		if out.People, err = PeopleDue(ctx, q, query); err != nil {
			return out, err
		}
	}
	if query.ConnectionID != "" && len(out.People) == 0 {
		return out, people.NoConnection(query.ConnectionID)
	}
	if query.Wants(KindReminder) {
		if out.Reminders, err = remindersDue(ctx, q, query); err != nil {
			return out, err
		}
	}
	if query.Wants(KindDate) {
		out.Dates, err = datesDue(ctx, q, query)
	}
	return out, err
}

// remindersDue reads the index on state and day up to the last day.
func remindersDue(ctx context.Context, q db.Reader, query DueQuery) ([]ReminderRow, error) {
	statement := `SELECT r.*, coalesce(c.name, '') AS name FROM reminders r
LEFT JOIN connections c ON c.tenant_id = r.tenant_id AND c.id = r.connection_id
WHERE r.tenant_id = ? AND r.state = ? AND r.due_on <= ? AND c.archived_at IS NULL`
	args := []any{q.TenantID(), Open, query.Until.Format(time.DateOnly)}
	if query.ConnectionID != "" {
		statement += " AND r.connection_id = ?"
		args = append(args, query.ConnectionID)
	}
	var rows []ReminderRow
	err := q.NewRaw(statement, args...).Scan(ctx, &rows)
	return rows, err
}

// datesDue reads the index on month and day from today to the last day, in two parts when
// a new year begins between them.
func datesDue(ctx context.Context, q db.Reader, query DueQuery) ([]DateRow, error) {
	const columns = `SELECT d.*, c.name FROM important_dates d
JOIN connections c ON c.tenant_id = d.tenant_id AND c.id = d.connection_id AND c.archived_at IS NULL
WHERE d.tenant_id = ? AND d.day > 0`
	var parts []string
	var args []any
	for _, span := range spans(query.Today, query.Until) {
		part := columns + " AND (d.month, d.day) >= (?, ?) AND (d.month, d.day) <= (?, ?)"
		args = append(args, q.TenantID(), span.first.month, span.first.day, span.last.month, span.last.day)
		if query.ConnectionID != "" {
			part += " AND d.connection_id = ?"
			args = append(args, query.ConnectionID)
		}
		parts = append(parts, part)
	}
	var rows []DateRow
	err := q.NewRaw(strings.Join(parts, " UNION ALL "), args...).Scan(ctx, &rows)
	return rows, err
}

// monthDay is a day of any year; a span goes from one to another within one year.
type (
	monthDay struct{ month, day int }
	span     struct{ first, last monthDay }
)

// spans returns the days of the year between two days, both included. In a common year,
// dates of 29 February belong to the 28th.
func spans(from, until time.Time) []span {
	first, last := monthDay{int(from.Month()), from.Day()}, monthDay{int(until.Month()), until.Day()}
	if last == (monthDay{2, 28}) {
		last.day = 29
	}
	whole := span{monthDay{1, 1}, monthDay{12, 31}}
	switch {
	case civil.Between(from, until) >= 365:
		return []span{whole}
	case from.Year() == until.Year():
		return []span{{first, last}}
	default:
		return []span{{first, whole.last}, {whole.first, last}}
	}
}

// PeopleDue reads the people who have an interval, own or of a group, and are not snoozed.
// For a query about one person, it returns that person in any case. The due days depend on
// the member's time zone, so they are computed in Go.
func PeopleDue(ctx context.Context, q db.Reader, query DueQuery) ([]people.Connection, error) {
	var rows []struct {
		people.Connection

		ShortestOfGroups int
	}
	const columns = `SELECT c.id, c.name, c.cadence_days, c.snoozed_until, c.last_interaction_at, c.created_at, `
	var err error
	if query.ConnectionID != "" {
		err = q.NewRaw(columns+`coalesce((SELECT min(g.cadence_days) FROM group_connections l
JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id AND g.cadence_days > 0
WHERE l.tenant_id = c.tenant_id AND l.connection_id = c.id), 0) AS shortest_of_groups
FROM connections c WHERE c.tenant_id = ? AND c.id = ? AND c.archived_at IS NULL`, q.TenantID(), query.ConnectionID).Scan(ctx, &rows)
	} else {
		// CROSS JOIN keeps SQLite, which has no statistics, from starting with the larger
		// table; to PostgreSQL it is a join like any other.
		err = q.NewRaw(columns+`k.shortest AS shortest_of_groups FROM (
SELECT connection_id, coalesce(min(cadence_days), 0) AS shortest FROM (
SELECT l.connection_id, g.cadence_days FROM groups g CROSS JOIN group_connections l
WHERE g.tenant_id = ? AND g.cadence_days > 0 AND l.tenant_id = g.tenant_id AND l.group_id = g.id
UNION ALL
SELECT id, NULL FROM connections WHERE tenant_id = ? AND cadence_days > 0
) AS of_either GROUP BY connection_id) AS k CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.id = k.connection_id AND c.archived_at IS NULL
AND (c.snoozed_until IS NULL OR c.snoozed_until <= ?)`, q.TenantID(), q.TenantID(), q.TenantID(), query.Today).Scan(ctx, &rows)
	}
	people := make([]people.Connection, len(rows))
	for i, row := range rows {
		people[i] = row.Connection
		people[i].GroupCadence = row.ShortestOfGroups
	}
	return people, err
}
