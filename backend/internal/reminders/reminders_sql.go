package reminders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/uptrace/bun"
)

// GetReminder returns a reminder, or fault.NotFound.
func GetReminder(ctx context.Context, tx *db.Tx, reminderID string) (*Reminder, error) {
	r := &Reminder{}
	err := tx.From(r).Where("id = ?", reminderID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no reminder %s", reminderID)
	}
	return r, err
}

// InsertReminder inserts a new reminder and sets its id.
func InsertReminder(ctx context.Context, tx *db.Tx, r *Reminder) error {
	r.TenantID = tx.TenantID()
	if err := people.NameRow(tx, &r.ID, id.Reminder); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(r).Exec(ctx); err != nil {
		return fmt.Errorf("insert reminder: %w", err)
	}
	return nil
}

// ReplaceReminder stores r in place of the version before it. It fails with fault.Conflict
// when that version is no longer the stored one.
func ReplaceReminder(ctx context.Context, tx *db.Tx, r *Reminder) error {
	r.TenantID = tx.TenantID()
	result, err := tx.NewUpdate().Model(r).ExcludeColumn("tenant_id", "id", "created_at").
		Where("tenant_id = ?", tx.TenantID()).
		WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
			return q.Where("id = ?", r.ID).Where("version = ?", r.Version-1)
		}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update reminder: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "%s was changed by somebody else: read it again and decide anew", r.ID)
	}
	return nil
}
