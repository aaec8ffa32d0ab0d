package importer

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// CountImport counts the changes of an import, and those that are in force.
func CountImport(ctx context.Context, tx *db.Tx, importID string) (changes, inForce int, err error) {
	err = tx.NewRaw("SELECT count(*), count(*) - count(undone_by) FROM changes WHERE tenant_id = ? AND import_id = ?", tx.TenantID(), importID).
		Scan(ctx, &changes, &inForce)
	return changes, inForce, err
}

// ChangeOfImport returns the latest change of an import that is in force and older
// than another one, or nil. Without another one it is the latest of all.
func ChangeOfImport(ctx context.Context, tx *db.Tx, importID, before string) (*history.Change, error) {
	c := &history.Change{}
	query := tx.From(c).Where("import_id = ? AND undone_by IS NULL", importID).Order("id DESC").Limit(1)
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
func ListImportsInForce(ctx context.Context, q db.Reader, importIDs []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(importIDs) == 0 {
		return out, nil
	}
	var found []string
	err := q.NewRaw("SELECT DISTINCT import_id FROM changes WHERE tenant_id = ? AND import_id IN (?) AND undone_by IS NULL",
		q.TenantID(), bun.List(importIDs)).Scan(ctx, &found)
	for _, importID := range found {
		out[importID] = true
	}
	return out, err
}
