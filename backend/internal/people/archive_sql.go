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
	return rows, allOnFile(rows, ids)
}

// allOnFile fails with fault.NotFound for an id that is not among the rows.
func allOnFile(rows []Connection, ids []string) error {
	held := make(map[string]bool, len(rows))
	for _, c := range rows {
		held[c.ID] = true
	}
	for _, wanted := range ids {
		if !held[wanted] {
			return NoConnection(wanted)
		}
	}
	return nil
}

// setCadences keeps the interval and the snooze of connections. Their versions grow.
func setCadences(ctx context.Context, tx *db.Tx, ids []string, c rhythm) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET cadence_days = ?, snoozed_until = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		c.CadenceDays, bun.NullTime{Time: c.SnoozedUntil}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}

// SetArchived puts connections away at a time, or brings them back at the zero time.
// Their versions grow.
func SetArchived(ctx context.Context, tx *db.Tx, ids []string, at time.Time) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET archived_at = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		bun.NullTime{Time: at}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}
