package integration_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
	"github.com/kith-crm/kith/backend/internal/wordindex"
)

// arranged holds the ids of the objects that arrange adds.
type arranged struct{ group, reminder, relative, view, distinct, source string }

// arrange gives a person a group, a tag, a date, a reminder, a friend and a meeting. Their texts contain the
// word.
func arrange(ctx context.Context, u *db.Tx, connectionID, word string) (arranged, error) {
	var out arranged
	group, err := groups.Save(ctx, u, groups.Patch{Name: new(word), Description: new(word), CadenceDays: new(1)})
	if err != nil {
		return out, err
	}
	_, err = groups.UpdateMembership(ctx, u, groups.MembershipPatch{
		ConnectionIDs: []string{connectionID}, AddGroups: []string{group.Group.ID}, AddTags: []string{word},
	})
	if err != nil {
		return out, err
	}
	if _, err = people.DefineField(ctx, u, people.FieldEdit{Name: word, Type: people.FieldChoice, Choices: []string{word}}); err != nil {
		return out, err
	}
	_, err = people.Update(ctx, u, people.Patch{ID: connectionID, Fields: map[string]string{word: word}, Dates: people.DateEdit{Replace: []people.DateDraft{{Kind: "other", Label: word, Date: "--05-17"}}}})
	if err != nil {
		return out, err
	}
	today := u.Now().Truncate(24 * time.Hour)
	made, _, err := reminders.Create(ctx, u, reminders.Reminder{Text: word, DueOn: today.Format(time.DateOnly), ConnectionIDs: []string{connectionID}}, today)
	if err != nil {
		return out, err
	}
	friend, err := people.Create(ctx, u, people.Draft{Name: word + " too"})
	if err != nil {
		return out, err
	}
	r := people.Relationship{FromID: connectionID, ToID: friend.Connection.ID, Type: "friend", CreatedAt: u.Now()}
	view, err := views.Save(ctx, u, word, "tag="+word)
	if err != nil {
		return out, err
	}
	if err := digest.SaveDigest(ctx, u, time.UTC, digest.Choice{Rhythm: digest.Weekly, Weekday: time.Sunday, Hour: 3}); err != nil {
		return out, err
	}
	told, err := people.Distinguish(ctx, u, connectionID, friend.Connection.ID)
	if err != nil {
		return out, err
	}
	pairs, err := people.ListDistinctPairs(ctx, u, friend.Connection.ID)
	if err != nil || told == "" || len(pairs) != 1 {
		return out, fmt.Errorf("%d pairs, change %q: %w", len(pairs), told, err)
	}
	out = arranged{distinct: pairs[0].ID, group: group.Group.ID, reminder: made.ID, relative: friend.Connection.ID, view: view.ID}
	if out.source, err = arrangeSource(ctx, u, connectionID, word); err != nil {
		return out, err
	}
	return out, people.InsertRelationship(ctx, u, &r)
}

// within returns all of two maps.
func within(all ...map[string]attempt) map[string]attempt {
	out := map[string]attempt{}
	for _, some := range all {
		maps.Copy(out, some)
	}
	return out
}

// arrangedReads are the reads of groups, reminders and words.
func arrangedReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"ListGroups": func(ctx context.Context, _ victim) (any, error) { return groups.ListGroups(ctx, data) },
		"ListDistinctPairs": func(ctx context.Context, v victim) (any, error) {
			named, err := people.ListDistinctPairs(ctx, data, v.connection, v.relative)
			all, allErr := people.ListDistinctPairs(ctx, data)
			if len(named)+len(all) > 0 {
				return secret, nil
			}
			return err, allErr
		},
		"GetDigest": func(ctx context.Context, v victim) (any, error) {
			found, err := digest.GetDigest(ctx, data)
			if err == nil && (found.TenantID == v.tenant || found.Hour == 3) {
				return secret, nil
			}
			return found, err
		},
		"ListViews":  func(ctx context.Context, _ victim) (any, error) { return views.ListViews(ctx, data) },
		"ListFields": func(ctx context.Context, _ victim) (any, error) { return people.ListFields(ctx, data) },
		"ListTags":   func(ctx context.Context, _ victim) (any, error) { return groups.ListTags(ctx, data, 50) },
		"FindTag": func(ctx context.Context, _ victim) (any, error) {
			found, err := groups.FindTag(ctx, data, secret)
			if fault.Is(err, fault.NotFound) { // it names what the attacker asked for
				err = nil
			}
			return found, err
		},
		"FindGroup": func(ctx context.Context, v victim) (any, error) { return groups.FindGroup(ctx, data, v.group) },
		"List": func(ctx context.Context, v victim) (any, error) {
			q := reminders.DueQuery{Today: time.Now(), Until: time.Now().AddDate(1, 0, 0), Zone: time.UTC, Limit: 50}
			all, _, err := reminders.List(ctx, data, index.New(), q)
			q.ConnectionID = v.connection
			one, _, oneErr := reminders.List(ctx, data, nil, q)
			return []any{all, err, one}, oneErr
		},
		"SearchWords": func(ctx context.Context, v victim) (any, error) {
			found, err := searchWords(ctx, data, timeline.WordQuery{Text: secret, Limit: 50})
			_, aboutErr := searchWords(ctx, data, timeline.WordQuery{Text: secret, ConnectionID: v.connection, Limit: 50})
			return []any{found.Entries, found.Archived, err}, aboutErr
		},
		"AddParticipants": func(ctx context.Context, v victim) (any, error) {
			entries := []timeline.Entry{{ID: v.note}, {ID: v.interaction}}
			return entries, timeline.AddParticipants(ctx, data, entries)
		},
	}
}

// arrangedWrites are the writes of groups, reminders and notes.
func arrangedWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"ListGroups": func(ctx context.Context, _ victim) (any, error) { return groups.ListGroups(ctx, u) },
		"GetGroup":   func(ctx context.Context, v victim) (any, error) { return groups.GetGroup(ctx, u, v.group) },
		"GroupCadences": func(ctx context.Context, v victim) (any, error) {
			return people.GroupCadences(ctx, u, []string{v.connection})
		},
		"InsertGroup": func(ctx context.Context, v victim) (any, error) {
			return nil, groups.InsertGroup(ctx, u, &groups.Group{TenantID: v.tenant, ID: v.group, Name: "mine", FoldedName: fmt.Sprint("mine", u.Now())})
		},
		"ReplaceGroup": func(ctx context.Context, v victim) (any, error) {
			return nil, groups.ReplaceGroup(ctx, u, &groups.Group{TenantID: v.tenant, ID: v.group, Name: "stolen", Version: 2})
		},
		"Distinguish": func(ctx context.Context, v victim) (any, error) {
			return people.Distinguish(ctx, u, v.connection, v.relative)
		},
		"MarkOf": func(ctx context.Context, v victim) (any, error) { return nil, wordindex.MarkOf(ctx, u, v.connection) },
		"MarkRenamed": func(ctx context.Context, v victim) (any, error) {
			return nil, wordindex.MarkRenamed(ctx, u, map[string]string{v.connection: "stolen"})
		},
		"MarkAll": func(ctx context.Context, v victim) (any, error) {
			wordindex.Mark(u, v.note, v.interaction)
			return nil, errors.Join(wordindex.MarkAll(ctx, u), u.Derive(ctx))
		},
		"SaveDigest": func(ctx context.Context, _ victim) (any, error) {
			return nil, digest.SaveDigest(ctx, u, time.UTC, digest.Choice{Rhythm: digest.Daily, Hour: 4})
		},
		"ListViews":  func(ctx context.Context, _ victim) (any, error) { return views.ListViews(ctx, u) },
		"ListFields": func(ctx context.Context, _ victim) (any, error) { return people.ListFields(ctx, u) },
		"DefineField": func(ctx context.Context, _ victim) (any, error) {
			done, err := people.DefineField(ctx, u, people.FieldEdit{Name: secret, Remove: true})
			if err == nil {
				return secret, nil
			}
			return done, nil
		},
		"InsertView": func(ctx context.Context, v victim) (any, error) {
			return nil, views.InsertView(ctx, u, &views.View{TenantID: v.tenant, ID: v.view, Name: "mine", FoldedName: fmt.Sprint("mine", u.Now())})
		},
		"RenameView": func(ctx context.Context, v victim) (any, error) {
			return nil, views.RenameView(ctx, u, v.view, "stolen")
		},
		"DeleteView":  func(ctx context.Context, v victim) (any, error) { return nil, views.DeleteView(ctx, u, v.view) },
		"DeleteGroup": func(ctx context.Context, v victim) (any, error) { return nil, groups.DeleteGroup(ctx, u, v.group) },
		"ListMemberships": func(ctx context.Context, v victim) (any, error) {
			_, members, err := groups.ListMemberships(ctx, u, []string{v.connection})
			return members, err
		},
		"ReplaceMemberships": func(ctx context.Context, v victim) (any, error) {
			return nil, groups.ReplaceMemberships(ctx, u, []groups.Membership{
				{ConnectionID: v.connection, GroupIDs: []string{v.group}, Tags: []string{"stolen"}},
			}, []string{v.connection})
		},
		"GetReminder": func(ctx context.Context, v victim) (any, error) { return reminders.GetReminder(ctx, u, v.reminder) },
		"InsertReminder": func(ctx context.Context, v victim) (any, error) {
			return nil, reminders.InsertReminder(ctx, u, &reminders.Reminder{TenantID: v.tenant, ConnectionIDs: []string{v.connection}, Text: "mine"})
		},
		"ReplaceReminder": func(ctx context.Context, v victim) (any, error) {
			return nil, reminders.ReplaceReminder(ctx, u, &reminders.Reminder{TenantID: v.tenant, ID: v.reminder, Text: "stolen", Version: 2})
		},
		"GetNote":  func(ctx context.Context, v victim) (any, error) { return timeline.GetNote(ctx, u, v.note) },
		"GetEntry": func(ctx context.Context, v victim) (any, error) { return timeline.GetEntry(ctx, u, v.note) },
		"ReplaceNote": func(ctx context.Context, v victim) (any, error) {
			return nil, timeline.ReplaceNote(ctx, u, &timeline.Note{TenantID: v.tenant, ID: v.note, Body: "stolen", Version: 2, ConnectionIDs: []string{v.connection}})
		},
	}
}
