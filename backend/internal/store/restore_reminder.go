package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminder"
)

// reminderRestorer puts reminders back.
type reminderRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r reminderRestorer) Current(ctx context.Context, id string) (any, error) {
	found, err := r.u.GetReminder(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return found, err
}

// Restore implements change.Restorer.
func (r reminderRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var wanted *reminder.Reminder
	if err := json.Unmarshal(to, &wanted); err != nil {
		return fmt.Errorf("read recorded reminder: %w", err)
	}
	if wanted == nil {
		return r.u.delete(ctx, (*reminder.Reminder)(nil), "id = ?", id)
	}
	if wanted.ConnectionID != "" {
		if err := r.u.needConnections(ctx, wanted.ConnectionID); err != nil {
			return err
		}
	}
	wanted.ID = id
	present, err := r.u.GetReminder(ctx, id)
	if fault.Is(err, fault.NotFound) {
		wanted.Version++
		return r.u.InsertReminder(ctx, wanted)
	}
	if err != nil {
		return err
	}
	wanted.Version = present.Version + 1
	return r.u.ReplaceReminder(ctx, wanted)
}
