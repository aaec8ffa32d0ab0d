package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// NoteWriter changes one tenant's notes within one transaction.
type NoteWriter interface {
	// Participants returns the connections with the ids; fault.NotFound names one
	// that is not on file.
	Participants(ctx context.Context, ids []string) ([]connection.Connection, error)
	// GetNote returns a note with the people that it is about, or fault.NotFound.
	GetNote(ctx context.Context, id string) (*Note, error)
	// ReplaceNote keeps n in place of the version before it; it fails with
	// fault.Conflict when that is not on file any more.
	ReplaceNote(ctx context.Context, n *Note) error
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
	// Now is the time of the transaction.
	Now() time.Time
}

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
func UpdateNote(ctx context.Context, w NoteWriter, p NotePatch) (*Note, string, error) {
	before, err := w.GetNote(ctx, p.ID)
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
		if _, err := w.Participants(ctx, p.ConnectionIDs); err != nil {
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
	if err := w.ReplaceNote(ctx, &after); err != nil {
		return nil, "", err
	}
	changeID, err := w.Record(ctx, change.One("Changed a note", NoteObject, p.ID, before, after))
	return &after, changeID, err
}
