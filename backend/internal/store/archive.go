package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
)

// ListConnections implements connection.Archiver.
func (u *Unit) ListConnections(ctx context.Context, ids []string) ([]connection.Connection, error) {
	var rows []connection.Connection
	if err := u.from(&rows).Where("id IN (?)", bun.List(ids)).Order("id").Scan(ctx); err != nil {
		return nil, err
	}
	held := make(map[string]bool, len(rows))
	for _, c := range rows {
		held[c.ID] = true
	}
	for _, wanted := range ids {
		if !held[wanted] {
			return nil, noConnection(wanted)
		}
	}
	return rows, nil
}

// SetArchived implements connection.Archiver.
func (u *Unit) SetArchived(ctx context.Context, ids []string, at time.Time) error {
	u.touch(ids...)
	_, err := u.db.NewRaw("UPDATE connections SET archived_at = ?, version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		bun.NullTime{Time: at}, u.now, u.id, bun.List(ids)).Exec(ctx)
	return err
}
