package people

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// ListConnections returns the connections with the ids without their lists, archived
// ones too; fault.NotFound names one that is not on file.
func ListConnections(ctx context.Context, tx *db.Tx, ids []string) ([]Connection, error) {
	var rows []Connection
	if err := tx.From(&rows).Where("id IN (?)", bun.List(ids)).Order("id").Scan(ctx); err != nil {
		return nil, err
	}
	held := make(map[string]bool, len(rows))
	for _, c := range rows {
		held[c.ID] = true
	}
	for _, wanted := range ids {
		if !held[wanted] {
			return nil, NoConnection(wanted)
		}
	}
	return rows, nil
}

// SetArchived puts connections away at a time, or brings them back at the zero time.
// Their versions grow.
func SetArchived(ctx context.Context, tx *db.Tx, ids []string, at time.Time) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET archived_at = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		bun.NullTime{Time: at}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}
