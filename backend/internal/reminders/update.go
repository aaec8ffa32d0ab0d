package reminders

import (
	"cmp"
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Patch says what to change of a reminder. Empty fields leave their value unchanged.
type Patch struct{ ID, Text, DueOn, ConnectionID, Recurrence string }

// Update changes an open reminder and returns it with the id of the change. A patch that
// changes nothing writes nothing, and its id is empty. Update fails with fault.NotFound
// when the reminder or person does not exist, with fault.Conflict when the reminder is not
// open, and with fault.Invalid for a new day before today.
func Update(ctx context.Context, w *db.Tx, p Patch, today time.Time) (*Reminder, string, error) {
	before, err := GetReminder(ctx, w, p.ID)
	if err != nil {
		return nil, "", err
	}
	if before.State != Open {
		return nil, "", fault.New(fault.Conflict, "%s is %s: undo that first, or create another", p.ID, before.State)
	}
	after := *before
	if p.Text != "" {
		if after.Text, err = cleanText(p.Text); err != nil {
			return nil, "", err
		}
	}
	if p.ConnectionID != "" && p.ConnectionID != before.ConnectionID {
		if _, err := people.Participants(ctx, w, []string{p.ConnectionID}); err != nil {
			return nil, "", err
		}
		after.ConnectionID = p.ConnectionID
	}
	if err := p.move(&after, today); err != nil {
		return nil, "", err
	}
	if after == *before {
		return before, "", nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceReminder(ctx, w, &after); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed a reminder: "+after.Text, history.Reminder, p.ID, before, after))
	return &after, changeID, err
}

// move sets the due day and the recurrence of a reminder. When the recurrence changes, the
// periods count from the due day.
func (p Patch) move(r *Reminder, today time.Time) error {
	if p.DueOn != "" && p.DueOn != r.DueOn {
		if err := checkDue(p.DueOn, today); err != nil {
			return err
		}
		r.DueOn, r.StartsOn = p.DueOn, p.DueOn
	}
	if recurrence := cmp.Or(p.Recurrence, r.Recurrence); recurrence != r.Recurrence {
		r.Recurrence, r.StartsOn = recurrence, r.DueOn
	}
	return nil
}

// cleanText returns a reminder's text in its stored form, or fault.Invalid.
func cleanText(typed string) (string, error) {
	cleaned := text.Line(typed)
	if !text.Visible(cleaned) {
		return "", fault.InvalidField("text", "must hold at least one visible character")
	}
	return cleaned, nil
}
