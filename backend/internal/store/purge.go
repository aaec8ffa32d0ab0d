package store

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// purgeBatch is how many people one transaction of a purge deletes at most.
const purgeBatch = 500

// purge deletes for good whoever was archived before a time, and the notes and
// interactions that are about nobody else. The record forgets them, too. Read-only accounts are left alone. No
// search index has to hear of it: it lost them when they were archived.
func (s *Store) purge(ctx context.Context, before time.Time, r *SweepResult) error {
	for {
		n, err := s.purgeSome(ctx, before, r)
		if err != nil || n < purgeBatch {
			return err
		}
	}
}

func (s *Store) purgeSome(ctx context.Context, before time.Time, r *SweepResult) (n int, err error) {
	var sum SweepResult
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var rows []archivedPerson
		query := `SELECT c.tenant_id, c.id FROM connections c WHERE c.archived_at <= ?
AND NOT EXISTS (SELECT 1 FROM tenant_states s WHERE s.tenant_id = c.tenant_id AND s.read_only)
ORDER BY c.tenant_id, c.id LIMIT ?`
		if s.engine.name == postgresName {
			query += " FOR UPDATE" // nobody brings them back meanwhile
		}
		if err := tx.NewRaw(query, before, purgeBatch).Scan(ctx, &rows); err != nil {
			return err
		}
		n = len(rows)
		for owner, ids := range byTenant(rows) {
			err := errors.Join(removePeople(ctx, tx, owner, ids, &sum), scope{db: tx, id: owner}.forget(ctx, ids))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		r.Connections, r.Notes, r.Interactions = r.Connections+sum.Connections, r.Notes+sum.Notes, r.Interactions+sum.Interactions
	}
	return n, err
}

type archivedPerson struct {
	TenantID tenant.ID
	ID       string
}

func byTenant(rows []archivedPerson) map[tenant.ID][]string {
	out := map[tenant.ID][]string{}
	for _, row := range rows {
		out[row.TenantID] = append(out[row.TenantID], row.ID)
	}
	return out
}

// removePeople deletes people of one tenant with all that is about nobody else, and
// counts it.
func removePeople(ctx context.Context, tx bun.IDB, owner tenant.ID, ids []string, sum *SweepResult) error {
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
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		*step.count += n
	}
	return nil
}
