package importer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// resolved are the stored people whom a file names.
type resolved struct {
	// ids maps the file's keys to ids.
	ids map[string]string
	// mayChange reports whether the import may add something about a person.
	mayChange func(id string) bool
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

// byContent begins the references of records without a key.
const byContent = "\x00"

// personRecords returns the records of people that can be read, with their hashes only. The ref of a record
// is its key in the file or, without one, stands for the record itself.
func (im *fileImport) personRecords(yield func(*entry) bool) {
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
		if !yield(&entry{Record: &rec, identity: own, ref: ref}) {
			return
		}
	}
}

// index returns the index of the file, which it makes once.
func (im *fileImport) index() *fileIndex {
	if im.indexed == nil {
		im.indexed = &fileIndex{lossless: im.file.Format == source.JSON, byKey: map[string]identity{}, byName: map[string][]string{}}
		for rec := range im.personRecords {
			im.indexed.source = sourceOf(rec.Record)
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
	r := &resolved{ids: map[string]string{}, mayChange: func(id string) bool {
		return s.params.Options.OnMatch != OnMatchSkip || found.Added[id]
	}}
	for _, key := range keys {
		e := &entry{identity: s.index().identity(key), id: ownID(key), connection: &people.Connection{}}
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
		if id := r.ids[key]; id != "" && r.mayChange(id) && !slices.Contains(ids, id) && len(ids) < most {
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
	related := func(yield func(*entry) bool) {
		for rec := range im.personRecords {
			if rec.Related() && !yield(rec) {
				return
			}
		}
	}
	return importList(ctx, im, phaseRelations, related, nil, addRelations)
}

func addRelations(ctx context.Context, s *step, records []*entry) error {
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
	unlinked, linked := map[string][]people.Relation{}, map[string][]people.Relation{}
	for _, rec := range records {
		from := who.ids[rec.ref]
		for _, relation := range rec.Person.Relationships {
			to, why := s.relatedPerson(from, relation, who, named.Named)
			told := people.Relation{Name: cmp.Or(relation.Name, relation.ConnectionID), Type: relation.Type, Label: relation.Label, InverseLabel: relation.InverseLabel}
			switch {
			case relation.ConnectionID == "" && s.index().lossless: // it is in the record of the person
			case from == "" || !who.mayChange(from) && (to == "" || !who.mayChange(to)):
			case to != "":
				if err := s.addRelation(ctx, rec.Row, from, to, told, known); err != nil {
					return err
				}
				linked[from] = append(linked[from], told)
			case !s.index().lossless:
				unlinked[from] = append(unlinked[from], told)
				if why != "" {
					s.report.warn("row %d: %s is not linked: %s", rec.Row, text.Quote(told.Name), why)
				}
			case relation.ConnectionID != "":
				// A further part of an export may have the person, and the relationship.
				s.report.warn("row %d: a relationship with %q was left out: %s", rec.Row, told.Name, why)
			}
		}
	}
	if err := s.addUnlinked(ctx, unlinked, linked); err != nil {
		return err
	}
	return s.addNotSame(ctx, records, who)
}

// addUnlinked adds those who are not on file to the people whom they are related to, and drops the names of people who are linked
// now.
func (s *step) addUnlinked(ctx context.Context, unlinked, linked map[string][]people.Relation) error {
	ids := slices.Collect(maps.Keys(unlinked))
	ids = people.DistinctIDs(slices.AppendSeq(ids, maps.Keys(linked)))
	if len(ids) == 0 {
		return nil
	}
	held, err := people.GetConnections(ctx, s.tx, ids)
	for _, id := range ids {
		before := held[id]
		if before == nil {
			continue
		}
		after, changed, unused := before.Relate(unlinked[id], linked[id])
		for _, u := range unused {
			s.report.warn("%s: the %s stays %s; in the file is also %s", text.Quote(before.Name), u.Field, u.Stored, text.Quote(u.Said))
		}
		if changed {
			after.Version++
			after.UpdatedAt = s.tx.Now()
			s.rows.Replaced = append(s.rows.Replaced, after)
			s.effect(history.Connection, id, before, after)
		}
	}
	return err
}

// relatedPerson returns the person that a relationship of a person means: the one with the key or, without
// one, the only one in the file or the network with exactly that name. If there are several, or nobody has the key, why says so.
func (s *step) relatedPerson(from string, relation export.RelationshipRecord, who *resolved, named map[string][]string) (to, why string) {
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
		return "", ""
	case 1:
		return candidates[0], ""
	}
	return "", "several people have that name"
}

// addRelation adds a relationship that is new, or the labels that a known one lacks.
func (s *step) addRelation(ctx context.Context, row int, from, to string, told people.Relation, known map[[3]string]*people.Relationship) error {
	r := people.Relationship{FromID: from, ToID: to, Type: told.Type, Label: told.Label, InverseLabel: told.InverseLabel}.Normal()
	held := known[pairAndType(r)]
	if held == nil {
		known[pairAndType(r)] = &r
		r.CreatedAt = s.tx.Now()
		add(s, &s.rows.Relationships, history.Relationship, id.Relationship, &r.ID, &r)
		return nil
	}
	if stays := held.SeenFrom(from).Label; stays != "" && told.Label != "" && text.Fold(stays) != text.Fold(told.Label) && s.params.Options.OnMatch != OnMatchOverwrite {
		s.report.warn("row %d: the relation to %s stays %s; in the file it is %s", row, text.Quote(told.Name), text.Quote(stays), text.Quote(told.Label))
	}
	before := *held
	*held = held.With(r, s.params.Options.OnMatch == OnMatchOverwrite)
	if *held == before || held.TenantID == "" { // the step inserts it later
		return nil
	}
	s.effect(history.Relationship, held.ID, before, *held)
	return people.ReplaceRelationship(ctx, s.tx, *held)
}

// pairAndType identifies a relationship.
func pairAndType(r people.Relationship) [3]string { return [3]string{r.FromID, r.ToID, r.Type} }

// addNotSame imports which people are not the same.
func (s *step) addNotSame(ctx context.Context, records []*entry, who *resolved) error {
	told := func(rec *entry) bool { return len(rec.Person.NotSameAs) > 0 }
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
			if one == "" || other == "" || one == other || known[people.PairOf(one, other)] || !who.mayChange(one) && !who.mayChange(other) {
				continue
			}
			known[people.PairOf(one, other)] = true
			pair := people.NewDistinctPair(s.tx, one, other)
			add(s, &s.rows.DistinctPairs, history.DistinctPair, id.DistinctPair, &pair.ID, &pair)
		}
	}
	return nil
}

// knownRelationships returns the relationships that people have.
func knownRelationships(ctx context.Context, tx *db.Tx, ids []string) (map[[3]string]*people.Relationship, error) {
	known := map[[3]string]*people.Relationship{}
	if len(ids) == 0 {
		return known, nil
	}
	rows, err := FindRelationships(ctx, tx, ids)
	for i := range rows {
		known[pairAndType(rows[i])] = &rows[i]
	}
	return known, err
}

// FindRelationships returns the relationships of the people.
func FindRelationships(ctx context.Context, tx *db.Tx, ids []string) ([]people.Relationship, error) {
	var rows []people.Relationship
	err := tx.From(&rows).Where("from_id IN (?) OR to_id IN (?)", bun.List(ids), bun.List(ids)).Scan(ctx)
	return rows, err
}
