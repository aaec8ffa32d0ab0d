package connection

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// KeepDeleted is how long a deleted person stays in the bin, where undoing the
// deletion brings them back.
const KeepDeleted = 30 * 24 * time.Hour

// Deleter deletes one tenant's connections within one transaction.
type Deleter interface {
	Reader
	// DeleteConnection removes a connection, and those merged into it, with their
	// lists, dates, reminders and relationships, and the notes and interactions that
	// are about nobody else. It returns all that it did, so that it can be undone.
	DeleteConnection(ctx context.Context, id string) (Removal, error)
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
	// Now is the time of the transaction.
	Now() time.Time
}

// Removal is what DeleteConnection did.
type Removal struct {
	Effects []change.Touch
	// Notes and Interactions are how many of these went too.
	Notes, Interactions int
}

// Deleted is what Delete did.
type Deleted struct {
	// Deleted is false when the person was not on file.
	Deleted             bool
	Notes, Interactions int
	ChangeID            string
	// FinalAt is until when the deletion can be undone.
	FinalAt time.Time
}

// Delete moves a person, archived or not, into the bin: they are gone from
// everywhere, and undoing the change brings them back for KeepDeleted. confirm must be
// their name as on file, but for white space.
func Delete(ctx context.Context, w Deleter, id, confirm string) (Deleted, error) {
	c, err := w.GetConnection(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return Deleted{}, nil
	}
	if err != nil {
		return Deleted{}, err
	}
	if text.Line(confirm) != text.Line(c.Name) {
		return Deleted{}, fault.InvalidField("confirm_name", "is not the full name on file of %s; nothing was deleted", id)
	}
	gone, err := w.DeleteConnection(ctx, id)
	if err != nil {
		return Deleted{}, err
	}
	out := Deleted{Deleted: true, Notes: gone.Notes, Interactions: gone.Interactions, FinalAt: w.Now().Add(KeepDeleted)}
	draft := change.Draft{Summary: "Deleted " + c.Name, Effects: gone.Effects, FinalAt: out.FinalAt}
	out.ChangeID, err = w.Record(ctx, draft)
	return out, err
}
