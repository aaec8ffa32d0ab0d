package timeline

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// NotePatch says what to change of a note. Nil fields leave their value unchanged.
type NotePatch struct {
	ID     string
	Body   *string
	Pinned *bool
	// ConnectionIDs replace the people unless empty.
	ConnectionIDs []string
	// ExpectedVersion makes the patch fail when the note has another version.
	ExpectedVersion *int32
}

// UpdateNote changes a note and returns it with the id of the change. A patch that changes
// nothing writes nothing, and its id is empty.
func UpdateNote(ctx context.Context, w *db.Tx, p NotePatch) (*Note, string, error) {
	before, err := GetNote(ctx, w, p.ID)
	if err != nil {
		return nil, "", err
	}
	if p.ExpectedVersion != nil && *p.ExpectedVersion != before.Version {
		return nil, "", fault.New(fault.Conflict,
			"%s has version %d, not %d: read it again before you change it", p.ID, before.Version, *p.ExpectedVersion)
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

// maxParticipants is how many people an interaction has at most.
const maxParticipants = 50

// InteractionPatch says what to change of an interaction. Nil fields leave their value
// unchanged.
type InteractionPatch struct {
	ID, Kind        string    // an empty kind leaves it unchanged
	OccurredAt      time.Time // zero leaves it and OccurredLocal unchanged
	OccurredLocal   string
	Summary         *string
	DurationMinutes *int32
	// Remove are participants to remove; Add are participants to add after that.
	Add, Remove []string
}

// UpdateInteraction changes an interaction. A patch that changes nothing writes nothing.
// It fails with fault.NotFound when the interaction or a person to add does not exist.
func UpdateInteraction(ctx context.Context, w *db.Tx, p InteractionPatch) (Logged, error) {
	before, err := interaction(ctx, w, p.ID)
	if err != nil {
		return Logged{}, err
	}
	if before == nil {
		return Logged{}, fault.New(fault.NotFound, "there is no interaction %s; list_timeline returns ids", p.ID)
	}
	after := *before
	if err := p.apply(&after, w.Now()); err != nil {
		return Logged{}, err
	}
	if added := without(after.ConnectionIDs, before.ConnectionIDs); len(added) > 0 {
		if _, err := people.Participants(ctx, w, added); err != nil {
			return Logged{}, err
		}
	}
	changeID := ""
	if !reflect.DeepEqual(*before, after) {
		if err := replaceInteraction(ctx, w, before, &after); err != nil {
			return Logged{}, err
		}
		if changeID, err = history.Record(ctx, w, history.One("Changed: "+after.Kind, history.Interaction, p.ID, before, after)); err != nil {
			return Logged{}, err
		}
	}
	participants, err := people.LiveOf(ctx, w, after.ConnectionIDs)
	return logged(ctx, w, &after, participants, changeID, err)
}

func (p InteractionPatch) apply(i *Interaction, now time.Time) error {
	i.Kind = cmp.Or(p.Kind, i.Kind)
	if !p.OccurredAt.IsZero() && (p.OccurredLocal != i.OccurredLocal || !p.OccurredAt.Equal(i.OccurredAt)) {
		i.OccurredAt, i.OccurredLocal = p.OccurredAt, p.OccurredLocal
		if err := checkOccurred(i.OccurredAt, now); err != nil {
			return err
		}
	}
	if p.Summary != nil {
		i.Summary = text.Clean(*p.Summary)
	}
	if p.DurationMinutes != nil {
		i.DurationMinutes = *p.DurationMinutes
	}
	left := without(i.ConnectionIDs, p.Remove)
	i.ConnectionIDs = slices.Sorted(slices.Values(append(left, without(p.Add, left)...)))
	switch n := len(i.ConnectionIDs); {
	case n == 0:
		return fault.InvalidField("remove_connection_ids", "would remove everyone; delete_timeline_entry deletes the interaction")
	case n > maxParticipants:
		return fault.InvalidField("add_connection_ids", "one interaction has %d people at most", maxParticipants)
	}
	return nil
}

// without returns a new list of the ids that are not among others.
func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}
