package timeline

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// The names of timeline objects in changes.
const (
	NoteObject        = "note"
	InteractionObject = "interaction"
)

// maxAhead is how far in the future an interaction may be logged: a caller's
// clock or time zone may be off, a plan is no contact.
const maxAhead = 24 * time.Hour

// Writer writes one tenant's timeline within one transaction.
type Writer interface {
	// Participants returns the connections with the ids, in no order and
	// without their lists; fault.NotFound names one that is not on file.
	Participants(ctx context.Context, ids []string) ([]connection.Connection, error)
	// InsertNote keeps a new note and sets its id.
	InsertNote(ctx context.Context, n *Note) error
	// InsertInteraction keeps a new interaction, sets its id, and moves the
	// participants' last contact forward.
	InsertInteraction(ctx context.Context, i *Interaction) error
	// FindInteraction returns the one with the external key, or nil.
	FindInteraction(ctx context.Context, externalKey string) (*Interaction, error)
	// GroupCadences returns the shortest interval among the groups of each of the
	// connections, by id; those without one are left out.
	GroupCadences(ctx context.Context, ids []string) (map[string]int, error)
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
	// Now is the time of the transaction.
	Now() time.Time
}

// AddNote keeps a note and returns it with the id of the change.
func AddNote(ctx context.Context, w Writer, n Note) (*Note, string, error) {
	n.Body = text.Clean(n.Body)
	if !text.Visible(n.Body) {
		return nil, "", fault.InvalidField("body", "must hold at least one visible character")
	}
	if _, err := w.Participants(ctx, n.ConnectionIDs); err != nil {
		return nil, "", err
	}
	n.Version, n.CreatedAt, n.UpdatedAt = 1, w.Now(), w.Now()
	if err := w.InsertNote(ctx, &n); err != nil {
		return nil, "", err
	}
	changeID, err := w.Record(ctx, change.One("Added a note", NoteObject, n.ID, nil, n))
	return &n, changeID, err
}

// Logged is what LogInteraction left on file.
type Logged struct {
	Interaction *Interaction
	// People are the participants as they are now, without their lists.
	People []connection.Connection
	// ChangeID is empty when the external key was on file.
	ChangeID string
}

// LogInteraction records a contact; zero OccurredAt means now. The same
// external key is recorded once.
func LogInteraction(ctx context.Context, w Writer, i Interaction) (Logged, error) {
	i.Summary, i.ExternalKey, i.CreatedAt = text.Clean(i.Summary), text.Line(i.ExternalKey), w.Now()
	if i.OccurredAt.IsZero() {
		i.OccurredAt = w.Now()
	}
	if i.OccurredAt.After(w.Now().Add(maxAhead)) {
		return Logged{}, fault.InvalidField("occurred_at", "lies in the future; log a contact once it took place")
	}
	if i.ExternalKey != "" {
		existing, err := w.FindInteraction(ctx, i.ExternalKey)
		if err != nil {
			return Logged{}, err
		}
		if existing != nil {
			people, err := stillThere(ctx, w, existing.ConnectionIDs)
			return logged(ctx, w, existing, people, "", err)
		}
	}
	if _, err := w.Participants(ctx, i.ConnectionIDs); err != nil {
		return Logged{}, err
	}
	if err := w.InsertInteraction(ctx, &i); err != nil {
		return Logged{}, err
	}
	changeID, err := w.Record(ctx, change.One("Logged: "+i.Kind, InteractionObject, i.ID, nil, i))
	if err != nil {
		return Logged{}, err
	}
	people, err := w.Participants(ctx, i.ConnectionIDs)
	return logged(ctx, w, &i, people, changeID, err)
}

// stillThere returns the participants of an old interaction who were not archived
// or deleted since.
func stillThere(ctx context.Context, w Writer, ids []string) ([]connection.Connection, error) {
	var out []connection.Connection
	for _, id := range ids {
		people, err := w.Participants(ctx, []string{id})
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		out = append(out, people...)
	}
	return out, nil
}

func logged(ctx context.Context, w Writer, i *Interaction, people []connection.Connection, changeID string, err error) (Logged, error) {
	if err != nil {
		return Logged{}, err
	}
	cadences, err := w.GroupCadences(ctx, i.ConnectionIDs)
	if err != nil {
		return Logged{}, err
	}
	for n := range people {
		people[n].GroupCadence = cadences[people[n].ID]
	}
	return Logged{Interaction: i, People: people, ChangeID: changeID}, nil
}

// NextDue returns the earliest day on which a participant falls due, as seen in a
// zone; false when no interval counts for any.
func (l Logged) NextDue(zone *time.Location) (earliest time.Time, ok bool) {
	for _, c := range l.People {
		if due, counts := c.NextDue(zone); counts && (!ok || due.Before(earliest)) {
			earliest, ok = due, true
		}
	}
	return earliest, ok
}
