package connection

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Deleter deletes one tenant's connections for good within one transaction.
type Deleter interface {
	Reader
	// DeleteConnection removes a connection with its lists, dates, reminders and
	// relationships, and the notes and interactions that are about nobody else. It
	// returns how many of these.
	DeleteConnection(ctx context.Context, id string) (notes, interactions int, err error)
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
}

// Deleted is what Delete did.
type Deleted struct {
	// Deleted is false when the person was not on file.
	Deleted             bool
	Notes, Interactions int
	ChangeID            string
}

// name is what the record of a deletion keeps of the person.
type name struct{ Name string }

// Delete removes a person, archived or not, for good: no undo brings them back.
// confirm must be their name as on file, but for white space.
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
	out := Deleted{Deleted: true}
	if out.Notes, out.Interactions, err = w.DeleteConnection(ctx, id); err != nil {
		return Deleted{}, err
	}
	draft := change.One("Deleted "+c.Name+" for good", ObjectKind, id, name{c.Name}, nil)
	draft.Final = true
	out.ChangeID, err = w.Record(ctx, draft)
	return out, err
}
