package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// sourceKey is the row behind a key by which a source knows somebody.
type sourceKey struct {
	TenantID     tenant.ID `bun:",pk"`
	Key          string    `bun:",pk"`
	ConnectionID string
	ImportID     string
}

// KeepBatch implements importer.Writer.
func (u *Unit) KeepBatch(ctx context.Context, b *importer.Batch) error {
	for _, g := range b.Groups {
		g.TenantID = u.id
	}
	for _, r := range b.Relationships {
		r.TenantID = u.id
	}
	for _, r := range b.Reminders {
		r.TenantID = u.id
	}
	for _, keep := range []func() error{
		func() error { return u.insertAll(ctx, &b.Groups, len(b.Groups)) },
		func() error { return u.insertPeople(ctx, b.Created) },
		func() error { return u.replacePeople(ctx, b.Replaced) },
		func() error { return u.insertJoined(ctx, b.Joined) },
		func() error { return u.insertAll(ctx, &b.Relationships, len(b.Relationships)) },
		func() error { return u.insertAll(ctx, &b.Reminders, len(b.Reminders)) },
		func() error { return u.insertNotes(ctx, b) },
		func() error { return u.insertInteractions(ctx, b) },
		func() error { return u.insertKeys(ctx, b) },
	} {
		if err := keep(); err != nil {
			return fmt.Errorf("keep what was imported: %w", err)
		}
	}
	for _, r := range b.Relationships {
		u.touch(r.FromID, r.ToID)
	}
	return nil
}

// insertPeople keeps new people who have ids, with their lists.
func (u *Unit) insertPeople(ctx context.Context, people []*connection.Connection) error {
	if len(people) == 0 {
		return nil
	}
	for _, c := range people {
		c.TenantID, c.DataVersion, c.FoldedName = u.id, u.version, foldedName(c)
	}
	if _, err := u.db.NewInsert().Model(&people).Exec(ctx); err != nil {
		return err
	}
	return u.insertListsOf(ctx, people)
}

// replacePeople keeps people in place of their versions before. It fails with
// fault.Conflict when one is not on file any more: nobody who was deleted comes back.
func (u *Unit) replacePeople(ctx context.Context, people []*connection.Connection) error {
	if len(people) == 0 {
		return nil
	}
	who := make([]string, len(people))
	for i, c := range people {
		c.TenantID, c.DataVersion, c.FoldedName = u.id, u.version, foldedName(c)
		who[i] = c.ID
	}
	if missing, err := u.missingConnection(ctx, who); err != nil {
		return err
	} else if missing != "" {
		return fault.New(fault.Conflict, "%s is not on file any more", missing)
	}
	insert := u.db.NewInsert().Model(&people).On("CONFLICT (tenant_id, id) DO UPDATE")
	for _, column := range []string{
		"name", "nickname", "location", "bio", "starred", "met_on", "met_how", "source", "cadence_days", "snoozed_until",
		"last_interaction_at", "archived_at", "merged_into", "version", "data_version", "folded_name", "updated_at",
	} {
		insert = insert.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	if _, err := insert.Exec(ctx); err != nil {
		return err
	}
	for _, model := range []any{
		(*connection.Handle)(nil), (*connection.Position)(nil), (*connectionTag)(nil), (*connection.ImportantDate)(nil),
	} {
		if err := u.delete(ctx, model, "connection_id IN (?)", bun.List(who)); err != nil {
			return err
		}
	}
	return u.insertListsOf(ctx, people)
}

// insertListsOf is insertLists for many people: one statement for each list.
func (u *Unit) insertListsOf(ctx context.Context, people []*connection.Connection) error {
	var handles []*connection.Handle
	var dates []*connection.ImportantDate
	for _, c := range people {
		for i := range c.Handles {
			h := &c.Handles[i]
			h.TenantID, h.ConnectionID, h.Ordinal = u.id, c.ID, i
			if err := u.nameRow(&h.ID, id.Handle); err != nil {
				return err
			}
			handles = append(handles, h)
		}
		for i := range c.Dates {
			d := &c.Dates[i]
			d.TenantID, d.ConnectionID, d.Ordinal = u.id, c.ID, i
			if err := u.nameRow(&d.ID, id.Date); err != nil {
				return err
			}
			dates = append(dates, d)
		}
	}
	if err := u.insertAll(ctx, &handles, len(handles)); err != nil {
		return err
	}
	if err := u.insertAll(ctx, &dates, len(dates)); err != nil {
		return err
	}
	if err := u.insertPositionsOf(ctx, people); err != nil {
		return err
	}
	return u.insertTagsOf(ctx, people)
}

func (u *Unit) insertPositionsOf(ctx context.Context, people []*connection.Connection) error {
	var all []connection.Position
	for _, c := range people {
		all = append(all, c.Positions...)
	}
	if len(all) == 0 {
		return nil
	}
	organizations, err := u.organizations(ctx, all)
	if err != nil {
		return err
	}
	var rows []*connection.Position
	for _, c := range people {
		// As they are read: current ones first.
		slices.SortStableFunc(c.Positions, func(a, b connection.Position) int { return cmp.Compare(past(a), past(b)) })
		for i := range c.Positions {
			p := &c.Positions[i]
			p.TenantID, p.ConnectionID, p.Ordinal, p.OrganizationID = u.id, c.ID, i, ""
			if o, ok := organizations[connection.NormalOrganization(p.Organization)]; ok {
				p.OrganizationID, p.Organization = o.ID, o.Name
			}
			if err := u.nameRow(&p.ID, id.Position); err != nil {
				return err
			}
			rows = append(rows, p)
		}
	}
	return u.insertAll(ctx, &rows, len(rows))
}

func past(p connection.Position) int {
	if p.Current {
		return 0
	}
	return 1
}

func (u *Unit) insertTagsOf(ctx context.Context, people []*connection.Connection) error {
	var names []string
	for _, c := range people {
		names = append(names, c.Tags...)
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := u.tags(ctx, distinct(names))
	if err != nil {
		return err
	}
	byName := make(map[string]tag, len(rows))
	for _, row := range rows {
		byName[row.FoldedName] = row
	}
	var links []connectionTag
	for _, c := range people {
		held := make([]tag, len(c.Tags))
		for i, name := range c.Tags {
			held[i] = byName[text.Fold(name)]
			links = append(links, connectionTag{TenantID: u.id, ConnectionID: c.ID, TagID: held[i].ID})
		}
		slices.SortFunc(held, func(a, b tag) int { return cmp.Compare(a.FoldedName, b.FoldedName) })
		for i := range held {
			c.Tags[i] = held[i].Name
		}
	}
	return u.insertAll(ctx, &links, len(links))
}

func (u *Unit) insertJoined(ctx context.Context, joined []importer.Link) error {
	links := make([]groupConnection, len(joined))
	for i, l := range joined {
		links[i] = groupConnection{TenantID: u.id, GroupID: l.ObjectID, ConnectionID: l.ConnectionID}
		u.touch(l.ConnectionID)
	}
	return u.insertAll(ctx, &links, len(links))
}

func (u *Unit) insertNotes(ctx context.Context, b *importer.Batch) error {
	var links []noteConnection
	link := func(noteID string, people ...string) {
		u.touch(people...)
		for _, c := range people {
			links = append(links, noteConnection{TenantID: u.id, ConnectionID: c, NoteID: noteID})
		}
	}
	for _, n := range b.Notes {
		n.TenantID = u.id
		link(n.ID, n.ConnectionIDs...)
	}
	for _, l := range b.NotesAbout {
		link(l.ObjectID, l.ConnectionID)
	}
	if err := u.insertAll(ctx, &b.Notes, len(b.Notes)); err != nil {
		return err
	}
	return u.insertAll(ctx, &links, len(links))
}

func (u *Unit) insertInteractions(ctx context.Context, b *importer.Batch) error {
	var links []interactionConnection
	met := map[string]bool{}
	link := func(interactionID string, people ...string) {
		for _, c := range people {
			links = append(links, interactionConnection{TenantID: u.id, ConnectionID: c, InteractionID: interactionID})
			met[c] = true
		}
	}
	for _, i := range b.Interactions {
		i.TenantID = u.id
		link(i.ID, i.ConnectionIDs...)
	}
	for _, l := range b.MetBy {
		link(l.ObjectID, l.ConnectionID)
	}
	if err := u.insertAll(ctx, &b.Interactions, len(b.Interactions)); err != nil {
		return err
	}
	if err := u.insertAll(ctx, &links, len(links)); err != nil {
		return err
	}
	people := make([]string, 0, len(met))
	for c := range met {
		people = append(people, c)
	}
	return u.countContacts(ctx, people...)
}

// insertKeys keeps keys. One that was somebody's who is put away by now is given on.
func (u *Unit) insertKeys(ctx context.Context, b *importer.Batch) error {
	if len(b.Keys) == 0 {
		return nil
	}
	rows := make([]sourceKey, len(b.Keys))
	for i, k := range b.Keys {
		rows[i] = sourceKey{TenantID: u.id, Key: k.Key, ConnectionID: k.ConnectionID}
		if k.Added {
			rows[i].ImportID = b.ImportID
		}
	}
	_, err := u.db.NewInsert().Model(&rows).On("CONFLICT (tenant_id, key) DO UPDATE").
		Set("connection_id = EXCLUDED.connection_id").Set("import_id = EXCLUDED.import_id").Exec(ctx)
	return err
}
