package importer

import (
	"context"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Seed writes a lossless export of Kith into an empty account. Unlike an import it is one
// transaction, is free, records no change, and keeps every id. It fails if an object has no id,
// or if an import would refuse or change it.
func Seed(ctx context.Context, tx *db.Tx, content []byte) error {
	f, err := source.Open(content, source.Options{Format: source.JSON})
	if err != nil {
		return err
	}
	s := &seed{tx: tx, groups: map[string]string{}, related: map[[3]string]bool{}}
	if len(f.Warnings) > 0 {
		s.errs = append(s.errs, fmt.Errorf("%v", f.Warnings))
	}
	s.addGroups(f)
	s.addPeople(f)
	s.addLists(f)
	if err := errors.Join(s.errs...); err != nil {
		return fmt.Errorf("the file cannot be imported unchanged: %w", err)
	}
	return InsertBatch(ctx, tx, &s.rows)
}

// seed are the rows of a lossless export.
type seed struct {
	tx   *db.Tx
	rows Batch
	errs []error
	// groups are ids by folded names.
	groups  map[string]string
	related map[[3]string]bool
}

// check keeps the error of an object, and adds one for an object without an id.
func (s *seed) check(prefix, objectID string, err error) bool {
	if err == nil && !id.Valid(prefix, objectID) {
		err = fmt.Errorf("%q is no id of the kind %s", objectID, prefix)
	}
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return err == nil
}

func (s *seed) addGroups(f *source.File) {
	for g := range f.Groups() {
		if !s.check(id.Group, g.Record.ID, g.Err) {
			continue
		}
		folded := text.Fold(g.Record.Name)
		s.groups[folded] = g.Record.ID
		s.rows.Groups = append(s.rows.Groups, &groups.Group{
			ID: g.Record.ID, Name: text.Line(g.Record.Name), FoldedName: folded, Description: g.Record.Description,
			CadenceDays: g.Record.CadenceDays, Version: 1, CreatedAt: s.tx.Now(), UpdatedAt: s.tx.Now(),
		})
	}
}

func (s *seed) addPeople(f *source.File) {
	r := newReader(source.JSON, Options{})
	for rec := range f.Records() {
		e := r.entry(&rec)
		if e.Err == nil && len(e.Warnings) > 0 {
			e.Err = fmt.Errorf("row %d: %v", e.Row, e.Warnings)
		}
		if !s.check(id.Connection, e.id, e.Err) {
			continue
		}
		c := e.connection
		c.ID, c.CreatedAt = e.id, orNow(rec.Person.CreatedAt, s.tx)
		c.UpdatedAt = latest(c.UpdatedAt, c.CreatedAt)
		if e.archived() {
			c.ArchivedAt = s.tx.Now()
		}
		s.rows.Created = append(s.rows.Created, c)
		for _, name := range e.Person.Groups {
			if groupID := s.groups[text.Fold(name)]; s.check(id.Group, groupID, nil) {
				s.rows.Joined = append(s.rows.Joined, Link{ObjectID: groupID, ConnectionID: c.ID})
			}
		}
		for _, rel := range rec.Person.Relationships {
			row := people.Relationship{FromID: c.ID, ToID: rel.ConnectionID, Type: rel.Type, Label: rel.Label}.Normal()
			if rel.ConnectionID == "" || s.related[pairAndType(row)] || !s.check(id.Relationship, rel.ID, nil) {
				continue
			}
			s.related[pairAndType(row)] = true
			row.ID, row.CreatedAt = rel.ID, s.tx.Now()
			s.rows.Relationships = append(s.rows.Relationships, &row)
		}
	}
}

func (s *seed) addLists(f *source.File) {
	for rec := range f.Notes() {
		rec.Record.CreatedAt = orNow(rec.Record.CreatedAt, s.tx)
		if n := noteOf(&rec.Record, rec.Record.ConnectionIDs); s.check(id.Note, rec.Record.ID, rec.Err) {
			n.ID = rec.Record.ID
			s.rows.Notes = append(s.rows.Notes, n)
		}
	}
	for rec := range f.Interactions() {
		rec.Record.CreatedAt = orNow(rec.Record.CreatedAt, s.tx)
		if i := interactionOf(&rec.Record, rec.Record.ConnectionIDs); s.check(id.Interaction, rec.Record.ID, rec.Err) {
			i.ID = rec.Record.ID
			s.rows.Interactions = append(s.rows.Interactions, i)
		}
	}
	for rec := range f.Reminders() {
		rec.Record.CreatedAt = orNow(rec.Record.CreatedAt, s.tx)
		if r := reminderOf(&rec.Record, rec.Record.ConnectionIDs); s.check(id.Reminder, rec.Record.ID, rec.Err) {
			r.ID = rec.Record.ID
			s.rows.Reminders = append(s.rows.Reminders, r)
		}
	}
}
