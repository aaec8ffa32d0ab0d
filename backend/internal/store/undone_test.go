package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// actReads drives what a Tenant reads for merging and relating people.
func actReads(data *store.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListDuplicateCandidates": func(ctx context.Context, _ victim) (any, error) { return data.ListDuplicateCandidates(ctx) },
		"ListRelations":           func(ctx context.Context, v victim) (any, error) { return data.ListRelations(ctx, v.connection, 50) },
		"ListNames":               func(ctx context.Context, v victim) (any, error) { return data.ListNames(ctx, []string{v.connection}) },
		"EndDeletion": func(ctx context.Context, v victim) (any, error) {
			return nil, data.EndDeletion(ctx, "page", v.deletion)
		},
		"EmptyBin": func(ctx context.Context, v victim) (any, error) {
			ended, err := data.EmptyBin(ctx, "page", v.deletion)
			if ended > 0 {
				return nil, errors.New("the victim's " + secret + " was deleted for good")
			}
			return nil, err
		},
		"UndoChange": func(ctx context.Context, v victim) (any, error) {
			dry, dryErr := data.UndoChange(ctx, "page", v.change, true)
			got, err := data.UndoChange(ctx, "page", v.change, false)
			return []any{dry, dryErr, got}, err
		},
	}
}

// actWrites drives what a Unit does to archive, delete, merge and relate people,
// and to undo.
func actWrites(u *store.Unit) map[string]attempt {
	return map[string]attempt{
		"GetChange": func(ctx context.Context, v victim) (any, error) { return u.GetChange(ctx, v.change) },
		"SetUndoneBy": func(ctx context.Context, v victim) (any, error) {
			return nil, u.SetUndoneBy(ctx, v.change, "chg_stolen")
		},
		"Restorers": func(ctx context.Context, v victim) (any, error) { return restoreAll(ctx, u, v) },
		"Attempt": func(ctx context.Context, v victim) (any, error) {
			return change.Undo(ctx, u, v.change, false)
		},
		"ListConnections": func(ctx context.Context, v victim) (any, error) {
			return u.ListConnections(ctx, []string{v.connection})
		},
		"SetArchived": func(ctx context.Context, v victim) (any, error) {
			return nil, u.SetArchived(ctx, []string{v.connection}, u.Now())
		},
		"DeleteConnection": func(ctx context.Context, v victim) (any, error) {
			gone, err := u.DeleteConnection(ctx, v.connection)
			if gone.Notes+gone.Interactions > 0 {
				return nil, errors.New("the victim's " + secret + " was deleted")
			}
			return gone, err
		},
		"MoveBelongings": func(ctx context.Context, v victim) (any, error) {
			touches, moved, err := u.MoveBelongings(ctx, v.connection, v.relative)
			if moved > 0 {
				return nil, errors.New("the victim's " + secret + " was moved")
			}
			return touches, err
		},
		"ListRelations": func(ctx context.Context, v victim) (any, error) { return u.ListRelations(ctx, v.connection, 50) },
		"ListRelationshipsBetween": func(ctx context.Context, v victim) (any, error) {
			held, err := u.ListRelationshipsBetween(ctx, v.connection, v.relative)
			if len(held) > 0 {
				return nil, errors.New("the victim's " + secret + " relation shows")
			}
			return held, err
		},
		"InsertRelationship": func(ctx context.Context, v victim) (any, error) {
			return nil, u.InsertRelationship(ctx, &connection.Relationship{TenantID: v.tenant, FromID: v.connection, ToID: v.relative, Type: "other"})
		},
		"DeleteRelationship": func(ctx context.Context, v victim) (any, error) {
			return nil, u.DeleteRelationship(ctx, v.relationship)
		},
	}
}

// restoreAll puts the victim's objects into states of the attacker's making.
func restoreAll(ctx context.Context, u *store.Unit, v victim) (any, error) {
	var seen []any
	var errs []error
	day := time.Now().Format(time.DateOnly)
	for kind, states := range map[string]map[string]any{
		connection.ObjectKind:       {v.connection: connection.Connection{Name: "stolen", Version: 1, MergedInto: v.relative}},
		connection.RelationshipKind: {v.relationship: connection.Relationship{FromID: v.connection, ToID: v.relative, Type: "friend"}},
		timeline.NoteObject:         {v.note: timeline.Note{Body: "stolen", ConnectionIDs: []string{v.connection}}},
		timeline.InteractionObject:  {v.interaction: timeline.Interaction{Kind: "call", OccurredAt: time.Now(), ConnectionIDs: []string{v.connection}}},
		organize.GroupObject:        {v.group: organize.Group{Name: fmt.Sprint("stolen", time.Now())}},
		organize.MembershipObject:   {v.connection: organize.Groups{Groups: []string{v.group}}},
		reminder.Object:             {v.reminder: reminder.Reminder{Text: "stolen", DueOn: day, StartsOn: day, ConnectionID: v.connection}},
	} {
		restorer := u.Restorers()[kind]
		for id, state := range states {
			object, err := restorer.Current(ctx, id)
			seen, errs = append(seen, object), append(errs, err)
			data, err := json.Marshal(state)
			if err != nil {
				return nil, err
			}
			// Each in an attempt of its own: a refusal must not hide the next one.
			for _, to := range []json.RawMessage{data, json.RawMessage("null")} {
				errs = append(errs, u.Attempt(ctx, func(ctx context.Context) (bool, error) {
					err := restorer.Restore(ctx, id, to)
					return err == nil, err
				}))
			}
		}
	}
	return seen, errors.Join(errs...)
}
