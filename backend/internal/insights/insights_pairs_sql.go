package insights

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
)

// ListAcquainted returns those of the pairs who know each other, by a relationship of any
// type or an interaction that both took part in. It takes one statement, and reads the
// interactions of the first of each pair.
func ListAcquainted(ctx context.Context, q db.Reader, pairs []Pair) (Acquainted, error) {
	if len(pairs) == 0 {
		return Acquainted{}, nil
	}
	var args []any
	for _, p := range pairs {
		args = append(args, p.First, p.Second)
	}
	tenant := q.TenantID()
	args = append(args, tenant, tenant, tenant, tenant)
	var rows []Pair
	// CROSS JOIN makes SQLite begin with the interactions of the first.
	err := q.NewRaw(`WITH pairs (first, second) AS (VALUES `+strings.TrimSuffix(strings.Repeat("(?, ?), ", len(pairs)), ", ")+`)
SELECT first, second FROM pairs
WHERE EXISTS (SELECT 1 FROM relationships WHERE tenant_id = ? AND from_id = first AND to_id = second)
OR EXISTS (SELECT 1 FROM relationships WHERE tenant_id = ? AND from_id = second AND to_id = first)
OR EXISTS (SELECT 1 FROM interaction_connections a CROSS JOIN interaction_connections b
WHERE a.tenant_id = ? AND a.connection_id = first AND b.tenant_id = ? AND b.connection_id = second AND b.interaction_id = a.interaction_id)`, args...).Scan(ctx, &rows)
	known := make(Acquainted, len(rows))
	for _, p := range rows {
		known[p] = true
	}
	return known, err
}
