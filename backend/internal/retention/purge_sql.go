package retention

import (
	"context"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// purgeBatch is how many people one transaction of a purge deletes at most.
const purgeBatch = 500

// purge permanently deletes people who were archived before a time, and the notes and
// interactions that are only about them. They are removed from the recorded changes too.
// Read-only accounts are skipped.
func purge(ctx context.Context, s *db.DB, before time.Time, r *SweepResult) error {
	var owners []tenant.ID
	err := s.NewRaw(`SELECT DISTINCT c.tenant_id FROM connections c WHERE c.archived_at <= ?
AND NOT EXISTS (SELECT 1 FROM tenant_states s WHERE s.tenant_id = c.tenant_id AND s.read_only)`, before).Scan(ctx, &owners)
	for _, owner := range owners {
		err = errors.Join(err, purgeTenant(ctx, s, owner, before, r))
	}
	return err
}

func purgeTenant(ctx context.Context, s *db.DB, owner tenant.ID, before time.Time, r *SweepResult) error {
	for {
		var ids []string
		var sum people.Removed
		err := s.Tenant(owner, false).Write(ctx, db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
			ids = nil
			var err error
			err = tx.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND archived_at <= ? ORDER BY id LIMIT ?",
				tx.TenantID(), before, purgeBatch).Scan(ctx, &ids)
			if err != nil || len(ids) == 0 {
				return err
			}
			if sum, err = people.RemoveRows(ctx, tx, ids); err != nil {
				return err
			}
			return history.Forget(ctx, tx, ids)
		})
		if err != nil {
			return err
		}
		r.Connections, r.Notes, r.Interactions = r.Connections+sum.Connections, r.Notes+sum.Notes, r.Interactions+sum.Interactions
		if len(ids) < purgeBatch {
			return nil
		}
	}
}
