package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
)

// UndoStep implements importer.UndoStore.
func (s *Store) UndoStep(ctx context.Context, j *job.Job, fn func(context.Context, importer.Undoer) (job.Step, error)) error {
	return s.writeStep(ctx, j, func(ctx context.Context, u *Unit) (job.Step, error) { return fn(ctx, u) })
}

// CountImport implements importer.UndoStarter.
func (u *Unit) CountImport(ctx context.Context, importID string) (changes, inForce int, err error) {
	err = u.db.NewRaw("SELECT count(*), count(*) - count(undone_by) FROM changes WHERE tenant_id = ? AND import_id = ?", u.id, importID).
		Scan(ctx, &changes, &inForce)
	return changes, inForce, err
}

// ChangeOfImport implements importer.Undoer.
func (u *Unit) ChangeOfImport(ctx context.Context, importID, before string) (*change.Change, error) {
	c := &change.Change{}
	query := u.from(c).Where("import_id = ? AND undone_by IS NULL", importID).Order("id DESC").Limit(1)
	if before != "" {
		query = query.Where("id < ?", before)
	}
	err := query.Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

// ListImportsInForce returns those of the imports that have changes which are not
// undone.
func (t *Tenant) ListImportsInForce(ctx context.Context, importIDs []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(importIDs) == 0 {
		return out, nil
	}
	ctx, q := t.read(ctx)
	var found []string
	err := q.db.NewRaw("SELECT DISTINCT import_id FROM changes WHERE tenant_id = ? AND import_id IN (?) AND undone_by IS NULL",
		q.id, bun.List(importIDs)).Scan(ctx, &found)
	for _, importID := range found {
		out[importID] = true
	}
	return out, translate(err)
}
