package timeline

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// NotePatch is what to change of a note; nil fields stay as they are.
type NotePatch struct {
	ID     string
	Body   *string
	Pinned *bool
	// ConnectionIDs replace the people unless empty.
	ConnectionIDs []string
	// ExpectedVersion refuses the patch when the note has another one.
	ExpectedVersion *int32
}

// UpdateNote changes a note and returns it with the id of the change, which is
// empty for a patch that changes nothing: such a patch writes nothing.
func UpdateNote(ctx context.Context, w *db.Tx, p NotePatch) (*Note, string, error) {
	before, err := GetNote(ctx, w, p.ID)
	if err != nil {
		return nil, "", err
	}
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return nil, "", fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again and decide anew", p.ID, before.Version, *p.ExpectedVersion)
	}
	after := *before
	if p.Body != nil {
		after.Body = text.Clean(*p.Body)
		if !text.Visible(after.Body) {
			return nil, "", fault.InvalidField("body", "must hold at least one visible character")
		}
	}
	if p.Pinned != nil {
		after.Pinned = *p.Pinned
	}
	if len(p.ConnectionIDs) > 0 {
		if _, err := people.Participants(ctx, w, p.ConnectionIDs); err != nil {
			return nil, "", err
		}
		after.ConnectionIDs = slices.Sorted(slices.Values(p.ConnectionIDs))
	}
	same := slices.Equal(after.ConnectionIDs, slices.Sorted(slices.Values(before.ConnectionIDs)))
	if len(p.ConnectionIDs) == 0 || same {
		after.ConnectionIDs = before.ConnectionIDs
		same = true
	}
	if same && after.Body == before.Body && after.Pinned == before.Pinned {
		return before, "", nil
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceNote(ctx, w, &after); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Changed a note", history.Note, p.ID, before, after))
	return &after, changeID, err
}
