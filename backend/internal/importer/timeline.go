package importer

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// The most people that a note and an interaction have.
const (
	maxAbout = 20
	maxMetBy = 50
)

// ofRow is a warning about a record in a list.
const ofRow = "%s, number %d: %v"

// resolved are the stored people whom a file names.
type resolved struct {
	// ids maps the file's keys to ids.
	ids map[string]string
	// open reports whether the import may add something about a person.
	open func(id string) bool
}

// resolve finds the people with keys; an archived person only if no other has the key.
func (s *step) resolve(ctx context.Context, keys []string) (*resolved, error) {
	w := Wanted{Bare: true, ImportID: s.params.ImportID}
	for _, key := range keys {
		w.Keys = append(w.Keys, MatchKey{By: byKey, Value: SourceKey(key)})
		if id.Valid(id.Connection, key) {
			w.Keys = append(w.Keys, MatchKey{By: byID, Value: key})
		}
	}
	found, err := FindPeople(ctx, s.tx, w)
	if err != nil {
		return nil, err
	}
	r := &resolved{ids: map[string]string{}, open: func(id string) bool {
		return s.params.Options.OnMatch != OnMatchSkip || found.Added[id]
	}}
	for _, key := range keys {
		own, hashed := MatchKey{By: byID, Value: key}, MatchKey{By: byKey, Value: SourceKey(key)}
		for _, ids := range [][]string{found.IDs[own], found.IDs[hashed], {found.Archived[own]}, {found.Archived[hashed]}} {
			if len(ids) > 0 && ids[0] != "" && r.ids[key] == "" {
				r.ids[key] = ids[0]
			}
		}
	}
	return r, nil
}

// people returns the sorted ids of those of the people about whom the import may add
// entries, at most most.
func (r *resolved) people(keys []string, most int) []string {
	var ids []string
	for _, key := range keys {
		if id := r.ids[key]; id != "" && r.open(id) && !slices.Contains(ids, id) && len(ids) < most {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// relations imports relationships, and which people are not the same, after all people are stored.
func (im *fileImport) relations(ctx context.Context) error {
	if !im.at.Related && im.at.Phase == phasePeople {
		return nil
	}
	related := func(yield func(source.Record) bool) {
		for rec := range im.file.Records() {
			if rec.Err == nil && rec.Person.ID != "" && rec.Related() && !yield(rec) {
				return
			}
		}
	}
	return importList(ctx, im, phaseRelations, related, nil, addRelations)
}

func addRelations(ctx context.Context, s *step, records []source.Record) error {
	var keys []string
	for _, rec := range records {
		keys = append(keys, rec.Person.ID)
		for _, relation := range rec.Person.Relationships {
			if relation.ConnectionID != "" {
				keys = append(keys, relation.ConnectionID)
			}
		}
		keys = append(keys, rec.Person.NotSameAs...)
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return err
	}
	known, err := knownRelationships(ctx, s.tx, slices.Collect(maps.Values(who.ids)))
	if err != nil {
		return err
	}
	for _, rec := range records {
		from := who.ids[rec.Person.ID]
		for _, relation := range rec.Person.Relationships {
			to := who.ids[relation.ConnectionID]
			if from == "" || to == "" || from == to || !who.open(from) && !who.open(to) {
				continue
			}
			r := people.Relationship{FromID: from, ToID: to, Type: relation.Type}.Normal()
			if known[r] {
				continue
			}
			known[r] = true
			r.CreatedAt = s.tx.Now()
			if r.ID, err = s.tx.NewID(id.Relationship); err != nil {
				return err
			}
			s.rows.Relationships = append(s.rows.Relationships, &r)
			s.effect(history.Relationship, r.ID, nil, r)
		}
	}
	return s.addNotSame(ctx, records, who)
}

// addNotSame imports which people are not the same.
func (s *step) addNotSame(ctx context.Context, records []source.Record, who *resolved) error {
	told := func(rec source.Record) bool { return len(rec.Person.NotSameAs) > 0 }
	if !slices.ContainsFunc(records, told) || len(who.ids) == 0 {
		return nil
	}
	rows, err := people.ListDistinctPairs(ctx, s.tx, slices.Collect(maps.Values(who.ids))...)
	if err != nil {
		return err
	}
	known := map[[2]string]bool{}
	for _, row := range rows {
		known[people.PairOf(row.FirstID, row.SecondID)] = true
	}
	for _, rec := range records {
		one := who.ids[rec.Person.ID]
		for _, key := range rec.Person.NotSameAs {
			other := who.ids[key]
			if one == "" || other == "" || one == other || known[people.PairOf(one, other)] || !who.open(one) && !who.open(other) {
				continue
			}
			known[people.PairOf(one, other)] = true
			pair := people.NewDistinctPair(s.tx, one, other)
			if pair.ID, err = s.tx.NewID(id.DistinctPair); err != nil {
				return err
			}
			s.rows.DistinctPairs = append(s.rows.DistinctPairs, &pair)
			s.effect(history.DistinctPair, pair.ID, nil, pair)
		}
	}
	return nil
}

// knownRelationships returns the relationships that people have, without ids and times.
func knownRelationships(ctx context.Context, tx *db.Tx, ids []string) (map[people.Relationship]bool, error) {
	known := map[people.Relationship]bool{}
	if len(ids) == 0 {
		return known, nil
	}
	rows, err := FindRelationships(ctx, tx, ids)
	for _, r := range rows {
		known[people.Relationship{FromID: r.FromID, ToID: r.ToID, Type: r.Type}] = true
	}
	return known, err
}

// notes imports the notes of a lossless export.
func (im *fileImport) notes(ctx context.Context) error {
	return importList(ctx, im, phaseNotes, im.file.Notes(), func(n source.Note) int { return len(n.Record.Body) }, addNotes)
}

// noteKey identifies a note: two notes with the same key about the same person are one.
type noteKey struct {
	at   time.Time
	body string
}

func addNotes(ctx context.Context, s *step, records []source.Note) error {
	var keys []string
	var at []time.Time
	for i := range records {
		rec := &records[i].Record
		keys = append(keys, rec.ConnectionIDs...)
		rec.CreatedAt = orNow(rec.CreatedAt, s.tx)
		at = append(at, rec.CreatedAt)
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return err
	}
	rows, err := FindNotes(ctx, s.tx, at)
	if err != nil {
		return err
	}
	known := map[noteKey][]*timeline.Note{}
	for i := range rows {
		key := noteKey{moment(rows[i].CreatedAt), rows[i].Body}
		known[key] = append(known[key], &rows[i])
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "notes", rec.Row, rec.Err)
			continue
		}
		n := noteOf(&rec.Record, who.people(rec.Record.ConnectionIDs, maxAbout))
		if len(n.ConnectionIDs) == 0 {
			continue
		}
		key := noteKey{n.CreatedAt, n.Body}
		if other := together(known[key], n.ConnectionIDs, func(n *timeline.Note) []string { return n.ConnectionIDs }); other != nil {
			s.alsoAbout(&s.rows.NotesAbout, history.Note, other.ID, &other.ConnectionIDs, n.ConnectionIDs, maxAbout)
			continue
		}
		if n.ID, err = s.tx.NewID(id.Note); err != nil {
			return err
		}
		known[key] = append(known[key], n)
		s.rows.Notes = append(s.rows.Notes, n)
		s.effect(history.Note, n.ID, nil, n)
	}
	return nil
}

// noteOf returns the row of a note about people.
func noteOf(rec *export.NoteRecord, about []string) *timeline.Note {
	n := &timeline.Note{Body: rec.Body, Pinned: rec.Pinned, Version: 1, CreatedAt: moment(rec.CreatedAt), ConnectionIDs: about}
	n.UpdatedAt = latest(moment(rec.UpdatedAt), n.CreatedAt)
	return n
}

// orNow returns a time with the precision of the databases, or now if the time is zero.
func orNow(at time.Time, tx *db.Tx) time.Time {
	if at.IsZero() {
		at = tx.Now()
	}
	return moment(at)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// together returns the first of the objects with one key that is about one of the people. It
// skips objects that are only about other people.
func together[T any](alike []*T, people []string, of func(*T) []string) *T {
	for _, object := range alike {
		if slices.ContainsFunc(of(object), func(id string) bool { return slices.Contains(people, id) }) {
			return object
		}
	}
	return nil
}

// about is the part of an object's state that says which people it is about.
type about struct{ ConnectionIDs []string }

// alsoAbout adds further people to a stored object, most at most.
func (s *step) alsoAbout(links *[]Link, kind, objectID string, ids *[]string, further []string, most int) {
	before := slices.Clone(*ids)
	after := slices.Clone(*ids)
	for _, id := range further {
		if !slices.Contains(after, id) && len(after) < most {
			after = append(after, id)
			*links = append(*links, Link{ObjectID: objectID, ConnectionID: id})
		}
	}
	if len(after) == len(before) {
		return
	}
	slices.Sort(after)
	*ids = after
	s.effect(kind, objectID, about{before}, about{slices.Clone(after)})
}

// interactions imports the interactions of a lossless export.
func (im *fileImport) interactions(ctx context.Context) error {
	return importList(ctx, im, phaseInteractions, im.file.Interactions(), func(i source.Interaction) int { return len(i.Record.Summary) }, addInteractions)
}

// interactionKey identifies an interaction: by the external key or, without one, by the
// other fields and a person.
type interactionKey struct {
	key, kind, summary string
	at                 time.Time
}

func interactionKeyOf(i *timeline.Interaction) interactionKey {
	if i.ExternalKey != "" {
		return interactionKey{key: i.ExternalKey}
	}
	return interactionKey{kind: i.Kind, summary: i.Summary, at: moment(i.OccurredAt)}
}

func addInteractions(ctx context.Context, s *step, records []source.Interaction) error {
	known, who, err := s.knownInteractions(ctx, records)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Err != nil {
			s.report.warn(ofRow, "interactions", rec.Row, rec.Err)
			continue
		}
		rec.Record.CreatedAt = orNow(rec.Record.CreatedAt, s.tx)
		i := interactionOf(&rec.Record, who.people(rec.Record.ConnectionIDs, maxMetBy))
		if len(i.ConnectionIDs) == 0 {
			continue
		}
		key := interactionKeyOf(i)
		other := together(known[key], i.ConnectionIDs, func(i *timeline.Interaction) []string { return i.ConnectionIDs })
		if other == nil && i.ExternalKey != "" && len(known[key]) > 0 {
			other = known[key][0]
		}
		if other != nil {
			s.alsoAbout(&s.rows.MetBy, history.Interaction, other.ID, &other.ConnectionIDs, i.ConnectionIDs, maxMetBy)
			continue
		}
		if i.ID, err = s.tx.NewID(id.Interaction); err != nil {
			return err
		}
		known[key] = append(known[key], i)
		s.rows.Interactions = append(s.rows.Interactions, i)
		s.effect(history.Interaction, i.ID, nil, i)
	}
	return nil
}

// knownInteractions returns stored interactions that may be those of records, and the
// people of the records.
func (s *step) knownInteractions(ctx context.Context, records []source.Interaction) (map[interactionKey][]*timeline.Interaction, *resolved, error) {
	var keys, externalKeys []string
	var at []time.Time
	for i := range records {
		rec := &records[i].Record
		keys = append(keys, rec.ConnectionIDs...)
		at = append(at, moment(rec.OccurredAt))
		if rec.ExternalKey != "" {
			externalKeys = append(externalKeys, rec.ExternalKey)
		}
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	rows, err := FindInteractions(ctx, s.tx, externalKeys, at)
	known := map[interactionKey][]*timeline.Interaction{}
	for i := range rows {
		key := interactionKeyOf(&rows[i])
		known[key] = append(known[key], &rows[i])
	}
	return known, who, err
}

// interactionOf returns the row of an interaction with people.
func interactionOf(rec *export.InteractionRecord, people []string) *timeline.Interaction {
	return &timeline.Interaction{
		Kind: rec.Kind, OccurredAt: moment(rec.OccurredAt), DurationMinutes: rec.DurationMinutes, Summary: rec.Summary,
		ExternalKey: rec.ExternalKey, CreatedAt: moment(rec.CreatedAt), ConnectionIDs: people,
	}
}
