package importer

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// newPlan looks for the people of entries and returns a plan for them. In a dry run
// it goes on with the plan before.
func (im *imports) newPlan(ctx context.Context, on db.Reader, entries []*entry, report *Report, now time.Time, newID func(string) (string, error)) (*plan, error) {
	w := wanted(entries)
	w.ImportID = im.params.ImportID
	found, err := FindPeople(ctx, on, w)
	if err != nil {
		return nil, err
	}
	p := im.dry
	if p == nil {
		p = &plan{
			onMatch: im.params.Options.OnMatch, others: im.others, people: map[string]*person{}, onFile: map[string]*person{},
			overwritten: im.overwritten,
		}
	}
	p.found, p.report = found, report
	if p.groups == nil {
		groups, err := im.groupsFor(ctx, on, entries)
		if err != nil {
			return nil, err
		}
		p.groups = newGroupBook(groups, now, func() (string, error) { return newID(id.Group) })
		p.groups.details = im.groupDetails
	}
	if im.params.Options.DryRun {
		im.dry = p
	}
	return p, nil
}

// groupsFor returns the groups on file, if it matters.
func (im *imports) groupsFor(ctx context.Context, on db.Reader, entries []*entry) ([]groups.Group, error) {
	for _, e := range entries {
		if len(e.groups) > 0 || im.params.Options.DryRun {
			return groups.ListGroups(ctx, on)
		}
	}
	return nil, nil
}

// keep writes what a plan of a step decided, and records it.
func (im *imports) keep(ctx context.Context, w *db.Tx, p *plan) error {
	s := step{w: w, plan: p, batch: &Batch{ImportID: im.params.ImportID, Groups: p.groups.made}}
	if p.groups.err != nil {
		return p.groups.err
	}
	for _, g := range p.groups.made {
		s.touch(history.Group, g.ID, nil, g)
	}
	for _, who := range p.order {
		if err := s.person(who); err != nil {
			return err
		}
	}
	for _, who := range p.order {
		s.joined(who)
	}
	for _, who := range p.order {
		if err := s.notes(who); err != nil {
			return err
		}
	}
	return im.finish(ctx, w, s.batch, s.effects)
}

// finish keeps a batch and records its effects, which are encoded as they are on
// file then.
func (im *imports) finish(ctx context.Context, w *db.Tx, b *Batch, effects []history.Touch) error {
	if im.into != nil { // nothing else is imported into it, and nothing undone
		b.Keys = nil
		return KeepBatch(ctx, w, b)
	}
	if err := KeepBatch(ctx, w, b); err != nil || len(effects) == 0 {
		return err
	}
	_, err := history.Record(ctx, w, history.Draft{Summary: "Imported " + im.params.Filename, Effects: effects, ImportID: im.params.ImportID})
	return err
}

// step makes rows of a plan.
type step struct {
	w       *db.Tx
	plan    *plan
	batch   *Batch
	effects []history.Touch
}

func (s *step) touch(kind, objectID string, before, after any) {
	s.effects = append(s.effects, history.Touch{Kind: kind, ID: objectID, Before: before, After: after})
}

// person plans the row of somebody new or changed, and the keys of both.
func (s *step) person(who *person) (err error) {
	c := who.after
	switch {
	case who.before == nil:
		if c.ID == "" {
			if c.ID, err = s.w.NewID(id.Connection); err != nil {
				return err
			}
		}
		if c.CreatedAt.IsZero() {
			c.CreatedAt = s.w.Now()
		}
		if c.UpdatedAt.IsZero() {
			c.UpdatedAt = c.CreatedAt
		}
		if who.archived {
			c.ArchivedAt = s.w.Now() // the days until the purge begin anew
		}
		s.batch.Created = append(s.batch.Created, c)
		s.touch(history.Connection, c.ID, nil, c)
	case who.changed:
		c.Version++
		c.UpdatedAt = s.w.Now()
		s.batch.Replaced = append(s.batch.Replaced, c)
		s.touch(history.Connection, c.ID, who.before, c)
	}
	for _, key := range who.keys {
		s.batch.Keys = append(s.batch.Keys, Key{Key: key, ConnectionID: c.ID, Added: who.before == nil})
	}
	return nil
}

func (s *step) joined(who *person) {
	if len(who.groups) == len(who.groupsBefore) {
		return
	}
	groups := s.plan.groups
	for _, name := range who.groups[len(who.groupsBefore):] {
		s.batch.Joined = append(s.batch.Joined, Link{ObjectID: groups.byFolded(name), ConnectionID: who.after.ID})
	}
	s.touch(history.Membership, who.after.ID, people.Groups{Groups: groups.ids(who.groupsBefore)}, people.Groups{Groups: groups.ids(who.groups)})
}

func (s *step) notes(who *person) (err error) {
	for _, body := range who.newNotes {
		n := &timeline.Note{Body: body, Version: 1, CreatedAt: s.w.Now(), UpdatedAt: s.w.Now(), ConnectionIDs: []string{who.after.ID}}
		if n.ID, err = s.w.NewID(id.Note); err != nil {
			return err
		}
		s.batch.Notes = append(s.batch.Notes, n)
		s.touch(history.Note, n.ID, nil, n)
	}
	return nil
}
