package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// file is all of a member's data, object by object, without its history and versions.
func file(t testing.TB, s *db.DB, owner tenant.ID) []string {
	t.Helper()
	var out []string
	err := export.Export(t.Context(), s.Tenant(owner, true), func(object any) error {
		groups := []string(nil)
		switch o := object.(type) {
		case *history.Change, *people.Organization:
			return nil // append-only, and made but never removed
		case *people.Connection:
			groups = o.Groups
		}
		data, err := json.Marshal(object)
		if err != nil {
			return err
		}
		fields := map[string]any{}
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		delete(fields, "version")
		fields["Groups"] = groups
		line, err := json.MarshalIndent(fields, "", " ")
		out = append(out, fmt.Sprintf("%T %s", object, line))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// networks is how many random networks a test makes: each takes dozens of
// transactions.
const networks = 10

// network draws people with a bit of everything.
func network(rt *rapid.T, t testing.TB, s *db.DB, owner tenant.ID) []string {
	word := rapid.SampledFrom([]string{"", "a", "b", "c"})
	words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x1", "x2", "x3", "x4"}), 0, 3, rapid.ID)
	fields := rapid.Bool().Draw(rt, "fields")
	if fields {
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Defined, error) {
			return people.DefineField(ctx, u, people.FieldEdit{Name: "Club"})
		})
	}
	var ids []string
	for range rapid.IntRange(2, 4).Draw(rt, "people") {
		d := people.Draft{
			Name: rapid.SampledFrom([]string{"Ana", "Bo", "Cy"}).Draw(rt, "name"), Nickname: word.Draw(rt, "nickname"), Bio: word.Draw(rt, "bio"),
			Organization: word.Draw(rt, "organization"), Title: word.Draw(rt, "title"), Tags: words.Draw(rt, "tags"),
			MetHow: word.Draw(rt, "met"), OnDuplicate: people.OnDuplicateCreate,
		}
		for _, w := range words.Draw(rt, "mails") {
			d.Emails, d.URLs = append(d.Emails, w+"@x.example"), append(d.URLs, "https://x.example/"+w)
		}
		for _, w := range words.Draw(rt, "dates") {
			d.Dates = append(d.Dates, people.DateDraft{Kind: people.DateBirthday, Date: "--02-0" + w[1:]})
		}
		for _, w := range words.Draw(rt, "cards") {
			d.Addresses = append(d.Addresses, people.Address{Label: w, Street: word.Draw(rt, "street") + "1", Locality: "Porto"})
			d.Accounts = append(d.Accounts, people.Account{Service: "signal", Handle: w, Label: word.Draw(rt, "label")})
			d.DeceasedOn = "202" + w[1:]
		}
		if club := word.Draw(rt, "club"); fields && club != "" {
			d.Fields = map[string]string{"Club": club}
		}
		ids = append(ids, do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Written, error) {
			return people.Create(ctx, u, d)
		}).Connection.ID)
	}
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 1, len(ids), rapid.ID)
	for range rapid.IntRange(0, 6).Draw(rt, "more") {
		belonging(rt, t, s, owner, rapid.IntRange(0, 7).Draw(rt, "kind"), some.Draw(rt, "who"))
	}
	return ids
}

// belonging adds an object that belongs to people.
func belonging(rt *rapid.T, t testing.TB, s *db.DB, owner tenant.ID, kind int, who []string) {
	do(t, s, owner, func(ctx context.Context, u *db.Tx) (_ any, err error) {
		switch kind {
		case 0:
			_, _, err = timeline.AddNote(ctx, u, timeline.Note{Body: "n", ConnectionIDs: who})
		case 1:
			at := time.Date(2020, 1, rapid.IntRange(1, 28).Draw(rt, "day"), 0, 0, 0, 0, time.UTC)
			_, err = timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", OccurredAt: at, ConnectionIDs: who})
		case 2:
			_, _, err = reminders.Create(ctx, u, reminders.Reminder{Text: "r", DueOn: "2026-03-01", ConnectionIDs: who[:1]}, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		case 3:
			name := rapid.SampledFrom([]string{"g1", "g2"}).Draw(rt, "group")
			if _, err = groups.Save(ctx, u, groups.Patch{Name: &name}); err == nil {
				_, err = groups.UpdateMembership(ctx, u, groups.MembershipPatch{ConnectionIDs: who, AddGroups: []string{name}})
			}
		case 4:
			_, _, err = people.LinkNamed(ctx, u, who[0], "Vera", rapid.SampledFrom([]string{"mother", "godfather", "friend"}).Draw(rt, "word"), false)
		case 5:
			part := rapid.SampledFrom([]string{"Ana", "Bo"}).Draw(rt, "part")
			_, err = people.Update(ctx, u, people.Patch{ID: who[0], NameParts: &people.NameParts{Given: part, Former: part}})
		default:
			relation := rapid.SampledFrom([]string{"parent", "child", "friend", "manager"}).Draw(rt, "relation")
			if len(who) > 1 {
				_, _, err = people.Link(ctx, u, who[0], who[1], relation, false)
			}
		}
		return nil, err
	})
}
