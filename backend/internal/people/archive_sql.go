package people

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// ListConnections returns the connections with the ids, archived ones too, without their
// lists. It fails with fault.NotFound, naming the id, when one does not exist.
func ListConnections(ctx context.Context, tx *db.Tx, ids []string) ([]Connection, error) {
	var rows []Connection
	if err := tx.From(&rows).Where("id IN (?)", bun.List(ids)).Order("id").Scan(ctx); err != nil {
		return nil, err
	}
	return rows, allExist(ctx, tx, rows, ids)
}

// allExist fails as NoConnection does when one of the ids is not among the rows.
func allExist(ctx context.Context, q db.Reader, rows []Connection, ids []string) error {
	held := make(map[string]bool, len(rows))
	for _, c := range rows {
		held[c.ID] = true
	}
	for _, wanted := range ids {
		if !held[wanted] {
			return NoConnection(ctx, q, wanted)
		}
	}
	return nil
}

// setCadences stores the interval and the snooze of connections and increments their
// versions.
func setCadences(ctx context.Context, tx *db.Tx, ids []string, c rhythm) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET cadence_days = ?, snoozed_until = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		c.CadenceDays, bun.NullTime{Time: c.SnoozedUntil}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}

// SetArchived archives connections at the given time, or restores them when the time is
// zero. It increments their versions.
func SetArchived(ctx context.Context, tx *db.Tx, ids []string, at time.Time) error {
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw("UPDATE connections SET archived_at = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		bun.NullTime{Time: at}, tx.Now(), tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}
