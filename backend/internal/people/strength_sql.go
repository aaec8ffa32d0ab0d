package people

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// tie is a row of Closeness.
type tie struct {
	ConnectionID              string
	Meetings, Calls, Messages int
	Total                     float64
	LastInteractionAt         time.Time
}

func (t tie) strength() Strength {
	return Strength{
		Score: Score(t.Total), Meetings: t.Meetings, Calls: t.Calls, Messages: t.Messages, LastInteractionAt: t.LastInteractionAt,
	}
}

// Closeness selects the counts and the sum from which Strength is computed, for each
// connection of interaction_connections l joined with interactions i.
func Closeness(q db.Reader, now time.Time) schema.QueryAppender {
	weights := Weights()
	var cases strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		fmt.Fprintf(&cases, " WHEN '%s' THEN %g", kind, weights[kind])
	}
	return bun.SafeQuery(`l.connection_id,
sum(CASE WHEN i.kind = 'meeting' THEN 1 ELSE 0 END) AS meetings, sum(CASE WHEN i.kind = 'call' THEN 1 ELSE 0 END) AS calls,
sum(CASE WHEN i.kind IN ('email', 'message') THEN 1 ELSE 0 END) AS messages,
sum((CASE i.kind`+cases.String()+` ELSE 0 END) * ?) AS total, max(i.occurred_at) AS last_interaction_at`, db.Halving(q, "i.occurred_at", now, HalfLife))
}

// Strengths returns how close the member is to people, with one statement. People
// without an interaction are missing.
func Strengths(ctx context.Context, q db.Reader, ids []string, now time.Time) (map[string]Strength, error) {
	var rows []tie
	err := q.NewRaw(`SELECT ? FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) GROUP BY l.connection_id`, Closeness(q, now), q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	out := make(map[string]Strength, len(rows))
	for _, row := range rows {
		out[row.ConnectionID] = row.strength()
	}
	return out, err
}
