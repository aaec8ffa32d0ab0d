package people

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/uptrace/bun"
)

// sharingListed limits how many people with one address or name are read.
const sharingListed = 6

// ListByHandle returns the people who have one of the normal values of a kind, by value.
// For each value it returns a few people, in the order of their last contact, without
// archived ones. It takes one statement.
func ListByHandle(ctx context.Context, q db.Reader, kind string, values []string) (map[string][]Resolved, error) {
	if len(values) == 0 {
		return map[string][]Resolved{}, nil
	}
	return sharing(ctx, q, "SELECT h.normal_value AS value, h.connection_id FROM handles h WHERE h.tenant_id = ? AND h.kind = ? AND h.normal_value IN (?)",
		q.TenantID(), kind, bun.List(values))
}

// ListByName is ListByHandle for folded names.
func ListByName(ctx context.Context, q db.Reader, folded []string) (map[string][]Resolved, error) {
	if len(folded) == 0 {
		return map[string][]Resolved{}, nil
	}
	return sharing(ctx, q, "SELECT n.folded_name AS value, n.id AS connection_id FROM connections n WHERE n.tenant_id = ? AND n.folded_name IN (?)",
		q.TenantID(), bun.List(folded))
}

// sharing reads the live people of each value. The selection yields pairs of a value and a
// connection id.
func sharing(ctx context.Context, q db.Reader, selection string, args ...any) (map[string][]Resolved, error) {
	var rows []struct{ Value, ConnectionID, Name, Nickname string }
	err := q.NewRaw(`SELECT value, connection_id, name, nickname FROM (
SELECT v.value, v.connection_id, c.name, c.nickname, row_number() OVER (PARTITION BY v.value ORDER BY c.last_interaction_at DESC NULLS LAST, c.id) AS place
FROM (?) AS v JOIN connections c ON c.tenant_id = ? AND c.id = v.connection_id AND c.archived_at IS NULL) AS r
WHERE place <= ? ORDER BY value, place`, bun.SafeQuery(selection, args...), q.TenantID(), sharingListed).Scan(ctx, &rows)
	out := map[string][]Resolved{}
	for _, row := range rows {
		out[row.Value] = append(out[row.Value], Resolved{
			ID: row.ConnectionID, Names: names.Names{Full: row.Name, Nickname: row.Nickname},
		})
	}
	return out, err
}
