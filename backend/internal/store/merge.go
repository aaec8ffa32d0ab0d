package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// The parts of states that a merge touches.
type (
	about  struct{ ConnectionIDs []string }
	whose  struct{ ConnectionID string }
	mover  func(ctx context.Context, from, into string) ([]change.Touch, error)
	linked struct{ table, column, kind string }
)

// MoveBelongings implements connection.Merger.
func (u *Unit) MoveBelongings(ctx context.Context, from, into string) (effects []change.Touch, moved int, err error) {
	for _, move := range []mover{
		u.mover(linked{"note_connections", "note_id", timeline.NoteObject}),
		u.mover(linked{"interaction_connections", "interaction_id", timeline.InteractionObject}),
		u.moveReminders, u.moveRelationships,
	} {
		done, err := move(ctx, from, into)
		if err != nil {
			return nil, 0, fmt.Errorf("move belongings: %w", err)
		}
		effects, moved = append(effects, done...), moved+len(done)
	}
	done, err := u.moveMemberships(ctx, from, into)
	if err != nil {
		return nil, 0, fmt.Errorf("move belongings: %w", err)
	}
	u.touch(from, into)
	return append(effects, done...), moved, nil
}

// mover moves the entries of one kind that a connection takes part in.
func (u *Unit) mover(l linked) mover {
	return func(ctx context.Context, from, into string) ([]change.Touch, error) {
		table, column := bun.Ident(l.table), bun.Ident(l.column)
		var entries []string
		err := u.db.NewRaw("SELECT ? FROM ? WHERE tenant_id = ? AND connection_id = ? ORDER BY 1", column, table, u.id, from).Scan(ctx, &entries)
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		before, err := u.people(ctx, l.table, l.column, entries)
		if err != nil {
			return nil, err
		}
		_, err = u.db.NewRaw("DELETE FROM ? WHERE tenant_id = ? AND connection_id = ? AND ? IN (SELECT ? FROM ? WHERE tenant_id = ? AND connection_id = ?)",
			table, u.id, from, column, column, table, u.id, into).Exec(ctx)
		if err != nil {
			return nil, err
		}
		_, err = u.db.NewRaw("UPDATE ? SET connection_id = ? WHERE tenant_id = ? AND connection_id = ?", table, into, u.id, from).Exec(ctx)
		if err != nil {
			return nil, err
		}
		after, err := u.people(ctx, l.table, l.column, entries)
		touches := make([]change.Touch, len(entries))
		for i, id := range entries {
			touches[i] = change.Touch{Kind: l.kind, ID: id, Before: about{before[id]}, After: about{after[id]}}
		}
		return touches, err
	}
}

func (u *Unit) moveReminders(ctx context.Context, from, into string) ([]change.Touch, error) {
	var moved []string
	err := u.db.NewRaw("UPDATE reminders SET connection_id = ?, version = version + 1 WHERE tenant_id = ? AND connection_id = ? RETURNING id",
		into, u.id, from).Scan(ctx, &moved)
	slices.Sort(moved)
	touches := make([]change.Touch, len(moved))
	for i, id := range moved {
		touches[i] = change.Touch{Kind: reminder.Object, ID: id, Before: whose{from}, After: whose{into}}
	}
	return touches, err
}

// moveRelationships moves relationships one by one. One between the two, and one
// that the other has already, goes.
func (u *Unit) moveRelationships(ctx context.Context, from, into string) ([]change.Touch, error) {
	var rows []connection.Relationship
	if err := u.from(&rows).Where("from_id = ? OR to_id = ?", from, from).Order("id").Scan(ctx); err != nil {
		return nil, err
	}
	var touches []change.Touch
	for _, before := range rows {
		after := before
		if after.FromID == from {
			after.FromID = into
		}
		if after.ToID == from {
			after.ToID = into
		}
		after = after.Normal()
		if err := u.DeleteRelationship(ctx, before.ID); err != nil {
			return nil, err
		}
		held, err := u.ListRelationshipsBetween(ctx, after.FromID, after.ToID)
		if err != nil {
			return nil, err
		}
		touch := change.Touch{Kind: connection.RelationshipKind, ID: before.ID, Before: before}
		known := slices.ContainsFunc(held, func(r connection.Relationship) bool { return r.FromID == after.FromID && r.Type == after.Type })
		if after.FromID != after.ToID && !known {
			touch.After = after
			if err := u.InsertRelationship(ctx, &after); err != nil {
				return nil, err
			}
		}
		touches = append(touches, touch)
	}
	return touches, nil
}

func (u *Unit) moveMemberships(ctx context.Context, from, into string) ([]change.Touch, error) {
	theirs, err := u.groupsOf(ctx, from)
	if err != nil || len(theirs) == 0 {
		return nil, err
	}
	own, err := u.groupsOf(ctx, into)
	if err != nil {
		return nil, err
	}
	both := slices.Concat(own, theirs)
	slices.Sort(both)
	both = slices.Compact(both)
	if err := errors.Join(u.setGroups(ctx, from, nil), u.setGroups(ctx, into, both)); err != nil {
		return nil, err
	}
	return []change.Touch{
		{Kind: organize.MembershipObject, ID: from, Before: organize.Groups{Groups: theirs}, After: organize.Groups{Groups: []string{}}},
		{Kind: organize.MembershipObject, ID: into, Before: organize.Groups{Groups: own}, After: organize.Groups{Groups: both}},
	}, nil
}
