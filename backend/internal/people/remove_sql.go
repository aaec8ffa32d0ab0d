package people

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// Removed is how many rows were deleted.
type Removed struct{ Connections, Notes, Interactions int64 }

// RemoveRows deletes people with everything that is about no other person, and counts it.
func RemoveRows(ctx context.Context, tx *db.Tx, ids []string) (sum Removed, err error) {
	tx.MarkRemoved(ids...)
	owner := tx.TenantID()
	entries := func(table, links, column string) (string, []any) {
		return `DELETE FROM ` + table + ` WHERE tenant_id = ?
AND id IN (SELECT ` + column + ` FROM ` + links + ` WHERE tenant_id = ? AND connection_id IN (?))
AND NOT EXISTS (SELECT 1 FROM ` + links + ` l WHERE l.tenant_id = ` + table + `.tenant_id AND l.` + column + ` = ` + table + `.id
AND l.connection_id NOT IN (?))`, []any{owner, owner, bun.List(ids), bun.List(ids)}
	}
	notes, notesArgs := entries("notes", "note_connections", "note_id")
	met, metArgs := entries("interactions", "interaction_connections", "interaction_id")
	for _, step := range []struct {
		count     *int64
		statement string
		args      []any
	}{
		{&sum.Notes, notes, notesArgs},
		{&sum.Interactions, met, metArgs},
		{&sum.Connections, "DELETE FROM connections WHERE tenant_id = ? AND id IN (?)", []any{owner, bun.List(ids)}},
	} {
		result, err := tx.NewRaw(step.statement, step.args...).Exec(ctx)
		if err != nil {
			return sum, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return sum, err
		}
		*step.count += n
	}
	return sum, nil
}
