package store_test

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// arranged is what a person may be arranged with.
type arranged struct{ group, reminder, relative string }

// arrange gives a person a group, a tag, a date, a reminder and a friend, all of
// them called by a word.
func arrange(ctx context.Context, u *store.Unit, connectionID, word string) (arranged, error) {
	var out arranged
	group, err := organize.Save(ctx, u, organize.Patch{Name: new(word), Description: new(word), CadenceDays: new(1)})
	if err != nil {
		return out, err
	}
	_, err = organize.UpdateMembership(ctx, u, organize.MembershipPatch{
		ConnectionIDs: []string{connectionID}, AddGroups: []string{group.Group.ID}, AddTags: []string{word},
	})
	if err != nil {
		return out, err
	}
	_, err = connection.Update(ctx, u, connection.Patch{ID: connectionID, Dates: connection.DateEdit{Replace: []connection.DateDraft{{Kind: "other", Label: word, Date: "--05-17"}}}})
	if err != nil {
		return out, err
	}
	today := u.Now().Truncate(24 * time.Hour)
	made, _, err := reminder.Create(ctx, u, reminder.Reminder{Text: word, DueOn: today.Format(time.DateOnly), ConnectionID: connectionID}, today)
	if err != nil {
		return out, err
	}
	friend, err := connection.Create(ctx, u, connection.Draft{Name: word + " too"})
	if err != nil {
		return out, err
	}
	r := connection.Relationship{FromID: connectionID, ToID: friend.Connection.ID, Type: "friend", CreatedAt: u.Now()}
	out = arranged{group: group.Group.ID, reminder: made.ID, relative: friend.Connection.ID}
	return out, u.InsertRelationship(ctx, &r)
}

// within returns all of two maps.
func within(some, others map[string]attempt) map[string]attempt {
	maps.Copy(some, others)
	return some
}

// arrangedReads drives what a Tenant reads of groups, reminders and words.
func arrangedReads(data *store.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListGroups": func(ctx context.Context, _ victim) (any, error) { return data.ListGroups(ctx) },
		"ListTags":   func(ctx context.Context, _ victim) (any, error) { return data.ListTags(ctx, 50) },
		"FindGroup":  func(ctx context.Context, v victim) (any, error) { return data.FindGroup(ctx, v.group) },
		"GetStrength": func(ctx context.Context, v victim) (any, error) {
			s, err := data.GetStrength(ctx, v.connection)
			if s.Score > 0 || s.Calls > 0 {
				return nil, fmt.Errorf("the victim's %s shows: %+v", secret, s)
			}
			return s, err
		},
		"ReadDue": func(ctx context.Context, v victim) (any, error) {
			q := reminder.DueQuery{Today: time.Now(), Until: time.Now().AddDate(1, 0, 0), Zone: time.UTC, Limit: 50}
			all, err := data.ReadDue(ctx, q)
			q.ConnectionID = v.connection
			one, oneErr := data.ReadDue(ctx, q)
			return []any{all, err, one}, oneErr
		},
		"EachEntry": func(ctx context.Context, v victim) (any, error) {
			var all []any
			for _, of := range []string{"", v.connection} {
				for e, err := range data.EachEntry(ctx, of) {
					all = append(all, e, err)
				}
			}
			return all, nil
		},
		"AddParticipants": func(ctx context.Context, v victim) (any, error) {
			entries := []timeline.Entry{{ID: v.note}, {ID: v.interaction}}
			return entries, data.AddParticipants(ctx, entries)
		},
	}
}

// arrangedWrites drives what a Unit does to groups, reminders and notes.
func arrangedWrites(u *store.Unit) map[string]attempt {
	return map[string]attempt{
		"ListGroups":    func(ctx context.Context, _ victim) (any, error) { return u.ListGroups(ctx) },
		"GetGroup":      func(ctx context.Context, v victim) (any, error) { return u.GetGroup(ctx, v.group) },
		"GroupCadences": func(ctx context.Context, v victim) (any, error) { return u.GroupCadences(ctx, []string{v.connection}) },
		"InsertGroup": func(ctx context.Context, v victim) (any, error) {
			return nil, u.InsertGroup(ctx, &organize.Group{TenantID: v.tenant, ID: v.group, Name: "mine", FoldedName: fmt.Sprint("mine", u.Now())})
		},
		"ReplaceGroup": func(ctx context.Context, v victim) (any, error) {
			return nil, u.ReplaceGroup(ctx, &organize.Group{TenantID: v.tenant, ID: v.group, Name: "stolen", Version: 2})
		},
		"DeleteGroup": func(ctx context.Context, v victim) (any, error) { return nil, u.DeleteGroup(ctx, v.group) },
		"ListMemberships": func(ctx context.Context, v victim) (any, error) {
			return u.ListMemberships(ctx, []string{v.connection})
		},
		"ReplaceMemberships": func(ctx context.Context, v victim) (any, error) {
			return nil, u.ReplaceMemberships(ctx, []organize.Membership{
				{ConnectionID: v.connection, GroupIDs: []string{v.group}, Tags: []string{"stolen"}},
			}, []string{v.connection})
		},
		"GetReminder": func(ctx context.Context, v victim) (any, error) { return u.GetReminder(ctx, v.reminder) },
		"InsertReminder": func(ctx context.Context, v victim) (any, error) {
			return nil, u.InsertReminder(ctx, &reminder.Reminder{TenantID: v.tenant, ConnectionID: v.connection, Text: "mine"})
		},
		"ReplaceReminder": func(ctx context.Context, v victim) (any, error) {
			return nil, u.ReplaceReminder(ctx, &reminder.Reminder{TenantID: v.tenant, ID: v.reminder, Text: "stolen", Version: 2})
		},
		"GetNote": func(ctx context.Context, v victim) (any, error) { return u.GetNote(ctx, v.note) },
		"ReplaceNote": func(ctx context.Context, v victim) (any, error) {
			return nil, u.ReplaceNote(ctx, &timeline.Note{TenantID: v.tenant, ID: v.note, Body: "stolen", Version: 2, ConnectionIDs: []string{v.connection}})
		},
		"GetStrength": func(ctx context.Context, v victim) (any, error) {
			s, err := u.GetStrength(ctx, v.connection)
			if s.Score > 0 || s.Calls > 0 {
				return nil, fmt.Errorf("the victim's %s shows: %+v", secret, s)
			}
			return s, err
		},
	}
}
