package people

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Removal is what DeleteConnection did.
type Removal struct {
	Effects []history.Touch
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
// everywhere, and undoing the change brings them back for change.KeepDeleted. confirm must be
// their name as on file, but for white space.
func Delete(ctx context.Context, w *db.Tx, kinds history.Kinds, id, confirm string) (Deleted, error) {
	c, err := GetConnection(ctx, w, id)
	if fault.Is(err, fault.NotFound) {
		return Deleted{}, nil
	}
	if err != nil {
		return Deleted{}, err
	}
	if text.Line(confirm) != text.Line(c.Name) {
		return Deleted{}, fault.InvalidField("confirm_name", "is not the full name on file of %s; nothing was deleted", id)
	}
	gone, err := DeleteConnection(ctx, w, kinds, id)
	if err != nil {
		return Deleted{}, err
	}
	out := Deleted{Deleted: true, Notes: gone.Notes, Interactions: gone.Interactions, FinalAt: w.Now().Add(history.KeepDeleted)}
	draft := history.Draft{Summary: "Deleted " + c.Name, Effects: gone.Effects, FinalAt: out.FinalAt}
	out.ChangeID, err = history.Record(ctx, w, draft)
	return out, err
}
