package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// DeleteConnection implements connection.Deleter. The effects begin with what needs
// the people to be there and end with the people: an undo goes the other way.
func (u *Unit) DeleteConnection(ctx context.Context, id string) (connection.Removal, error) {
	ids, err := u.mergedInto(ctx, id)
	if err != nil {
		return connection.Removal{}, err
	}
	var effects []change.Touch
	for _, record := range []func(context.Context, []string) ([]change.Touch, error){
		u.recordNotes, u.recordInteractions, u.recordReminders, u.recordRelationships, u.recordMemberships, u.recordPeople,
	} {
		done, err := record(ctx, ids)
		if err != nil {
			return connection.Removal{}, fmt.Errorf("record deletion: %w", err)
		}
		effects = append(effects, done...)
	}
	var sum SweepResult
	u.removed = true
	err = removePeople(ctx, u.db, u.id, ids, &sum)
	return connection.Removal{Effects: effects, Notes: int(sum.Notes), Interactions: int(sum.Interactions)}, err
}

// mergedInto returns a connection, then those merged into it, then those merged into
// these, and so on.
func (q scope) mergedInto(ctx context.Context, id string) ([]string, error) {
	ids := []string{id}
	for next := ids; len(next) > 0; {
		var found []string
		err := q.db.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND merged_into IN (?) AND id NOT IN (?) ORDER BY id",
			q.id, bun.List(next), bun.List(ids)).Scan(ctx, &found)
		if err != nil {
			return nil, err
		}
		ids, next = append(ids, found...), found
	}
	return ids, nil
}

func (u *Unit) recordNotes(ctx context.Context, people []string) ([]change.Touch, error) {
	var rows []timeline.Note
	err := u.from(&rows).Where("id IN (?)", u.linkedTo("note_connections", "note_id", people)).Order("id").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	err = u.fillNotes(ctx, rows)
	touches := make([]change.Touch, len(rows))
	for i, n := range rows {
		touches[i] = withdrawal(timeline.NoteObject, n.ID, n, n.ConnectionIDs, people)
	}
	return touches, err
}

func (u *Unit) recordInteractions(ctx context.Context, people []string) ([]change.Touch, error) {
	var rows []timeline.Interaction
	err := u.from(&rows).Where("id IN (?)", u.linkedTo("interaction_connections", "interaction_id", people)).Order("id").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	err = u.fillInteractions(ctx, rows)
	touches := make([]change.Touch, len(rows))
	for i, met := range rows {
		touches[i] = withdrawal(timeline.InteractionObject, met.ID, met, met.ConnectionIDs, people)
	}
	return touches, err
}

// linkedTo selects the ids of the entries that people take part in.
func (u *Unit) linkedTo(table, column string, people []string) *bun.RawQuery {
	return u.db.NewRaw("SELECT ? FROM ? WHERE tenant_id = ? AND connection_id IN (?)", bun.Ident(column), bun.Ident(table), u.id, bun.List(people))
}

// withdrawal is what becomes of an entry when people are taken out of it: it goes
// unless it is about others too.
func withdrawal(kind, id string, whole any, ids, people []string) change.Touch {
	left := slices.DeleteFunc(slices.Clone(ids), func(one string) bool { return slices.Contains(people, one) })
	if len(left) == 0 {
		return change.Touch{Kind: kind, ID: id, Before: whole}
	}
	return change.Touch{Kind: kind, ID: id, Before: about{ids}, After: about{left}}
}

func (u *Unit) recordReminders(ctx context.Context, people []string) ([]change.Touch, error) {
	var rows []reminder.Reminder
	err := u.from(&rows).Where("connection_id IN (?)", bun.List(people)).Order("id").Scan(ctx)
	return removals(reminder.Object, rows, func(r reminder.Reminder) string { return r.ID }), err
}

func (u *Unit) recordRelationships(ctx context.Context, people []string) ([]change.Touch, error) {
	var rows []connection.Relationship
	err := u.from(&rows).Where("from_id IN (?) OR to_id IN (?)", bun.List(people), bun.List(people)).Order("id").Scan(ctx)
	return removals(connection.RelationshipKind, rows, func(r connection.Relationship) string { return r.ID }), err
}

func (u *Unit) recordMemberships(ctx context.Context, people []string) ([]change.Touch, error) {
	var touches []change.Touch
	for _, id := range people {
		groups, err := u.groupsOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(groups) > 0 {
			touches = append(touches, change.Touch{
				Kind: organize.MembershipObject, ID: id, Before: organize.Groups{Groups: groups}, After: organize.Groups{Groups: []string{}},
			})
		}
	}
	return touches, nil
}

// recordPeople records the removal of people. A person who was merged into another
// comes first: undo goes backwards, so it restores the other one before.
func (u *Unit) recordPeople(ctx context.Context, people []string) ([]change.Touch, error) {
	rows, err := u.anybody(ctx, people)
	slices.SortFunc(rows, func(a, b connection.Connection) int {
		return cmp.Compare(slices.Index(people, b.ID), slices.Index(people, a.ID))
	})
	return removals(connection.ObjectKind, rows, func(c connection.Connection) string { return c.ID }), err
}

// removals are the effects of removing objects.
func removals[T any](kind string, objects []T, id func(T) string) []change.Touch {
	touches := make([]change.Touch, len(objects))
	for i, o := range objects {
		touches[i] = change.Touch{Kind: kind, ID: id(o), Before: o}
	}
	return touches
}
