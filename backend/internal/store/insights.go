package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/insight"
	"github.com/kith-crm/kith/backend/internal/strength"
)

// snapshot runs fn in one reading transaction, so that all its statements see the
// same state.
func (t *Tenant) snapshot(ctx context.Context, fn func(context.Context, scope) error) error {
	options := &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	if t.store.engine.name == sqliteName {
		options = nil // a SQLite transaction is a snapshot, and its driver knows no levels
	}
	err := t.store.engine.tenantRead.RunInTx(withTenant(ctx, t.id), options, func(ctx context.Context, tx bun.Tx) error {
		return fn(ctx, scope{db: tx, id: t.id})
	})
	return translate(err)
}

// persons returns those of the people who are not archived, as answers show them,
// by id. It takes three statements.
func (q scope) persons(ctx context.Context, ids []string, now time.Time) (map[string]insight.Person, error) {
	people, err := q.headlines(ctx, ids)
	if err != nil || len(people) == 0 {
		return people, err
	}
	strengths, err := q.strengths(ctx, ids, now)
	for id, p := range people {
		p.Strength = strengths[id]
		people[id] = p
	}
	return people, err
}

// headlines is persons without their strengths.
func (q scope) headlines(ctx context.Context, ids []string) (map[string]insight.Person, error) {
	out := make(map[string]insight.Person, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var people []connection.Connection
	err := q.from(&people).Column("id", "name", "last_interaction_at").
		Where("id IN (?)", bun.List(ids)).Where("archived_at IS NULL").Scan(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range people {
		out[c.ID] = insight.Person{ID: c.ID, Name: c.Name, LastInteractionAt: c.LastInteractionAt}
	}
	var current []connection.Position
	err = q.positions(&current).Where("?TableAlias.connection_id IN (?)", bun.List(ids)).Where("?TableAlias.current").Scan(ctx)
	seen := map[string]bool{}
	for _, p := range current {
		if person, live := out[p.ConnectionID]; live && !seen[p.ConnectionID] {
			seen[p.ConnectionID] = true
			person.Organization, person.Title = p.Organization, p.Title
			out[p.ConnectionID] = person
		}
	}
	return out, err
}

// tie is a row of closeness.
type tie struct {
	ConnectionID              string
	Meetings, Calls, Messages int
	Total                     float64
	LastInteractionAt         time.Time
}

func (t tie) strength() strength.Strength {
	return strength.Strength{
		Score: strength.Score(t.Total), Meetings: t.Meetings, Calls: t.Calls, Messages: t.Messages, LastInteractionAt: t.LastInteractionAt,
	}
}

// closeness selects, for each connection of interaction_connections l joined with
// interactions i, the counts and the sum that strength.Strength is made of.
func (q scope) closeness(now time.Time) schema.QueryAppender {
	weights := strength.Weights()
	var cases strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		fmt.Fprintf(&cases, " WHEN '%s' THEN %g", kind, weights[kind])
	}
	return bun.SafeQuery(`l.connection_id,
sum(CASE WHEN i.kind = 'meeting' THEN 1 ELSE 0 END) AS meetings, sum(CASE WHEN i.kind = 'call' THEN 1 ELSE 0 END) AS calls,
sum(CASE WHEN i.kind IN ('email', 'message') THEN 1 ELSE 0 END) AS messages,
sum((CASE i.kind`+cases.String()+` ELSE 0 END) * ?) AS total, max(i.occurred_at) AS last_interaction_at`, q.decay("i.occurred_at", now))
}

// decay is strength.Decay in SQL, for a column of times.
func (q scope) decay(column string, now time.Time) schema.QueryAppender {
	if q.db.Dialect().Name() == dialect.PG {
		return bun.SafeQuery("power(2.0, -greatest(extract(epoch FROM ?::timestamptz - ?)::float8, 0) / ?)",
			now, bun.Safe(column), strength.HalfLife.Seconds())
	}
	return bun.SafeQuery("pow(2.0, -max(julianday(?) - julianday(?), 0) / ?)",
		now, bun.Safe(column), strength.HalfLife.Hours()/24)
}

// strengths returns how close the member is to people, with one statement. People
// without an interaction are missing.
func (q scope) strengths(ctx context.Context, ids []string, now time.Time) (map[string]strength.Strength, error) {
	var rows []tie
	err := q.db.NewRaw(`SELECT ? FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) GROUP BY l.connection_id`, q.closeness(now), q.id, bun.List(ids)).Scan(ctx, &rows)
	out := make(map[string]strength.Strength, len(rows))
	for _, row := range rows {
		out[row.ConnectionID] = row.strength()
	}
	return out, err
}

// bytewise orders a column by its bytes, which is the same in both databases.
func (q scope) bytewise(column string) schema.QueryAppender {
	if q.db.Dialect().Name() == dialect.PG {
		return bun.SafeQuery(`? COLLATE "C"`, bun.Safe(column))
	}
	return bun.Safe(column)
}
