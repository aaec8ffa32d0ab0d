package people

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Removal is what DeleteConnections did.
type Removal struct {
	Effects []history.EffectDraft
	// Notes and Interactions are how many of these were deleted too.
	Notes, Interactions int
}

// Deleted is what Delete did.
type Deleted struct {
	// Deleted is false when the person did not exist.
	Deleted             bool
	Notes, Interactions int
	ChangeID            string
	// FinalAt is the time until which the deletion can be undone.
	FinalAt time.Time
}

// Delete moves a person, archived or not, into the bin. The person no longer appears
// anywhere; undoing the change restores them, within change.KeepDeleted. confirm must be
// their stored name; differences in white space are ignored.
func Delete(ctx context.Context, w *db.Tx, kinds history.Kinds, id, confirm string) (Deleted, error) {
	c, err := GetConnection(ctx, w, id)
	if fault.Is(err, fault.NotFound) {
		return Deleted{}, nil
	}
	if err != nil {
		return Deleted{}, err
	}
	if text.Line(confirm) != text.Line(c.Name) {
		return Deleted{}, fault.InvalidField("confirm_name", "is not the full name of %s, which get_connection returns; nothing was deleted", id)
	}
	gone, err := DeleteConnections(ctx, w, kinds, id)
	if err != nil {
		return Deleted{}, err
	}
	out := Deleted{Deleted: true, Notes: gone.Notes, Interactions: gone.Interactions, FinalAt: w.Now().Add(history.KeepDeleted)}
	draft := history.Draft{Summary: "Deleted " + c.Name, Effects: gone.Effects, FinalAt: out.FinalAt}
	out.ChangeID, err = history.Record(ctx, w, draft)
	return out, err
}

// DeleteAll moves people, archived or not, into the bin as one change. It fails with
// fault.NotFound, naming the id, when one of them does not exist; then no one is deleted.
// With dryRun it writes nothing and only reports who would be deleted.
func DeleteAll(ctx context.Context, w *db.Tx, kinds history.Kinds, ids []string, dryRun bool) (Acted, error) {
	people, err := ListConnections(ctx, w, ids)
	if err != nil || len(people) == 0 || dryRun {
		return Acted{Changed: people}, err
	}
	gone, err := DeleteConnections(ctx, w, kinds, IDs(people, idOf)...)
	if err != nil {
		return Acted{}, err
	}
	out := Acted{Changed: people}
	draft := history.Draft{Summary: "Deleted " + namesOf(people), Effects: gone.Effects, FinalAt: w.Now().Add(history.KeepDeleted)}
	out.ChangeID, err = history.Record(ctx, w, draft)
	return out, err
}
