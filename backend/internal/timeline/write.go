package timeline

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// maxAhead is how far in the future an interaction may be logged, because a caller's clock
// or time zone may be wrong. A planned meeting is not a contact.
const maxAhead = 24 * time.Hour

// AddNote stores a note and returns it with the id of the change.
func AddNote(ctx context.Context, w *db.Tx, n Note) (*Note, string, error) {
	n.Body = text.Clean(n.Body)
	if !text.Visible(n.Body) {
		return nil, "", fault.InvalidField("body", "must hold at least one visible character")
	}
	if _, err := people.Participants(ctx, w, n.ConnectionIDs); err != nil {
		return nil, "", err
	}
	n.Version, n.CreatedAt, n.UpdatedAt = 1, w.Now(), w.Now()
	if err := InsertNote(ctx, w, &n); err != nil {
		return nil, "", err
	}
	changeID, err := history.Record(ctx, w, history.One("Added a note", history.Note, n.ID, nil, n))
	return &n, changeID, err
}

// StoreNote stores a note about a person, without recording a change, and returns its effect.
func StoreNote(ctx context.Context, w *db.Tx, connectionID, body string) (history.EffectDraft, error) {
	n := Note{Body: text.Clean(body), Version: 1, CreatedAt: w.Now(), UpdatedAt: w.Now(), ConnectionIDs: []string{connectionID}}
	if err := InsertNote(ctx, w, &n); err != nil {
		return history.EffectDraft{}, err
	}
	return history.EffectDraft{Kind: history.Note, ID: n.ID, After: n}, nil
}

// Logged is the result of LogInteraction.
type Logged struct {
	Interaction *Interaction
	// People are the participants as they are now, without their lists.
	People []people.Connection
	// ChangeID is empty when an interaction with the external key exists already.
	ChangeID string
}

// LogInteraction records a contact; zero OccurredAt means now. An external key is recorded
// only once.
func LogInteraction(ctx context.Context, w *db.Tx, i Interaction) (Logged, error) {
	i.Summary, i.ExternalKey, i.CreatedAt = text.Clean(i.Summary), text.Line(i.ExternalKey), w.Now()
	if i.OccurredAt.IsZero() {
		i.OccurredAt, i.OccurredLocal = w.Now(), ""
	}
	if err := checkOccurred(i.OccurredAt, w.Now()); err != nil {
		return Logged{}, err
	}
	if i.ExternalKey != "" {
		existing, err := FindInteraction(ctx, w, i.ExternalKey)
		if err != nil {
			return Logged{}, err
		}
		if existing != nil {
			people, err := people.LiveOf(ctx, w, existing.ConnectionIDs) // without those who have been archived since
			return logged(ctx, w, existing, people, "", err)
		}
	}
	if _, err := people.Participants(ctx, w, i.ConnectionIDs); err != nil {
		return Logged{}, err
	}
	if err := InsertInteraction(ctx, w, &i); err != nil {
		return Logged{}, err
	}
	changeID, err := history.Record(ctx, w, history.One("Logged: "+i.Kind, history.Interaction, i.ID, nil, i))
	if err != nil {
		return Logged{}, err
	}
	people, err := people.Participants(ctx, w, i.ConnectionIDs)
	return logged(ctx, w, &i, people, changeID, err)
}

// checkOccurred fails with fault.Invalid for a time in the future.
func checkOccurred(at, now time.Time) error {
	if at.After(now.Add(maxAhead)) {
		return fault.InvalidField("occurred_at", "lies in the future; log a contact once it took place")
	}
	return nil
}

func logged(ctx context.Context, w *db.Tx, i *Interaction, participants []people.Connection, changeID string, err error) (Logged, error) {
	if err != nil {
		return Logged{}, err
	}
	cadences, err := people.GroupCadences(ctx, w, i.ConnectionIDs)
	if err != nil {
		return Logged{}, err
	}
	for n := range participants {
		participants[n].GroupCadence = cadences[participants[n].ID]
	}
	return Logged{Interaction: i, People: participants, ChangeID: changeID}, nil
}

// NextDue returns the earliest day on which a participant is due, in a time zone, and
// false when no interval applies to any of them.
func (l Logged) NextDue(zone *time.Location) (earliest time.Time, ok bool) {
	for _, c := range l.People {
		if due, counts := c.Cadence().NextDue(zone); counts && (!ok || due.Before(earliest)) {
			earliest, ok = due, true
		}
	}
	return earliest, ok
}

// linkInteraction stores the participants of an interaction.
func linkInteraction(ctx context.Context, tx *db.Tx, i *Interaction) error {
	links := make([]InteractionConnection, len(i.ConnectionIDs))
	for n, c := range i.ConnectionIDs {
		links[n] = InteractionConnection{TenantID: tx.TenantID(), ConnectionID: c, InteractionID: i.ID}
	}
	tx.MarkDirty(i.ConnectionIDs...)
	return tx.InsertAll(ctx, &links, len(links))
}

// InsertNote inserts a new note and sets its id.
func InsertNote(ctx context.Context, tx *db.Tx, n *Note) error {
	noteID, err := tx.NewID(id.Note)
	if err != nil {
		return err
	}
	n.TenantID, n.ID = tx.TenantID(), noteID
	if _, err := tx.NewInsert().Model(n).Exec(ctx); err != nil {
		return fmt.Errorf("insert note: %w", err)
	}
	return linkNote(ctx, tx, n)
}

// InsertInteraction inserts a new interaction, sets its id, and moves the participants'
// last contact forward.
func InsertInteraction(ctx context.Context, tx *db.Tx, i *Interaction) error {
	interactionID, err := tx.NewID(id.Interaction)
	if err != nil {
		return err
	}
	i.TenantID, i.ID = tx.TenantID(), interactionID
	if _, err := tx.NewInsert().Model(i).Exec(ctx); err != nil {
		return fmt.Errorf("insert interaction: %w", err)
	}
	if err := linkInteraction(ctx, tx, i); err != nil {
		return err
	}
	_, err = tx.NewRaw(`UPDATE connections SET last_interaction_at = ?
WHERE tenant_id = ? AND id IN (?) AND (last_interaction_at IS NULL OR last_interaction_at < ?)`,
		i.OccurredAt, tx.TenantID(), bun.List(i.ConnectionIDs), i.OccurredAt).Exec(ctx)
	return err
}

// linkNote stores the people that a note is about.
func linkNote(ctx context.Context, tx *db.Tx, n *Note) error {
	links := make([]NoteConnection, len(n.ConnectionIDs))
	for i, c := range n.ConnectionIDs {
		links[i] = NoteConnection{TenantID: tx.TenantID(), ConnectionID: c, NoteID: n.ID}
	}
	tx.MarkDirty(n.ConnectionIDs...)
	return tx.InsertAll(ctx, &links, len(links))
}
