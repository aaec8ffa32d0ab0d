package importer

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// KeepBatch keeps rows, with as many statements as there are tables. Organisations
// and tags that are not on file are made, and spelled in the batch as they are on
// file.
func KeepBatch(ctx context.Context, tx *db.Tx, b *Batch) error {
	for _, g := range b.Groups {
		g.TenantID = tx.TenantID()
	}
	for _, r := range b.Relationships {
		r.TenantID = tx.TenantID()
	}
	for _, r := range b.Reminders {
		r.TenantID = tx.TenantID()
	}
	for _, keep := range []func() error{
		func() error { return tx.InsertAll(ctx, &b.Groups, len(b.Groups)) },
		func() error { return people.InsertPeople(ctx, tx, b.Created) },
		func() error { return people.ReplacePeople(ctx, tx, b.Replaced) },
		func() error { return insertJoined(ctx, tx, b.Joined) },
		func() error { return tx.InsertAll(ctx, &b.Relationships, len(b.Relationships)) },
		func() error { return tx.InsertAll(ctx, &b.Reminders, len(b.Reminders)) },
		func() error { return insertNotes(ctx, tx, b) },
		func() error { return insertInteractions(ctx, tx, b) },
		func() error { return insertKeys(ctx, tx, b) },
	} {
		if err := keep(); err != nil {
			return fmt.Errorf("keep what was imported: %w", err)
		}
	}
	for _, r := range b.Relationships {
		tx.MarkDirty(r.FromID, r.ToID)
	}
	return nil
}

func insertJoined(ctx context.Context, tx *db.Tx, joined []Link) error {
	links := make([]people.GroupConnection, len(joined))
	for i, l := range joined {
		links[i] = people.GroupConnection{TenantID: tx.TenantID(), GroupID: l.ObjectID, ConnectionID: l.ConnectionID}
		tx.MarkDirty(l.ConnectionID)
	}
	return tx.InsertAll(ctx, &links, len(links))
}

func insertNotes(ctx context.Context, tx *db.Tx, b *Batch) error {
	var links []timeline.NoteConnection
	link := func(noteID string, people ...string) {
		tx.MarkDirty(people...)
		for _, c := range people {
			links = append(links, timeline.NoteConnection{TenantID: tx.TenantID(), ConnectionID: c, NoteID: noteID})
		}
	}
	for _, n := range b.Notes {
		n.TenantID = tx.TenantID()
		link(n.ID, n.ConnectionIDs...)
	}
	for _, l := range b.NotesAbout {
		link(l.ObjectID, l.ConnectionID)
	}
	if err := tx.InsertAll(ctx, &b.Notes, len(b.Notes)); err != nil {
		return err
	}
	return tx.InsertAll(ctx, &links, len(links))
}

func insertInteractions(ctx context.Context, tx *db.Tx, b *Batch) error {
	var links []timeline.InteractionConnection
	met := map[string]bool{}
	link := func(interactionID string, people ...string) {
		for _, c := range people {
			links = append(links, timeline.InteractionConnection{TenantID: tx.TenantID(), ConnectionID: c, InteractionID: interactionID})
			met[c] = true
		}
	}
	for _, i := range b.Interactions {
		i.TenantID = tx.TenantID()
		link(i.ID, i.ConnectionIDs...)
	}
	for _, l := range b.MetBy {
		link(l.ObjectID, l.ConnectionID)
	}
	if err := tx.InsertAll(ctx, &b.Interactions, len(b.Interactions)); err != nil {
		return err
	}
	if err := tx.InsertAll(ctx, &links, len(links)); err != nil {
		return err
	}
	persons := make([]string, 0, len(met))
	for c := range met {
		persons = append(persons, c)
	}
	return people.CountContacts(ctx, tx, persons...)
}

// insertKeys keeps keys. One that was somebody's who is put away by now is given on.
func insertKeys(ctx context.Context, tx *db.Tx, b *Batch) error {
	if len(b.Keys) == 0 {
		return nil
	}
	rows := make([]people.SourceKeyRow, len(b.Keys))
	for i, k := range b.Keys {
		rows[i] = people.SourceKeyRow{TenantID: tx.TenantID(), Key: k.Key, ConnectionID: k.ConnectionID}
		if k.Added {
			rows[i].ImportID = b.ImportID
		}
	}
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, key) DO UPDATE").
		Set("connection_id = EXCLUDED.connection_id").Set("import_id = EXCLUDED.import_id").Exec(ctx)
	return err
}
