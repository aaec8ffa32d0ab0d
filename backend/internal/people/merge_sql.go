package people

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// The parts of states that a merge changes.
type (
	about struct {
		ConnectionIDs []string `json:"connection_ids"`
	}
	whose struct {
		ConnectionID string `json:"connection_id"`
	}
	moveFunc func(ctx context.Context, from, into string) ([]history.EffectDraft, error)
	linked   struct{ table, column, kind string }
)

// MoveBelongings moves the entries of a connection to another one: notes, interactions,
// reminders, relationships and group memberships. It returns the effects, and how many
// entries of the first four kinds moved.
func MoveBelongings(ctx context.Context, tx *db.Tx, from, into string) (effects []history.EffectDraft, moved int, err error) {
	for _, move := range []moveFunc{
		mover(tx, linked{"note_connections", "note_id", history.Note}),
		mover(tx, linked{"interaction_connections", "interaction_id", history.Interaction}),
		func(ctx context.Context, a1 string, a2 string) ([]history.EffectDraft, error) {
			return moveReminders(ctx, tx, a1, a2)
		}, func(ctx context.Context, a1 string, a2 string) ([]history.EffectDraft, error) {
			return moveRelationships(ctx, tx, a1, a2)
		},
	} {
		done, err := move(ctx, from, into)
		if err != nil {
			return nil, 0, fmt.Errorf("move belongings: %w", err)
		}
		effects, moved = append(effects, done...), moved+len(done)
	}
	done, err := moveMemberships(ctx, tx, from, into)
	if err != nil {
		return nil, 0, fmt.Errorf("move belongings: %w", err)
	}
	tx.MarkDirty(from, into)
	return append(effects, done...), moved, nil
}

// mover moves the entries of one kind that a connection takes part in.
func mover(tx *db.Tx, l linked) moveFunc {
	return func(ctx context.Context, from, into string) ([]history.EffectDraft, error) {
		table, column := bun.Ident(l.table), bun.Ident(l.column)
		var entries []string
		err := tx.NewRaw("SELECT ? FROM ? WHERE tenant_id = ? AND connection_id = ? ORDER BY 1", column, table, tx.TenantID(), from).Scan(ctx, &entries)
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		before, err := People(ctx, tx, l.table, l.column, entries)
		if err != nil {
			return nil, err
		}
		_, err = tx.NewRaw("DELETE FROM ? WHERE tenant_id = ? AND connection_id = ? AND ? IN (SELECT ? FROM ? WHERE tenant_id = ? AND connection_id = ?)",
			table, tx.TenantID(), from, column, column, table, tx.TenantID(), into).Exec(ctx)
		if err != nil {
			return nil, err
		}
		_, err = tx.NewRaw("UPDATE ? SET connection_id = ? WHERE tenant_id = ? AND connection_id = ?", table, into, tx.TenantID(), from).Exec(ctx)
		if err != nil {
			return nil, err
		}
		after, err := People(ctx, tx, l.table, l.column, entries)
		effects := make([]history.EffectDraft, len(entries))
		for i, id := range entries {
			effects[i] = history.EffectDraft{Kind: l.kind, ID: id, Before: about{before[id]}, After: about{after[id]}}
		}
		return effects, err
	}
}

func moveReminders(ctx context.Context, tx *db.Tx, from, into string) ([]history.EffectDraft, error) {
	var moved []string
	err := tx.NewRaw("UPDATE reminders SET connection_id = ?, version = version + 1 WHERE tenant_id = ? AND connection_id = ? RETURNING id",
		into, tx.TenantID(), from).Scan(ctx, &moved)
	slices.Sort(moved)
	effects := make([]history.EffectDraft, len(moved))
	for i, id := range moved {
		effects[i] = history.EffectDraft{Kind: history.Reminder, ID: id, Before: whose{from}, After: whose{into}}
	}
	return effects, err
}

// moveRelationships moves relationships, with a fixed number of statements. It deletes a
// relationship between the two people, and one that the other person already has.
func moveRelationships(ctx context.Context, tx *db.Tx, from, into string) ([]history.EffectDraft, error) {
	var rows, held []Relationship
	if err := tx.From(&rows).Where("from_id = ? OR to_id = ?", from, from).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	if err := tx.From(&held).Where("(from_id = ? OR to_id = ?) AND from_id <> ? AND to_id <> ?", into, into, from, from).Scan(ctx); err != nil {
		return nil, err
	}
	type relation struct{ from, to, kind string }
	known := map[relation]bool{}
	for _, r := range held {
		known[relation{r.FromID, r.ToID, r.Type}] = true
	}
	var effects []history.EffectDraft
	var moved []Relationship
	for _, before := range rows {
		after := before
		if after.FromID == from {
			after.FromID = into
		}
		if after.ToID == from {
			after.ToID = into
		}
		after = after.Normal()
		effect := history.EffectDraft{Kind: history.Relationship, ID: before.ID, Before: before}
		if key := (relation{after.FromID, after.ToID, after.Type}); after.FromID != after.ToID && !known[key] {
			known[key] = true
			effect.After = after
			moved = append(moved, after)
		}
		effects = append(effects, effect)
	}
	ids := IDs(rows, func(r Relationship) string { return r.ID })
	if err := tx.Delete(ctx, (*Relationship)(nil), "id IN (?)", bun.List(ids)); err != nil {
		return nil, err
	}
	return effects, tx.InsertAll(ctx, &moved, len(moved))
}

func moveMemberships(ctx context.Context, tx *db.Tx, from, into string) ([]history.EffectDraft, error) {
	theirs, err := groupsOf(ctx, tx, from)
	if err != nil || len(theirs) == 0 {
		return nil, err
	}
	own, err := groupsOf(ctx, tx, into)
	if err != nil {
		return nil, err
	}
	both := slices.Concat(own, theirs)
	slices.Sort(both)
	both = slices.Compact(both)
	if err := errors.Join(setGroups(ctx, tx, from, nil), setGroups(ctx, tx, into, both)); err != nil {
		return nil, err
	}
	return []history.EffectDraft{
		{Kind: history.Membership, ID: from, Before: Groups{Groups: theirs}, After: Groups{Groups: []string{}}},
		{Kind: history.Membership, ID: into, Before: Groups{Groups: own}, After: Groups{Groups: both}},
	}, nil
}

// copyPhoto copies a person's photo to another person. Each person has their own copy, which stays
// when the other person is permanently deleted.
func copyPhoto(ctx context.Context, tx *db.Tx, from *Connection, into string) error {
	_, err := tx.NewRaw(`INSERT INTO photos (tenant_id, connection_id, id, size, media, data)
SELECT tenant_id, ?, id, size, media, data FROM photos WHERE tenant_id = ? AND connection_id = ? AND id = ?
ON CONFLICT (tenant_id, connection_id, id, size) DO UPDATE SET unused_at = NULL`, into, tx.TenantID(), from.ID, from.Photo).Exec(ctx)
	return err
}

// keepPhotos keeps the photos of people who are being restored. A photo that is no longer stored is
// left out: the rest of the person is restored.
func keepPhotos(ctx context.Context, tx *db.Tx, people map[string]*Connection) error {
	var ids []string
	for id, c := range people {
		if c.Photo != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var kept []struct{ ConnectionID, ID string }
	err := tx.NewRaw("UPDATE photos SET unused_at = NULL WHERE tenant_id = ? AND connection_id IN (?) RETURNING connection_id, id",
		tx.TenantID(), bun.List(ids)).Scan(ctx, &kept)
	if err != nil {
		return err
	}
	for _, id := range ids {
		c := people[id]
		if !slices.ContainsFunc(kept, func(k struct{ ConnectionID, ID string }) bool { return k.ConnectionID == id && k.ID == c.Photo }) {
			c.Photo = ""
		}
	}
	return nil
}
