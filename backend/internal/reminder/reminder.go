package reminder

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Object names reminders in changes.
const Object = "reminder"

// The states of a reminder.
const (
	Open      = "open"
	Done      = "done"
	Dismissed = "dismissed"
)

// Reminder is something to be reminded of, and its row. Its days are YYYY-MM-DD.
type Reminder struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk"`
	// ConnectionID is whom it is about; empty for nobody.
	ConnectionID string `bun:",nullzero"`
	Text         string
	DueOn        string
	// StartsOn is the day that a recurring reminder counts its periods from, so
	// that one made for the 31st comes back to it after February.
	StartsOn   string
	Recurrence string
	State      string
	// Version grows by one with each change.
	Version   int32
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Writer writes one tenant's reminders within one transaction.
type Writer interface {
	// Participants returns the connections with the ids; fault.NotFound names one
	// that is not on file.
	Participants(ctx context.Context, ids []string) ([]connection.Connection, error)
	// GetReminder returns a reminder, or fault.NotFound.
	GetReminder(ctx context.Context, id string) (*Reminder, error)
	// InsertReminder keeps a new reminder and sets its id.
	InsertReminder(ctx context.Context, r *Reminder) error
	// ReplaceReminder keeps r in place of the version before it; it fails with
	// fault.Conflict when that is not on file any more.
	ReplaceReminder(ctx context.Context, r *Reminder) error
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
	// Now is the time of the transaction.
	Now() time.Time
}

// maxYears is how far from today a reminder may be due.
const maxYears = 100

// Create keeps a reminder and returns it with the id of the change. An empty
// recurrence means RecursNever; a day that is over makes it overdue at once.
func Create(ctx context.Context, w Writer, r Reminder, today time.Time) (*Reminder, string, error) {
	r.Text = text.Line(r.Text)
	if !text.Visible(r.Text) {
		return nil, "", fault.InvalidField("text", "must hold at least one visible character")
	}
	due, err := time.Parse(time.DateOnly, r.DueOn)
	if err != nil {
		return nil, "", fault.InvalidField("due_on", "%q is no day of the calendar", r.DueOn)
	}
	if due.Before(today.AddDate(-maxYears, 0, 0)) || due.After(today.AddDate(maxYears, 0, 0)) {
		return nil, "", fault.InvalidField("due_on", "lies more than %d years away; today is %s", maxYears, today.Format(time.DateOnly))
	}
	if r.ConnectionID != "" {
		if _, err := w.Participants(ctx, []string{r.ConnectionID}); err != nil {
			return nil, "", err
		}
	}
	if r.Recurrence == "" {
		r.Recurrence = RecursNever
	}
	r.StartsOn, r.State, r.Version, r.CreatedAt, r.UpdatedAt = r.DueOn, Open, 1, w.Now(), w.Now()
	if err := w.InsertReminder(ctx, &r); err != nil {
		return nil, "", err
	}
	changeID, err := w.Record(ctx, change.One("Added a reminder: "+r.Text, Object, r.ID, nil, r))
	return &r, changeID, err
}
