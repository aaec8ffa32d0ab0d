package importer

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// Bounds of whom an entry of the timeline is about.
const (
	maxAbout = 20
	maxMetBy = 50
	afterRow = "%s, number %d: %v"
)

// phaseOf runs a phase whose records are about people that are on file by now.
// keys are the keys of the people that a record is about.
func phaseOf[T any](ctx context.Context, im *imports, of phase, seq iter.Seq[T], weigh func(*T) int, keys func(*T) []string,
	do func(context.Context, *db.Tx, *resolved, []T, *Report) (*Batch, []history.Touch, error),
) error {
	if im.params.Options.DryRun {
		return nil
	}
	skip := im.begun(of)
	return chunks(im.records, seq, weigh, func(records []T) error {
		n := min(skip, len(records))
		skip -= n
		if records = records[n:]; len(records) == 0 {
			return nil
		}
		next := checkpoint{Phase: of, Next: im.begun(of) + len(records), Report: im.at.Report.clone(), Related: im.at.Related}
		return im.step(ctx, &next, func(ctx context.Context, w *db.Tx) error {
			var all []string
			for i := range records {
				all = append(all, keys(&records[i])...)
			}
			who, err := im.resolve(ctx, w, all)
			if err != nil {
				return err
			}
			batch, effects, err := do(ctx, w, who, records, &next.Report)
			if err != nil {
				return err
			}
			return im.finish(ctx, w, batch, effects)
		})
	})
}

// resolved are the people on file the keys of a file mean.
type resolved struct {
	byKey map[string]string
	// open tells whether something may be added about a person.
	open func(id string) bool
}

// resolve looks people up by their keys.
func (im *imports) resolve(ctx context.Context, on db.Reader, keys []string) (*resolved, error) {
	if im.into != nil {
		return seeded(keys), nil
	}
	w := Wanted{Bare: true, ImportID: im.params.ImportID}
	for _, key := range keys {
		w.Keys = append(w.Keys, MatchKey{By: byKey, Value: SourceKey(key)})
		if id.Valid(id.Connection, key) {
			w.Keys = append(w.Keys, MatchKey{By: byID, Value: key})
		}
	}
	found, err := FindPeople(ctx, on, w)
	if err != nil {
		return nil, err
	}
	c := &resolved{byKey: map[string]string{}, open: func(id string) bool {
		return im.params.Options.OnMatch != OnMatchSkip || found.Added[id]
	}}
	for _, key := range keys {
		for _, match := range []MatchKey{{By: byID, Value: key}, {By: byKey, Value: SourceKey(key)}} {
			if ids := found.IDs[match]; len(ids) > 0 && c.byKey[key] == "" {
				c.byKey[key] = ids[0]
			}
		}
		for _, match := range []MatchKey{{By: byID, Value: key}, {By: byKey, Value: SourceKey(key)}} {
			if archived := found.Archived[match]; archived != "" && c.byKey[key] == "" {
				c.byKey[key] = archived
			}
		}
	}
	return c, nil
}

// people returns the sorted ids of those who may be written about.
func (c *resolved) people(keys []string, most int) []string {
	var ids []string
	for _, key := range keys {
		if id := c.byKey[key]; id != "" && c.open(id) && !slices.Contains(ids, id) && len(ids) < most {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// missing returns those of the people who are not among others, as far as there is
// room.
func missing(ids, others []string, most int) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(others, id) && len(others)+len(out) < most {
			out = append(out, id)
		}
	}
	return out
}

// about is the part of an entry's state that tells whom it is about.
type about struct{ ConnectionIDs []string }

// relations imports what people are to each other.
func (im *imports) relations(ctx context.Context) error {
	if !im.at.Related && im.at.Phase == phasePeople {
		return nil
	}
	records := im.file.Records()
	if im.into != nil {
		records = slices.Values(im.related)
	}
	related := func(yield func(source.Record) bool) {
		for rec := range records {
			if rec.Err == nil && rec.Person.Key != "" && len(rec.Person.Relations) > 0 && !yield(rec) {
				return
			}
		}
	}
	return phaseOf(ctx, im, phaseRelations, related, func(*source.Record) int { return 0 }, func(r *source.Record) []string {
		keys := []string{r.Person.Key}
		for _, relation := range r.Person.Relations {
			if relation.Key != "" {
				keys = append(keys, relation.Key)
			}
		}
		return keys
	}, im.relate)
}

func (im *imports) relate(ctx context.Context, w *db.Tx, who *resolved, records []source.Record, _ *Report) (*Batch, []history.Touch, error) {
	held, err := heldRelationships(ctx, w, who)
	if err != nil {
		return nil, nil, err
	}
	b := &Batch{ImportID: im.params.ImportID}
	var effects []history.Touch
	for i := range records {
		p := &records[i].Person
		from := who.byKey[p.Key]
		for _, relation := range p.Relations {
			to := who.byKey[relation.Key]
			if from == "" || to == "" || from == to || !who.open(from) && !who.open(to) {
				continue
			}
			r := people.Relationship{FromID: from, ToID: to, Type: relation.Type, CreatedAt: w.Now()}.Normal()
			same := people.Relationship{FromID: r.FromID, ToID: r.ToID, Type: r.Type}
			if held[same] {
				continue
			}
			held[same] = true
			if r.ID, err = im.newID(w, id.Relationship, relation.ID); err != nil {
				return nil, nil, err
			}
			b.Relationships = append(b.Relationships, &r)
			effects = append(effects, history.Touch{Kind: history.Relationship, ID: r.ID, After: r})
		}
	}
	return b, effects, nil
}

// heldRelationships returns what the people are to each other already.
func heldRelationships(ctx context.Context, w *db.Tx, who *resolved) (map[people.Relationship]bool, error) {
	held := map[people.Relationship]bool{}
	ids := make([]string, 0, len(who.byKey))
	for _, id := range who.byKey {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return held, nil
	}
	rows, err := FindRelationships(ctx, w, ids)
	for _, r := range rows {
		held[people.Relationship{FromID: r.FromID, ToID: r.ToID, Type: r.Type}] = true
	}
	return held, err
}

// notes imports the notes of a file of ours.
func (im *imports) notes(ctx context.Context) error {
	return phaseOf(ctx, im, phaseNotes, im.file.Notes(), func(n *source.Note) int { return len(n.Record.Body) },
		func(n *source.Note) []string { return n.Record.ConnectionIDs }, im.note)
}

// noteKey is what two notes that are one have in common.
type noteKey struct {
	at   time.Time
	body string
}

func (im *imports) note(ctx context.Context, w *db.Tx, who *resolved, records []source.Note, report *Report) (*Batch, []history.Touch, error) {
	held := map[noteKey][]*timeline.Note{}
	var at []time.Time
	for i := range records {
		if records[i].Record.CreatedAt.IsZero() {
			records[i].Record.CreatedAt = w.Now()
		}
		at = append(at, moment(records[i].Record.CreatedAt))
	}
	rows, err := FindNotes(ctx, w, at)
	if err != nil {
		return nil, nil, err
	}
	for i := range rows {
		sign := noteKey{moment(rows[i].CreatedAt), rows[i].Body}
		held[sign] = append(held[sign], &rows[i])
	}
	b := &Batch{ImportID: im.params.ImportID}
	var effects []history.Touch
	for i := range records {
		rec := &records[i].Record
		people := who.people(rec.ConnectionIDs, maxAbout)
		if err := records[i].Err; err != nil {
			report.warn(afterRow, "notes", records[i].Row, err)
		}
		if len(people) == 0 {
			continue
		}
		sign := noteKey{moment(rec.CreatedAt), rec.Body}
		if n := together(held[sign], people, func(n *timeline.Note) []string { return n.ConnectionIDs }); n != nil {
			effects = append(effects, alsoAbout(&b.NotesAbout, history.Note, n.ID, &n.ConnectionIDs, missing(people, n.ConnectionIDs, maxAbout))...)
			continue
		}
		n := &timeline.Note{
			Body: rec.Body, Pinned: rec.Pinned, Version: 1, CreatedAt: sign.at, UpdatedAt: moment(rec.UpdatedAt), ConnectionIDs: people,
		}
		if n.UpdatedAt.Before(n.CreatedAt) {
			n.UpdatedAt = n.CreatedAt
		}
		if n.ID, err = im.newID(w, id.Note, rec.ID); err != nil {
			return nil, nil, err
		}
		held[sign] = append(held[sign], n)
		b.Notes = append(b.Notes, n)
		effects = append(effects, history.Touch{Kind: history.Note, ID: n.ID, After: n})
	}
	return b, effects, nil
}

// together returns the first of some entries that look alike that is about one of
// the people: what was the same with others was not the same.
func together[T any](alike []*T, people []string, of func(*T) []string) *T {
	for _, entry := range alike {
		if slices.ContainsFunc(of(entry), func(id string) bool { return slices.Contains(people, id) }) {
			return entry
		}
	}
	return nil
}

// alsoAbout makes an entry on file be about further people.
func alsoAbout(links *[]Link, kind, entryID string, ids *[]string, further []string) []history.Touch {
	if len(further) == 0 {
		return nil
	}
	before := slices.Clone(*ids)
	for _, id := range further {
		*links = append(*links, Link{ObjectID: entryID, ConnectionID: id})
	}
	*ids = append(slices.Clone(before), further...)
	slices.Sort(*ids)
	return []history.Touch{{Kind: kind, ID: entryID, Before: about{before}, After: about{slices.Clone(*ids)}}}
}

// interactions imports those of a file of ours.
func (im *imports) interactions(ctx context.Context) error {
	return phaseOf(ctx, im, phaseInteractions, im.file.Interactions(), func(i *source.Interaction) int { return len(i.Record.Summary) },
		func(i *source.Interaction) []string { return i.Record.ConnectionIDs }, im.interaction)
}

// interactionKey is what two interactions that are one have in common.
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

func (im *imports) interaction(ctx context.Context, w *db.Tx, who *resolved, records []source.Interaction, report *Report) (*Batch, []history.Touch, error) {
	var keys []string
	var at []time.Time
	for i := range records {
		at = append(at, moment(records[i].Record.OccurredAt))
		if key := records[i].Record.ExternalKey; key != "" {
			keys = append(keys, key)
		}
	}
	rows, err := FindInteractions(ctx, w, keys, at)
	if err != nil {
		return nil, nil, err
	}
	held := map[interactionKey][]*timeline.Interaction{}
	for i := range rows {
		sign := interactionKeyOf(&rows[i])
		held[sign] = append(held[sign], &rows[i])
	}
	b := &Batch{ImportID: im.params.ImportID}
	var effects []history.Touch
	for i := range records {
		rec := &records[i].Record
		if err := records[i].Err; err != nil {
			report.warn(afterRow, "interactions", records[i].Row, err)
			continue
		}
		met := &timeline.Interaction{
			Kind: rec.Kind, OccurredAt: moment(rec.OccurredAt), DurationMinutes: rec.DurationMinutes, Summary: rec.Summary,
			ExternalKey: rec.ExternalKey, CreatedAt: moment(rec.CreatedAt), ConnectionIDs: who.people(rec.ConnectionIDs, maxMetBy),
		}
		if rec.CreatedAt.IsZero() {
			met.CreatedAt = w.Now()
		}
		if len(met.ConnectionIDs) == 0 {
			continue
		}
		sign := interactionKeyOf(met)
		other := together(held[sign], met.ConnectionIDs, func(i *timeline.Interaction) []string { return i.ConnectionIDs })
		if other == nil && met.ExternalKey != "" && len(held[sign]) > 0 {
			other = held[sign][0]
		}
		if other != nil {
			further := missing(met.ConnectionIDs, other.ConnectionIDs, maxMetBy)
			effects = append(effects, alsoAbout(&b.MetBy, history.Interaction, other.ID, &other.ConnectionIDs, further)...)
			continue
		}
		if met.ID, err = im.newID(w, id.Interaction, rec.ID); err != nil {
			return nil, nil, err
		}
		held[sign] = append(held[sign], met)
		b.Interactions = append(b.Interactions, met)
		effects = append(effects, history.Touch{Kind: history.Interaction, ID: met.ID, After: met})
	}
	return b, effects, nil
}
