package views

import (
	"context"
	"database/sql"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Limits of a member's views.
const (
	MaxViews = 50
	// MaxName is in characters, MaxQuery in bytes.
	MaxName  = 80
	MaxQuery = 2000
)

// View is a name for filters, and its database row.
type View struct {
	bun.BaseModel `bun:"table:saved_views" json:"-"`

	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk"`
	Name     string
	// FoldedName is Name, folded for comparison; it is unique within the tenant.
	FoldedName string `json:"-"`
	// Query are the parameters of the list, encoded as in its address.
	Query     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Save saves a view under a new name. It fails with fault.Invalid for the field name or query
// when the name is empty, too long or taken, when the query is too long, and when there are
// MaxViews already.
func Save(ctx context.Context, tx *db.Tx, name, query string) (*View, error) {
	all, err := ListViews(ctx, tx)
	if err != nil {
		return nil, err
	}
	if len(all) >= MaxViews {
		return nil, fault.InvalidField("name", "there are %d views already: delete one first", MaxViews)
	}
	if len(query) > MaxQuery {
		return nil, fault.InvalidField("query", "these filters are too long to save: remove some")
	}
	if name, err = checkName(all, "", name); err != nil {
		return nil, err
	}
	v := &View{ID: id.New(id.View), TenantID: tx.TenantID(), Name: name, FoldedName: text.Fold(name), Query: query, CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
	return v, InsertView(ctx, tx, v)
}

// Rename gives a view another name. It fails with fault.NotFound when there is no such view,
// and with fault.Invalid for the field name as Save does.
func Rename(ctx context.Context, tx *db.Tx, viewID, name string) error {
	all, err := ListViews(ctx, tx)
	if err != nil {
		return err
	}
	if name, err = checkName(all, viewID, name); err != nil {
		return err
	}
	return RenameView(ctx, tx, viewID, name)
}

// checkName returns a clean name that no other view has.
func checkName(all []View, viewID, name string) (string, error) {
	name = text.Line(name)
	switch {
	case !text.Visible(name):
		return "", fault.InvalidField("name", "enter a name")
	case utf8.RuneCountInString(name) > MaxName:
		return "", fault.InvalidField("name", "is longer than %d characters", MaxName)
	}
	for _, other := range all {
		if other.ID != viewID && other.FoldedName == text.Fold(name) {
			return "", fault.InvalidField("name", "another view is called %s", text.Quote(other.Name))
		}
	}
	return name, nil
}

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
