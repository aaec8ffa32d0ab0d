package reminders

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
)

// reminderRestorer restores reminders.
type reminderRestorer struct{ tx *db.Tx }

func (r reminderRestorer) get(ctx context.Context, id string) (any, error) {
	found, err := GetReminder(ctx, r.tx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return found, err
}

func (r reminderRestorer) put(ctx context.Context, id string, to json.RawMessage) error {
	var wanted *Reminder
	if err := json.Unmarshal(to, &wanted); err != nil {
		return fmt.Errorf("read recorded reminder: %w", err)
	}
	if wanted == nil {
		return r.tx.Delete(ctx, (*Reminder)(nil), "id = ?", id)
	}
	if wanted.ConnectionID != "" {
		if err := people.NeedConnections(ctx, r.tx, wanted.ConnectionID); err != nil {
			return err
		}
	}
	wanted.ID = id
	present, err := GetReminder(ctx, r.tx, id)
	if fault.Is(err, fault.NotFound) {
		wanted.Version++
		return InsertReminder(ctx, r.tx, wanted)
	}
	if err != nil {
		return err
	}
	wanted.Version = present.Version + 1
	return ReplaceReminder(ctx, r.tx, wanted)
}

// RestoreReminder returns the restorer of reminders.
func RestoreReminder(tx *db.Tx) history.Restorer {
	r := reminderRestorer{tx}
	return history.Single{Get: r.get, Put: r.put}
}
