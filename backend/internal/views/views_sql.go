package views

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// ListViews returns all views by their folded names.
func ListViews(ctx context.Context, q db.Reader) ([]View, error) {
	var rows []View
	err := q.From(&rows).Order("folded_name").Scan(ctx)
	return rows, err
}

// InsertView inserts a new view.
func InsertView(ctx context.Context, tx *db.Tx, v *View) error {
	v.TenantID = tx.TenantID()
	if _, err := tx.NewInsert().Model(v).Exec(ctx); err != nil {
		return fmt.Errorf("insert view: %w", err)
	}
	return nil
}

// RenameView stores the name of a view. It fails with fault.NotFound when there is none.
func RenameView(ctx context.Context, tx *db.Tx, viewID, name string) error {
	result, err := tx.NewRaw("UPDATE saved_views SET name = ?, folded_name = ?, updated_at = ? WHERE tenant_id = ? AND id = ?",
		name, text.Fold(name), tx.Now(), tx.TenantID(), viewID).Exec(ctx)
	return found(result, err)
}

// DeleteView deletes a view. It fails with fault.NotFound when there is none.
func DeleteView(ctx context.Context, tx *db.Tx, viewID string) error {
	result, err := tx.NewRaw("DELETE FROM saved_views WHERE tenant_id = ? AND id = ?", tx.TenantID(), viewID).Exec(ctx)
	return found(result, err)
}

func found(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.NotFound, "there is no such view")
	}
	return nil
}
