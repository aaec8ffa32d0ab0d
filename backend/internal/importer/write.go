package importer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/wordindex"
)

// step is what one transaction of an import writes.
type step struct {
	tx           *db.Tx
	params       *Params
	groupDetails map[string]export.GroupRecord
	report       *Report
	index        func() *fileIndex
	rows         Batch
	// effects are the effects of the recorded change, for undo. They are encoded after the
	// rows are written, in their stored form.
	effects []history.EffectDraft
	price   int
}

// effect notes what the step does to an object.
func (s *step) effect(kind, objectID string, before, after any) {
	s.effects = append(s.effects, history.EffectDraft{Kind: kind, ID: objectID, Before: before, After: after})
}

// add adds a new object to some rows. It sets its id, which begins with prefix.
func add[T any](s *step, rows *[]*T, kind, prefix string, objectID *string, object *T) {
	*objectID = id.New(prefix)
	*rows = append(*rows, object)
	s.effect(kind, *objectID, nil, object)
}

// addNote adds a note that is not in the file as such.
func (s *step) addNote(about, body string) {
	n := &timeline.Note{Body: body, Version: 1, NotedAt: s.tx.Now(), CreatedAt: s.tx.Now(), UpdatedAt: s.tx.Now(), ConnectionIDs: []string{about}}
	add(s, &s.rows.Notes, history.Note, id.Note, &n.ID, n)
}

// save writes the rows and records the change.
func (s *step) save(ctx context.Context) error {
	s.rows.ImportID = s.params.ImportID
	defined, err := people.EnsureFields(ctx, s.tx, slices.Concat(s.rows.Created, s.rows.Replaced))
	if err != nil {
		return err
	}
	s.effects = append(defined, s.effects...) // first: an undo, which begins at the end, removes a field after its values
	if err := InsertBatch(ctx, s.tx, &s.rows); err != nil || len(s.effects) == 0 {
		return err
	}
	ended, err := people.EndReminders(ctx, s.tx, died(s.effects)...)
	if err != nil {
		return err
	}
	_, err = history.Record(ctx, s.tx, history.Draft{
		Summary: "Imported " + s.params.Filename, Effects: append(s.effects, ended...), ImportID: s.params.ImportID,
	})
	return err
}

// died returns the people who were alive before and, by the file, are no longer.
func died(effects []history.EffectDraft) (ids []string) {
	for _, e := range effects {
		before, known := e.Before.(*people.Connection)
		after, stays := e.After.(*people.Connection)
		if known && stays && before != nil && after != nil && before.DeceasedOn == "" && after.DeceasedOn != "" {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// plan adds the rows of a plan.
func (s *step) plan(p *plan) error {
	if p.groups != nil {
		if err := s.groups(p.groups.added); err != nil {
			return err
		}
	}
	for _, who := range p.order {
		if err := s.person(who); err != nil {
			return err
		}
	}
	for _, who := range p.order {
		s.memberships(who, p.groups)
	}
	for _, who := range p.order {
		for _, body := range who.newNotes {
			s.addNote(who.after.ID, body)
		}
	}
	return nil
}

// groups adds new groups.
func (s *step) groups(added []*groups.Group) error {
	for _, g := range added {
		g.CreatedAt, g.UpdatedAt = s.tx.Now(), s.tx.Now()
		add(s, &s.rows.Groups, history.Group, id.Group, &g.ID, g)
	}
	return nil
}

// person adds a new or changed person, and their keys.
func (s *step) person(who *person) error {
	c := who.after
	switch {
	case who.before == nil:
		if c.CreatedAt.After(s.tx.Now()) {
			s.report.warn("the day on which %s was added, %s, is in the future and was left out", text.Quote(c.Name), c.CreatedAt.Format(time.DateOnly))
			c.CreatedAt = time.Time{}
		}
		if c.CreatedAt.IsZero() {
			c.CreatedAt = s.tx.Now()
		}
		if c.UpdatedAt.IsZero() {
			c.UpdatedAt = s.tx.Now()
		}
		if who.archived {
			c.ArchivedAt = s.tx.Now()
		}
		add(s, &s.rows.Created, history.Connection, id.Connection, &c.ID, c)
	case who.changed:
		c.Version++
		c.UpdatedAt = s.tx.Now()
		s.rows.Replaced = append(s.rows.Replaced, c)
		s.effect(history.Connection, c.ID, who.before, c)
	}
	if who.photo != nil {
		if s.rows.Photos == nil {
			s.rows.Photos = map[string]*photos.Photo{}
		}
		s.rows.Photos[c.ID] = who.photo
	}
	for _, key := range who.keys {
		s.rows.Keys = append(s.rows.Keys, Key{Key: key.Key, Name: key.Name, ConnectionID: c.ID, Added: who.before == nil})
	}
	return nil
}

// memberships adds a person to the groups that they were not in.
func (s *step) memberships(who *person, all *groupSet) {
	if len(who.groups) == len(who.groupsBefore) {
		return
	}
	for _, groupID := range all.ids(who.groups[len(who.groupsBefore):]) {
		s.rows.Joined = append(s.rows.Joined, Link{ObjectID: groupID, ConnectionID: who.after.ID})
	}
	s.effect(history.Membership, who.after.ID, people.Groups{Groups: all.ids(who.groupsBefore)}, people.Groups{Groups: all.ids(who.groups)})
}

// Batch is the rows of one step, with their ids.
type Batch struct {
	// ImportID is the import that adds Created.
	ImportID string
	Groups   []*groups.Group
	// Created are new people, Replaced the next versions of stored people.
	Created, Replaced []*people.Connection
	// Photos are photos that people name, by the ids of the people.
	Photos map[string]*photos.Photo
	// Joined adds people to groups.
	Joined        []Link
	Relationships []*people.Relationship
	DistinctPairs []*people.DistinctPair
	Notes         []*timeline.Note
	Interactions  []*timeline.Interaction
	Reminders     []*reminders.Reminder
	// NotesAbout, MetBy and RemindAbout are further people of stored notes, interactions and reminders.
	NotesAbout, MetBy, RemindAbout []Link
	// Keys are further hashed keys of people.
	Keys []Key
}

// Link is a person's membership in a group, or part in a note or an interaction.
type Link struct{ ObjectID, ConnectionID string }

// Key is a hashed key of a person, the person's name in the file, and whether this import added the
// person.
type Key struct {
	Key, Name, ConnectionID string
	Added                   bool
}

// InsertBatch writes rows, with one statement for each table. It adds missing organisations
// and tags, and gives those of the batch the stored spelling.
func InsertBatch(ctx context.Context, tx *db.Tx, b *Batch) error {
	tenantID, about, metBy := tx.TenantID(), slices.Clone(b.NotesAbout), slices.Clone(b.MetBy)
	for _, g := range b.Groups {
		g.TenantID = tenantID
	}
	for _, r := range b.Relationships {
		r.TenantID = tenantID
		tx.MarkDirty(r.FromID, r.ToID)
	}
	remindAbout := slices.Clone(b.RemindAbout)
	for _, r := range b.Reminders {
		r.TenantID = tenantID
		remindAbout = append(remindAbout, linksOf(r.ID, r.ConnectionIDs)...)
	}
	for _, n := range b.Notes {
		n.TenantID = tenantID
		n.SetNotedAt()
		about = append(about, linksOf(n.ID, n.ConnectionIDs)...)
	}
	for _, i := range b.Interactions {
		i.TenantID = tenantID
		metBy = append(metBy, linksOf(i.ID, i.ConnectionIDs)...)
	}
	for _, l := range slices.Concat(b.Joined, about) {
		tx.MarkDirty(l.ConnectionID)
	}
	for _, l := range slices.Concat(about, metBy) {
		wordindex.Mark(tx, l.ObjectID)
	}
	for _, insert := range []func() error{
		func() error { return tx.InsertAll(ctx, &b.Groups, len(b.Groups)) },
		func() error { return photos.Insert(ctx, tx, b.Photos) }, // before people name them
		func() error { return people.InsertPeople(ctx, tx, b.Created) },
		func() error { return people.ReplacePeople(ctx, tx, b.Replaced) },
		func() error {
			return insertLinks(ctx, tx, b.Joined, func(l Link) people.GroupConnection {
				return people.GroupConnection{TenantID: tenantID, GroupID: l.ObjectID, ConnectionID: l.ConnectionID}
			})
		},
		func() error { return tx.InsertAll(ctx, &b.Relationships, len(b.Relationships)) },
		func() error { return tx.InsertAll(ctx, &b.DistinctPairs, len(b.DistinctPairs)) },
		func() error { return tx.InsertAll(ctx, &b.Reminders, len(b.Reminders)) },
		func() error {
			return insertLinks(ctx, tx, remindAbout, func(l Link) reminders.ReminderConnection {
				return reminders.ReminderConnection{TenantID: tenantID, ConnectionID: l.ConnectionID, ReminderID: l.ObjectID}
			})
		},
		func() error { return tx.InsertAll(ctx, &b.Notes, len(b.Notes)) },
		func() error {
			return insertLinks(ctx, tx, about, func(l Link) timeline.NoteConnection {
				return timeline.NoteConnection{TenantID: tenantID, ConnectionID: l.ConnectionID, NoteID: l.ObjectID}
			})
		},
		func() error { return tx.InsertAll(ctx, &b.Interactions, len(b.Interactions)) },
		func() error {
			return insertLinks(ctx, tx, metBy, func(l Link) timeline.InteractionConnection {
				return timeline.InteractionConnection{TenantID: tenantID, ConnectionID: l.ConnectionID, InteractionID: l.ObjectID}
			})
		},
		func() error {
			return people.CountContacts(ctx, tx, people.DistinctIDs(people.IDs(metBy, func(l Link) string { return l.ConnectionID }))...)
		},
		func() error { return insertKeys(ctx, tx, b) },
	} {
		if err := insert(); err != nil {
			return fmt.Errorf("insert what was imported: %w", err)
		}
	}
	return nil
}

// insertLinks inserts links as rows of a table.
func insertLinks[T any](ctx context.Context, tx *db.Tx, links []Link, row func(Link) T) error {
	rows := make([]T, len(links))
	for i, l := range links {
		rows[i] = row(l)
	}
	return tx.InsertAll(ctx, &rows, len(rows))
}

func linksOf(objectID string, people []string) []Link {
	links := make([]Link, len(people))
	for i, c := range people {
		links[i] = Link{ObjectID: objectID, ConnectionID: c}
	}
	return links
}

// insertKeys writes keys. A key of an archived person moves to the new one.
func insertKeys(ctx context.Context, tx *db.Tx, b *Batch) error {
	if len(b.Keys) == 0 {
		return nil
	}
	rows := make([]people.SourceKeyRow, len(b.Keys))
	for i, k := range b.Keys {
		rows[i] = people.SourceKeyRow{TenantID: tx.TenantID(), Key: k.Key, ConnectionID: k.ConnectionID, Name: k.Name}
		if k.Added {
			rows[i].ImportID = b.ImportID
		}
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, key) DO UPDATE").
		Set("connection_id = EXCLUDED.connection_id").Set("import_id = EXCLUDED.import_id").Set("name = EXCLUDED.name").Exec(ctx)
	return err
}
