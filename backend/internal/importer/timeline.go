package importer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/uptrace/bun"
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

// fileIndex are the records of people in a file.
type fileIndex struct {
	// source is the source of the file's keys; lossless says that it is a lossless export of Kith.
	source   string
	lossless bool
	// byKey are the records with keys; byName are the references to the first two with a folded name.
	byKey  map[string]identity
	byName map[string][]string
}

// personRecord is a record of a person with its hashes. ref is its key in the file; without one, it
// stands for the record itself.
type personRecord struct {
	source.Record
	identity

	ref string
}

// byContent begins the references of records without a key.
const byContent = "\x00"

// personRecords returns the records of people that can be read.
func (im *fileImport) personRecords(yield func(personRecord) bool) {
	r := newReader(im.file.Format, im.params.Options)
	for rec := range im.file.Records() {
		if rec.Err != nil {
			continue
		}
		own, err := r.identity(&rec)
		if err != nil {
			continue // it has no person
		}
		ref := rec.Person.ID
		if ref == "" {
			ref = byContent + own.content
		}
		if !yield(personRecord{rec, own, ref}) {
			return
		}
	}
}

// index returns the index of the file, which it makes once.
func (im *fileImport) index() *fileIndex {
	if im.indexed == nil {
		im.indexed = &fileIndex{lossless: im.file.Format == source.JSON, byKey: map[string]identity{}, byName: map[string][]string{}}
		for rec := range im.personRecords {
			im.indexed.source = sourceOf(&rec.Record)
			if rec.Person.ID != "" {
				im.indexed.byKey[rec.Person.ID] = rec.identity
			}
			if folded := text.Fold(rec.Person.Name); len(im.indexed.byName[folded]) < 2 {
				im.indexed.byName[folded] = append(im.indexed.byName[folded], rec.ref)
			}
		}
	}
	return im.indexed
}

// identity returns the record that a reference means. A person who is not in the file may come from
// an earlier one.
func (x *fileIndex) identity(ref string) identity {
	if content, ok := strings.CutPrefix(ref, byContent); ok {
		return identity{key: content, content: content}
	}
	if own, ok := x.byKey[ref]; ok {
		return own
	}
	return identity{key: SourceKey(sourceOf(&source.Record{Person: export.PersonRecord{ID: ref}, Source: x.source}), ref)}
}

// resolve finds the people with keys; an archived person only if no other has the key.
func (s *step) resolve(ctx context.Context, keys []string) (*resolved, error) {
	w := Wanted{Bare: true, ImportID: s.params.ImportID}
	ownID := func(key string) string {
		if id.Valid(id.Connection, key) {
			return key
		}
		return ""
	}
	for _, key := range keys {
		w.Keys = append(w.Keys, s.index().identity(key).keys(ownID(key))...)
	}
	found, err := FindPeople(ctx, s.tx, w)
	if err != nil {
		return nil, err
	}
	r := &resolved{ids: map[string]string{}, open: func(id string) bool {
		return s.params.Options.OnMatch != OnMatchSkip || found.Added[id]
	}}
	for _, key := range keys {
		e := &entry{identity: s.index().identity(key), id: ownID(key), person: &people.Connection{}}
		known, _ := found.keyed(e)
		if known == "" {
			known = found.archived(e.identity, e.id)
		}
		if known != "" {
			r.ids[key] = known
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
	related := func(yield func(personRecord) bool) {
		for rec := range im.personRecords {
			if rec.Related() && !yield(rec) {
				return
			}
		}
	}
	return importList(ctx, im, phaseRelations, related, nil, addRelations)
}

func addRelations(ctx context.Context, s *step, records []personRecord) error {
	var keys []string
	var unnamed []MatchKey
	for _, rec := range records {
		keys = append(keys, rec.ref)
		keys = append(keys, rec.Person.NotSameAs...)
		for _, relation := range rec.Person.Relationships {
			folded := text.Fold(relation.Name)
			if relation.ConnectionID != "" {
				keys = append(keys, relation.ConnectionID)
			}
			if folded != "" {
				keys = append(append(keys, relation.Name), s.index().byName[folded]...)
				unnamed = append(unnamed, MatchKey{By: byName, Value: folded})
			}
		}
	}
	who, err := s.resolve(ctx, keys)
	if err != nil {
		return err
	}
	named, err := FindPeople(ctx, s.tx, Wanted{Bare: true, Keys: unnamed})
	if err != nil {
		return err
	}
	ids := people.DistinctIDs(slices.Collect(maps.Values(who.ids)))
	known, err := knownRelationships(ctx, s.tx, ids)
	if err != nil {
		return err
	}
	kept := map[string][]string{} // lines of notes
	for _, rec := range records {
		from := who.ids[rec.ref]
		for _, relation := range rec.Person.Relationships {
			to, why := s.relative(from, relation, who, named.Named)
			if from == "" || why == "" && !who.open(from) && !who.open(to) {
				continue
			}
			if why == "" {
				if err := s.addRelation(from, to, relation.Type, known); err != nil {
					return err
				}
			}
			if why == "" && (relation.Type != people.RelationOther || relation.Label == "") || !who.open(from) {
				continue
			}
			if relation.Name == "" || s.index().lossless {
				// A further part of an export may have the person, and the relationship.
				s.report.warn("row %d: a relationship with %q was left out: %s", rec.Row, cmp.Or(relation.Name, relation.ConnectionID), why)
				continue
			}
			kept[from] = append(kept[from], lineOf(relation))
			if why != "" {
				s.report.warn("row %d: %q is kept in a note: %s", rec.Row, lineOf(relation), why)
			}
		}
	}
	if err := s.addLines(ctx, kept); err != nil {
		return err
	}
	return s.addNotSame(ctx, records, who)
}

// relative returns the person that a relationship of a person means: the one with the key or, without
// one, the only one in the file or the network with exactly that name. If there is none, why says why.
func (s *step) relative(from string, relation export.RelationshipRecord, who *resolved, named map[string][]string) (to, why string) {
	for _, key := range []string{relation.ConnectionID, relation.Name} {
		if to = who.ids[key]; key != "" && to != "" && to != from {
			return to, ""
		}
	}
	folded := text.Fold(relation.Name)
	if folded == "" || s.index().lossless {
		return "", "the file has no such person"
	}
	var candidates []string
	for _, ref := range s.index().byName[folded] {
		candidates = append(candidates, who.ids[ref])
	}
	candidates = people.DistinctIDs(append(candidates, named[folded]...))
	candidates = slices.DeleteFunc(candidates, func(id string) bool { return id == "" || id == from })
	switch len(candidates) {
	case 0:
		return "", "nobody else has exactly that name"
	case 1:
		return candidates[0], ""
	}
	return "", "several people have that name"
}

// addRelation adds a relationship that is new.
func (s *step) addRelation(from, to, kind string, known map[people.Relationship]bool) (err error) {
	r := people.Relationship{FromID: from, ToID: to, Type: kind}.Normal()
	if known[r] {
		return nil
	}
	known[r] = true
	r.CreatedAt = s.tx.Now()
	if r.ID, err = s.tx.NewID(id.Relationship); err != nil {
		return err
	}
	s.rows.Relationships = append(s.rows.Relationships, &r)
	s.effect(history.Relationship, r.ID, nil, r)
	return nil
}

// lineOf returns a relationship as a line of a note.
func lineOf(r export.RelationshipRecord) string {
	label := r.Label
	if label == "" || r.Type != people.RelationOther {
		label = strings.ReplaceAll(r.Type, "_", " ")
	}
	if r.Type == people.RelationOther && r.Label == "" {
		label = "related"
	}
	first, size := utf8.DecodeRuneInString(label)
	return string(unicode.ToUpper(first)) + label[size:] + ": " + r.Name
}

// addLines adds a note with the lines to each person, unless there is one.
func (s *step) addLines(ctx context.Context, lines map[string][]string) error {
	if len(lines) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(lines))
	held, err := noteBodies(ctx, s.tx, ids)
	if err != nil {
		return err
	}
	for _, about := range ids {
		body := strings.Join(slices.Compact(lines[about]), "\n")
		if slices.Contains(held[about], body) {
			continue
		}
		n := &timeline.Note{Body: body, Version: 1, CreatedAt: s.tx.Now(), UpdatedAt: s.tx.Now(), ConnectionIDs: []string{about}}
		if n.ID, err = s.tx.NewID(id.Note); err != nil {
			return err
		}
		s.rows.Notes = append(s.rows.Notes, n)
		s.effect(history.Note, n.ID, nil, n)
	}
	return nil
}

// contacts imports the days of last contact of people, after all interactions: for each person who
// had no contact as late as that, an interaction.
func (im *fileImport) contacts(ctx context.Context) error {
	if !im.at.Contacts {
		return nil
	}
	told := func(yield func(personRecord) bool) {
		for rec := range im.personRecords {
			if !rec.Person.LastInteractionAt.IsZero() && !yield(rec) {
				return
			}
		}
	}
	return importList(ctx, im, phaseContacts, told, nil, addContacts)
}

// lastContact is the summary of an interaction of which only the day is known.
const lastContact = "Last contact, as an imported file says"

func addContacts(ctx context.Context, s *step, records []personRecord) error {
	who, err := s.resolve(ctx, people.IDs(records, func(rec personRecord) string { return rec.ref }))
	if err != nil || len(who.ids) == 0 {
		return err
	}
	var rows []struct {
		ID                string
		LastInteractionAt time.Time `bun:",nullzero"`
	}
	err = s.tx.NewRaw("SELECT id, last_interaction_at FROM connections WHERE tenant_id = ? AND id IN (?)",
		s.tx.TenantID(), bun.List(people.DistinctIDs(slices.Collect(maps.Values(who.ids))))).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	settings, err := account.GetSettings(ctx, s.tx)
	if err != nil {
		return err
	}
	zone := civil.Zone(settings.Timezone)
	latest := map[string]time.Time{}
	for _, row := range rows {
		latest[row.ID] = row.LastInteractionAt
	}
	added := map[string]*timeline.Interaction{}
	for _, rec := range records {
		about, at := who.ids[rec.ref], moment(rec.Person.LastInteractionAt)
		if about == "" || !who.open(about) {
			continue
		}
		local := ""
		if day := at.Truncate(24 * time.Hour); at.Equal(day) { // only the day is known
			if civil.Of(latest[about], zone).Equal(day) {
				continue
			}
			at, local = civil.Noon(day, zone), day.Format(time.DateOnly)
		}
		if !at.After(latest[about]) {
			continue
		}
		if moment(rec.Person.LastInteractionAt).After(s.tx.Now()) {
			s.report.warn("row %d: the day of the last contact, %s, is in the future and was left out", rec.Row, at.Format(time.DateOnly))
			continue
		}
		if latest[about] = at; added[about] != nil {
			added[about].OccurredAt, added[about].OccurredLocal = at, local
			continue
		}
		i := &timeline.Interaction{Kind: "other", OccurredAt: at, OccurredLocal: local, Summary: lastContact, CreatedAt: s.tx.Now(), ConnectionIDs: []string{about}}
		if i.ID, err = s.tx.NewID(id.Interaction); err != nil {
			return err
		}
		added[about] = i
		s.rows.Interactions = append(s.rows.Interactions, i)
	}
	for _, i := range s.rows.Interactions {
		s.effect(history.Interaction, i.ID, nil, i)
	}
	return nil
}

// addNotSame imports which people are not the same.
func (s *step) addNotSame(ctx context.Context, records []personRecord, who *resolved) error {
	told := func(rec personRecord) bool { return len(rec.Person.NotSameAs) > 0 }
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
		one := who.ids[rec.ref]
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
type about struct {
	ConnectionIDs []string `json:"connection_ids"`
}

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
		Kind: rec.Kind, OccurredAt: moment(rec.OccurredAt), OccurredLocal: rec.OccurredLocal, DurationMinutes: rec.DurationMinutes, Summary: rec.Summary,
		ExternalKey: rec.ExternalKey, CreatedAt: moment(rec.CreatedAt), ConnectionIDs: people,
	}
}
