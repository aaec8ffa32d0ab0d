package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// How many rows of a table an export reads at a time: fewer changes, since that of
// a step of an import holds some hundred people.
const (
	exportPage        = 500
	exportPageChanges = 20
)

// Export hands everything that the tenant keeps to each, one object at a time:
// connections (archived ones too), organisations, groups, relationships, reminders,
// notes, interactions, changes, each in the order of their ids. It holds no transaction while each works, so
// that a slow reader keeps nobody waiting: what is written meanwhile may or may
// not be in it, but every object is whole. An error of each ends the export.
// Jobs and the files that wait for them end by themselves and are left out.
func (t *Tenant) Export(ctx context.Context, each func(object any) error) error {
	ctx, q := t.read(ctx)
	for _, pages := range []func() error{
		func() error { return exportTable(ctx, q, exportPage, q.fillConnections, connectionID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, organizationID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, groupID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, relationshipID, each) },
		func() error { return exportTable(ctx, q, exportPage, nil, reminderID, each) },
		func() error { return exportTable(ctx, q, exportPage, q.fillNotes, noteID, each) },
		func() error { return exportTable(ctx, q, exportPage, q.fillInteractions, interactionID, each) },
		func() error { return exportTable(ctx, q, exportPageChanges, nil, changeID, each) },
	} {
		if err := pages(); err != nil {
			return fmt.Errorf("export: %w", translate(err))
		}
	}
	return nil
}

func connectionID(c *connection.Connection) string     { return c.ID }
func organizationID(o *connection.Organization) string { return o.ID }
func groupID(g *organize.Group) string                 { return g.ID }
func relationshipID(r *connection.Relationship) string { return r.ID }
func reminderID(r *reminder.Reminder) string           { return r.ID }
func noteID(n *timeline.Note) string                   { return n.ID }
func interactionID(i *timeline.Interaction) string     { return i.ID }
func changeID(c *change.Change) string                 { return c.ID }

// exportTable reads one table page by page, has each page filled with the lists
// that its rows hold, and hands the rows on.
func exportTable[T any](
	ctx context.Context, q scope, page int, fill func(context.Context, []T) error, id func(*T) string, each func(any) error,
) error {
	for after := ""; ; {
		var rows []T
		if err := q.from(&rows).Where("id > ?", after).Order("id").Limit(int64(page)).Scan(ctx); err != nil {
			return err
		}
		if fill != nil && len(rows) > 0 {
			if err := fill(ctx, rows); err != nil {
				return err
			}
		}
		for i := range rows {
			after = id(&rows[i])
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// fillConnections adds the handles, positions, tags, dates and names of groups, each
// with one statement.
func (q scope) fillConnections(ctx context.Context, people []connection.Connection) error {
	byID := make(map[string]*connection.Connection, len(people))
	for i := range people {
		byID[people[i].ID] = &people[i]
	}
	in := bun.List(ids(people, func(c connection.Connection) string { return c.ID }))
	var handles []connection.Handle
	if err := q.from(&handles).Where("connection_id IN (?)", in).Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return err
	}
	for _, h := range handles {
		byID[h.ConnectionID].Handles = append(byID[h.ConnectionID].Handles, h)
	}
	var positions []connection.Position
	if err := q.positions(&positions).Where("?TableAlias.connection_id IN (?)", in).Scan(ctx); err != nil {
		return err
	}
	for _, p := range positions {
		byID[p.ConnectionID].Positions = append(byID[p.ConnectionID].Positions, p)
	}
	var tags []struct{ ConnectionID, Name string }
	err := q.db.NewRaw(`SELECT ct.connection_id, t.name FROM connection_tags ct JOIN tags t ON t.tenant_id = ct.tenant_id AND t.id = ct.tag_id
WHERE ct.tenant_id = ? AND ct.connection_id IN (?) ORDER BY ct.connection_id, t.folded_name`, q.id, in).Scan(ctx, &tags)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		byID[tag.ConnectionID].Tags = append(byID[tag.ConnectionID].Tags, tag.Name)
	}
	var dates []connection.ImportantDate
	if err := q.from(&dates).Where("connection_id IN (?)", in).Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return err
	}
	for _, d := range dates {
		byID[d.ConnectionID].Dates = append(byID[d.ConnectionID].Dates, d)
	}
	var groups []struct{ ConnectionID, Name string }
	err = q.db.NewRaw(`SELECT l.connection_id, g.name FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY l.connection_id, g.folded_name`, q.id, in).Scan(ctx, &groups)
	for _, g := range groups {
		byID[g.ConnectionID].Groups = append(byID[g.ConnectionID].Groups, g.Name)
	}
	return err
}

func (q scope) fillNotes(ctx context.Context, notes []timeline.Note) error {
	people, err := q.people(ctx, "note_connections", "note_id", ids(notes, func(n timeline.Note) string { return n.ID }))
	for i := range notes {
		notes[i].ConnectionIDs = people[notes[i].ID]
	}
	return err
}

func (q scope) fillInteractions(ctx context.Context, met []timeline.Interaction) error {
	people, err := q.people(ctx, "interaction_connections", "interaction_id", ids(met, func(i timeline.Interaction) string { return i.ID }))
	for i := range met {
		met[i].ConnectionIDs = people[met[i].ID]
	}
	return err
}
