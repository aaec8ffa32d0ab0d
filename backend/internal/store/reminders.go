package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/reminder"
)

// GetReminder implements reminder.Writer.
func (u *Unit) GetReminder(ctx context.Context, reminderID string) (*reminder.Reminder, error) {
	r := &reminder.Reminder{}
	err := u.from(r).Where("id = ?", reminderID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no reminder %s", reminderID)
	}
	return r, err
}

// InsertReminder implements reminder.Writer.
func (u *Unit) InsertReminder(ctx context.Context, r *reminder.Reminder) error {
	r.TenantID = u.id
	if err := u.nameRow(&r.ID, id.Reminder); err != nil {
		return err
	}
	if _, err := u.db.NewInsert().Model(r).Exec(ctx); err != nil {
		return fmt.Errorf("insert reminder: %w", err)
	}
	return nil
}

// ReplaceReminder implements reminder.Writer.
func (u *Unit) ReplaceReminder(ctx context.Context, r *reminder.Reminder) error {
	r.TenantID = u.id
	result, err := u.db.NewUpdate().Model(r).ExcludeColumn("tenant_id", "id", "created_at").
		Where("tenant_id = ?", u.id).
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
