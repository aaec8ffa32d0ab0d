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
)

// GetReminder returns a reminder, or fault.NotFound.
func GetReminder(ctx context.Context, q db.Reader, reminderID string) (*Reminder, error) {
	r := &Reminder{}
	err := q.From(r).Where("id = ?", reminderID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no reminder %s; list_due returns ids", reminderID)
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
	return tx.Replace(ctx, r, r.ID, r.Version)
}
