package reminders

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// The states of a reminder.
const (
	Open      = "open"
	Done      = "done"
	Dismissed = "dismissed"
)

// Reminder is a text to remind the member of, and its database row. Its days are
// YYYY-MM-DD.
type Reminder struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	// ConnectionID is the person the reminder is about; empty for no person.
	ConnectionID string `bun:",nullzero" json:"connection_id"`
	Text         string `json:"text"`
	DueOn        string `json:"due_on"`
	// StartsOn is the day from which a recurring reminder counts its periods, so that one
	// created for the 31st returns to the 31st after February.
	StartsOn   string `json:"starts_on"`
	Recurrence string `json:"recurrence"`
	State      string `json:"state"`
	// Version grows by one with each change.
	Version   int32     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// maxYears limits how many years from today a reminder may be due.
const maxYears = 100

// Create stores a reminder and returns it with the id of the change. An empty recurrence
// means RecursNever. It fails with fault.Invalid for a day before today.
func Create(ctx context.Context, w *db.Tx, r Reminder, today time.Time) (*Reminder, string, error) {
	var err error
	if r.Text, err = cleanText(r.Text); err != nil {
		return nil, "", err
	}
	if err := checkDue(r.DueOn, today); err != nil {
		return nil, "", err
	}
	if r.ConnectionID != "" {
		if _, err := people.Participants(ctx, w, []string{r.ConnectionID}); err != nil {
			return nil, "", err
		}
	}
	if r.Recurrence == "" {
		r.Recurrence = RecursNever
	}
	r.StartsOn, r.State, r.Version, r.CreatedAt, r.UpdatedAt = r.DueOn, Open, 1, w.Now(), w.Now()
	if err := InsertReminder(ctx, w, &r); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Added a reminder: "+r.Text, history.Reminder, r.ID, nil, r))
	return &r, changeID, err
}

// checkDue fails with fault.Invalid unless a reminder may be set for a day.
func checkDue(dueOn string, today time.Time) error {
	due, err := time.Parse(time.DateOnly, dueOn)
	switch {
	case err != nil:
		return fault.InvalidField("due_on", "%s; today is %s", civil.NoDay(dueOn), today.Format(time.DateOnly))
	case dueOn < today.Format(time.DateOnly):
		return fault.InvalidField("due_on", "%s is over; today is %s", dueOn, today.Format(time.DateOnly))
	case due.After(today.AddDate(maxYears, 0, 0)):
		return fault.InvalidField("due_on", "lies more than %d years away; today is %s", maxYears, today.Format(time.DateOnly))
	}
	return nil
}
