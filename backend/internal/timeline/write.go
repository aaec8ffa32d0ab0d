package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/wordindex"
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

// Logged is the result of logging and changing interactions.
type Logged struct {
	// Interactions are what is stored now, one for each argument, in the same order.
	Interactions []Interaction
	// Known is how many of them were stored before, with the same external key.
	Known int
	// People are the participants as they are now, without their lists.
	People []people.Connection
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// LogInteractions records contacts as one change; zero OccurredAt means now. An external key is
// recorded only once: if it is known, the stored interaction is returned. It fails with
// fault.Invalid for a time in the future, and with fault.NotFound if a person does not exist.
func LogInteractions(ctx context.Context, w *db.Tx, all ...Interaction) (Logged, error) {
	known, err := findInteractions(ctx, w, all)
	if err != nil {
		return Logged{}, err
	}
	var about []string // people of the new ones
	for n := range all {
		i := &all[n]
		i.Summary, i.ExternalKey, i.CreatedAt = text.Clean(i.Summary), text.Line(i.ExternalKey), w.Now()
		if i.OccurredAt.IsZero() {
			i.OccurredAt, i.OccurredLocal = w.Now(), ""
		}
		if err := checkOccurred(i.OccurredAt, w.Now()); err != nil {
			return Logged{}, ofEntry(err, n, len(all))
		}
		if known[i.ExternalKey] == nil {
			about = append(about, i.ConnectionIDs...)
		}
	}
	if about = people.DistinctIDs(about); len(about) > 0 {
		if _, err := people.Participants(ctx, w, about); err != nil {
			return Logged{}, err
		}
	}
	out := Logged{Interactions: make([]Interaction, len(all))}
	draft := history.Draft{}
	for n, i := range all {
		stored := known[i.ExternalKey]
		if stored == nil {
			if err := InsertInteraction(ctx, w, &i); err != nil {
				return Logged{}, err
			}
			draft.Effects = append(draft.Effects, history.EffectDraft{Kind: history.Interaction, ID: i.ID, After: i})
			draft.Summary = "Logged: " + i.Kind
			if i.ExternalKey != "" {
				known[i.ExternalKey] = &i
			}
			stored = &i
		} else {
			out.Known++
		}
		out.Interactions[n] = *stored
	}
	if made := len(draft.Effects); made > 1 {
		draft.Summary = fmt.Sprintf("Logged %d interactions", made)
	}
	if len(draft.Effects) > 0 {
		if out.ChangeID, err = history.Record(ctx, w, draft); err != nil {
			return Logged{}, err
		}
	}
	return out, out.addPeople(ctx, w)
}

// ofEntry names an entry of several in the fields of an error.
func ofEntry(err error, n, of int) error {
	coded := (*fault.Error)(nil)
	if of == 1 || !errors.As(err, &coded) || len(coded.Fields) == 0 {
		return err
	}
	named := make([]error, len(coded.Fields))
	for i, f := range coded.Fields {
		named[i] = fault.InvalidField(fmt.Sprintf("interactions[%d].%s", n, f.Name), "%s", f.Message)
	}
	return fault.Join(named...)
}

// checkOccurred fails with fault.Invalid for a time in the future.
func checkOccurred(at, now time.Time) error {
	if at.After(now.Add(maxAhead)) {
		return fault.InvalidField("occurred_at", "lies in the future; log a contact once it took place")
	}
	return nil
}

// addPeople reads the participants, without those who are archived.
func (l *Logged) addPeople(ctx context.Context, w *db.Tx) (err error) {
	var ids []string
	for _, i := range l.Interactions {
		ids = append(ids, i.ConnectionIDs...)
	}
	ids = people.DistinctIDs(ids)
	if l.People, err = people.LiveOf(ctx, w, ids); err != nil {
		return err
	}
	cadences, err := people.GroupCadences(ctx, w, ids)
	for n := range l.People {
		l.People[n].GroupCadence = cadences[l.People[n].ID]
	}
	return err
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
	wordindex.Mark(tx, i.ID)
	return tx.InsertAll(ctx, &links, len(links))
}

// InsertNote inserts a new note and sets its id.
func InsertNote(ctx context.Context, tx *db.Tx, n *Note) error {
	n.TenantID, n.ID = tx.TenantID(), id.New(id.Note)
	n.SetNotedAt()
	if _, err := tx.NewInsert().Model(n).Exec(ctx); err != nil {
		return fmt.Errorf("insert note: %w", err)
	}
	return linkNote(ctx, tx, n)
}

// SetNotedAt sets the time that orders a note without a day.
func (n *Note) SetNotedAt() {
	if n.NotedAt.IsZero() {
		n.NotedAt = n.CreatedAt
	}
}

// InsertInteraction inserts a new interaction, sets its id, and moves the participants'
// last contact forward.
func InsertInteraction(ctx context.Context, tx *db.Tx, i *Interaction) error {
	i.TenantID, i.ID = tx.TenantID(), id.New(id.Interaction)
	if _, err := tx.NewInsert().Model(i).Exec(ctx); err != nil {
		return fmt.Errorf("insert interaction: %w", err)
	}
	if err := linkInteraction(ctx, tx, i); err != nil {
		return err
	}
	_, err := tx.NewRaw(`UPDATE connections SET last_interaction_at = ?
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
	wordindex.Mark(tx, n.ID)
	return tx.InsertAll(ctx, &links, len(links))
}

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

// MaxParticipants is how many people an interaction has at most.
const MaxParticipants = 50

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
	out := Logged{Interactions: []Interaction{after}, ChangeID: changeID}
	return out, out.addPeople(ctx, w)
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
	case n > MaxParticipants:
		return fault.InvalidField("add_connection_ids", "one interaction has %d people at most", MaxParticipants)
	}
	return nil
}

// without returns a new list of the ids that are not among others.
func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}

// DeleteEntry deletes a note or an interaction, depending on the prefix of the id, and
// returns the id of the change. It returns false, and writes nothing, when there is none.
func DeleteEntry(ctx context.Context, w *db.Tx, entryID string) (deleted bool, changeID string, err error) {
	var draft history.Draft
	if strings.HasPrefix(entryID, id.Note+"_") {
		draft, err = removeNote(ctx, w, entryID)
	} else {
		draft, err = removeInteraction(ctx, w, entryID)
	}
	if err != nil || len(draft.Effects) == 0 {
		return false, "", err
	}
	changeID, err = history.Record(ctx, w, draft)
	return true, changeID, err
}

// removeNote deletes a note. Its draft is empty when there is none.
func removeNote(ctx context.Context, w *db.Tx, noteID string) (history.Draft, error) {
	n, err := note(ctx, w, noteID)
	if err != nil || n == nil {
		return history.Draft{}, err
	}
	return history.One("Deleted a note", history.Note, n.ID, n, nil), deleteNote(ctx, w, n)
}

// removeInteraction deletes an interaction. Its draft is empty when there is none.
func removeInteraction(ctx context.Context, w *db.Tx, interactionID string) (history.Draft, error) {
	i, err := interaction(ctx, w, interactionID)
	if err != nil || i == nil {
		return history.Draft{}, err
	}
	return history.One("Deleted: "+i.Kind, history.Interaction, i.ID, i, nil), replaceInteraction(ctx, w, i, nil)
}
