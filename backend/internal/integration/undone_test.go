package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// actReads are the reads for merging and relating people.
func actReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListDuplicateCandidates": func(ctx context.Context, _ victim) (any, error) { return people.ListDuplicateCandidates(ctx, data) },
		"ListRelations": func(ctx context.Context, v victim) (any, error) {
			return people.ListRelations(ctx, data, []string{v.connection}, 50)
		},
		"ListNames": func(ctx context.Context, v victim) (any, error) {
			return people.ListNames(ctx, data, []string{v.connection})
		},
		"EndDeletion": func(ctx context.Context, v victim) (any, error) {
			return nil, history.EndDeletion(ctx, data, "page", v.deletion)
		},
		"EmptyBin": func(ctx context.Context, v victim) (any, error) {
			ended, err := history.EmptyBin(ctx, data, "page", v.deletion)
			if ended > 0 {
				return nil, errors.New("the victim's " + secret + " was deleted for good")
			}
			return nil, err
		},
		"UndoChange": func(ctx context.Context, v victim) (any, error) {
			dry, dryErr := history.UndoChange(ctx, data, kinds.All(), "page", v.change, true)
			got, err := history.UndoChange(ctx, data, kinds.All(), "page", v.change, false)
			return []any{dry, dryErr, got}, err
		},
	}
}

// actWrites are the writes that archive, delete, merge and relate people, and that undo.
func actWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"GetChange": func(ctx context.Context, v victim) (any, error) { return history.GetChange(ctx, u, v.change) },
		"SetUndoneBy": func(ctx context.Context, v victim) (any, error) {
			return nil, history.SetUndoneBy(ctx, u, v.change, "chg_stolen")
		},
		"Restorers": func(ctx context.Context, v victim) (any, error) { return restoreAll(ctx, u, v) },
		"Attempt": func(ctx context.Context, v victim) (any, error) {
			return history.Undo(ctx, u, kinds.All(), v.change, false)
		},
		"ListConnections": func(ctx context.Context, v victim) (any, error) {
			return people.ListConnections(ctx, u, []string{v.connection})
		},
		"SetArchived": func(ctx context.Context, v victim) (any, error) {
			return nil, people.SetArchived(ctx, u, []string{v.connection}, u.Now())
		},
		"DeleteConnections": func(ctx context.Context, v victim) (any, error) {
			gone, err := people.DeleteConnections(ctx, u, kinds.All(), v.connection)
			if gone.Notes+gone.Interactions > 0 {
				return nil, errors.New("the victim's " + secret + " was deleted")
			}
			return gone, err
		},
		"MoveBelongings": func(ctx context.Context, v victim) (any, error) {
			touches, moved, err := people.MoveBelongings(ctx, u, v.connection, v.relative)
			if moved > 0 {
				return nil, errors.New("the victim's " + secret + " was moved")
			}
			return touches, err
		},
		"ListRelations": func(ctx context.Context, v victim) (any, error) {
			return people.ListRelations(ctx, u, []string{v.connection}, 50)
		},
		"ListRelationshipsBetween": func(ctx context.Context, v victim) (any, error) {
			held, err := people.ListRelationshipsBetween(ctx, u, v.connection, v.relative)
			if len(held) > 0 {
				return nil, errors.New("the victim's " + secret + " relation shows")
			}
			return held, err
		},
		"InsertRelationship": func(ctx context.Context, v victim) (any, error) {
			return nil, people.InsertRelationship(ctx, u, &people.Relationship{TenantID: v.tenant, FromID: v.connection, ToID: v.relative, Type: "other"})
		},
		"DeleteRelationship": func(ctx context.Context, v victim) (any, error) {
			return nil, people.DeleteRelationship(ctx, u, v.relationship)
		},
	}
}

// restoreAll sets the victim's objects to states that the attacker made up.
func restoreAll(ctx context.Context, u *db.Tx, v victim) (any, error) {
	var seen []any
	var errs []error
	day := time.Now().Format(time.DateOnly)
	for kind, states := range map[string]map[string]any{
		history.Connection:   {v.connection: people.Connection{Name: "stolen", Version: 1, MergedInto: v.relative}},
		history.Relationship: {v.relationship: people.Relationship{FromID: v.connection, ToID: v.relative, Type: "friend"}},
		history.DistinctPair: {v.distinct: people.DistinctPair{FirstID: min(v.connection, v.relative), SecondID: max(v.connection, v.relative), SaidBy: "stolen"}},
		history.Note:         {v.note: timeline.Note{Body: "stolen", ConnectionIDs: []string{v.connection}}},
		history.Interaction:  {v.interaction: timeline.Interaction{Kind: "call", OccurredAt: time.Now(), ConnectionIDs: []string{v.connection}}},
		history.Organization: {v.organization: people.Organization{Name: "stolen", Notes: "stolen"}},
		history.Group:        {v.group: groups.Group{Name: fmt.Sprint("stolen", time.Now())}},
		history.Membership:   {v.connection: people.Groups{Groups: []string{v.group}}},
		history.Reminder:     {v.reminder: reminders.Reminder{Text: "stolen", DueOn: day, StartsOn: day, ConnectionIDs: []string{v.connection}}},
	} {
		restorer := kinds.All()[kind](u)
		for id, state := range states {
			objects, err := restorer.Current(ctx, []string{id})
			seen, errs = append(seen, objects), append(errs, err)
			data, err := json.Marshal(state)
			if err != nil {
				return nil, err
			}
			// Each in an attempt of its own: a refusal must not hide the next one.
			for _, to := range []json.RawMessage{data, json.RawMessage("null")} {
				errs = append(errs, u.Attempt(ctx, func(ctx context.Context) (bool, error) {
					conflicts, err := restorer.Restore(ctx, map[string]json.RawMessage{id: to})
					if reason := conflicts[id]; reason != "" {
						err = fault.New(fault.Conflict, "%s", reason)
					}
					return err == nil, err
				}))
			}
		}
	}
	return seen, errors.Join(errs...)
}
