package contacts_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// write runs fn as a write of a member.
func write(t *testing.T, s *webtest.Site, owner tenant.ID, fn func(ctx context.Context, tx *db.Tx) error) {
	t.Helper()
	if err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{Tool: "test"}, fn); err != nil {
		t.Fatal(err)
	}
}

// addGroup adds a group with members.
func addGroup(t *testing.T, s *webtest.Site, owner tenant.ID, name string, ids ...string) {
	t.Helper()
	write(t, s, owner, func(ctx context.Context, tx *db.Tx) error {
		if _, err := groups.Save(ctx, tx, groups.Patch{Name: &name}); err != nil || len(ids) == 0 {
			return err
		}
		_, err := groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: ids, AddGroups: []string{name}})
		return err
	})
}

// Each filter of the tool finds one of two people, is shown as a chip in words, and keeps
// its value in the form.
func TestEachFilter(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada := add(t, s, b.Owner, people.Draft{
		Name: "Ada Stone", Location: "Lisbon, Portugal", Tags: []string{"investor", "sailing"}, MetHow: "Tideline Days", MetOn: "2025-05",
		Emails: []string{"ada@helios.example"}, Organization: "Helios", Title: "CTO", Starred: true, Dates: []people.DateDraft{{Kind: "birthday", Date: "--12-03"}},
	}, "")
	ben := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}, "")
	addGroup(t, s, b.Owner, "Book club", ada)
	write(t, s, b.Owner, func(ctx context.Context, tx *db.Tx) error {
		_, err := timeline.LogInteractions(ctx, tx, timeline.Interaction{Kind: "call", Summary: "call", OccurredAt: s.Clock.Now().Add(-48 * time.Hour), ConnectionIDs: []string{ada}})
		if err != nil {
			return err
		}
		_, err = people.Archive(ctx, tx, []string{add2(ctx, t, tx, "Cleo Gone")}, true, false)
		return err
	})
	_ = ben
	for _, c := range []struct{ query, chip, name string }{
		{"company=helios", "Organisation: helios", "Ada Stone"},
		{"title=cto", "Job title: cto", "Ada Stone"},
		{"location=lisbon", "Place: lisbon", "Ada Stone"},
		{"country=PT", "Country: PT", "Ada Stone"},
		{"tag=investor&tag=sailing", "Tag: sailing", "Ada Stone"},
		{"group=book+club", "Group: book club", "Ada Stone"},
		{"starred=true", "Starred", "Ada Stone"},
		{"starred=false", "Not starred", "Ben Okafor"},
		{"archived=true", "Archived people", "Cleo Gone"},
		{"last_contact_after=2000-01-01", "Last contact since 1 January 2000", "Ada Stone"},
		{"last_contact_before=2001-02-03", "Last contact before 3 February 2001", "Ben Okafor"},
		{"never_contacted=true", "Never in touch", "Ben Okafor"},
		{"never_contacted=false", "In touch before", "Ada Stone"},
		{"met_how=tideline", "How you met: tideline", "Ada Stone"},
		{"met_on_after=2025-01", "Met after 2025-01", "Ada Stone"},
		{"met_on_before=2026", "Met before 2026", "Ada Stone"},
		{"birthday_between=12-01&birthday_between=12-31", "Birthday between 1 December and 31 December", "Ada Stone"},
		{"has=email&has=birthday", "Has e-mail address", "Ada Stone"},
		{"missing=email", "Has no e-mail address", "Ben Okafor"},
	} {
		p := b.Get("/people?" + c.query)
		wantPage(t, p, http.StatusOK, c.chip, c.name)
		for _, other := range []string{"Ada Stone", "Ben Okafor", "Cleo Gone"} {
			if other != c.name {
				without(t, p, other)
			}
		}
		given, _ := url.ParseQuery(c.query)
		for name, values := range given {
			for _, value := range values {
				kept := strings.Contains(p.Body, `name="`+name+`" value="`+value+`"`) || strings.Contains(p.Body, `value="`+value+`" selected`) ||
					strings.Contains(p.Body, `name="`+name+`" type="text" value="`+value+`"`) || strings.Contains(p.Body, `name="`+name+`" type="date" value="`+value+`"`)
				if !kept {
					t.Errorf("%s: the form lost %s", c.query, value)
				}
			}
		}
	}
	for query, chip := range map[string]string{
		"cadence_overdue=false": "Not overdue", "created_after=2000-01-01": "Added after 1 January 2000",
	} {
		wantPage(t, b.Get("/people?"+query), http.StatusOK, chip, "Ada Stone", "Ben Okafor")
	}
	wantPage(t, b.Get("/people?cadence_overdue=true"), http.StatusOK, "Overdue to be in touch", "Nobody matches.")
}

// add2 adds a person within a transaction, and returns their id.
func add2(ctx context.Context, t *testing.T, tx *db.Tx, name string) string {
	t.Helper()
	made, err := people.Create(ctx, tx, people.Draft{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return made.Connection.ID
}

// Each sort has two directions.
func TestSorts(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for _, name := range []string{"Ada Stone", "Ben Okafor"} {
		add(t, s, b.Owner, people.Draft{Name: name}, "")
		s.Clock.Advance(time.Minute)
	}
	for query, first := range map[string]string{
		"sort=name": "Ada", "sort=family_name": "Ben", "sort=family_name&order=desc": "Ada", "sort=name&order=desc": "Ben", "sort=created": "Ben", "sort=created&order=asc": "Ada", "order=desc": "Ben",
	} {
		p := b.Get("/people?" + query)
		list := p.Body[strings.Index(p.Body, `class="people"`):]
		if adaFirst := strings.Index(list, "Ada Stone") < strings.Index(list, "Ben Okafor"); adaFirst != (first == "Ada") {
			t.Errorf("%s: %s is not first", query, first)
		}
	}
}

// Filters that no person can pass together, and values that cannot be right, are explained
// at their inputs.
func TestErrorsAtTheirFilters(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for _, c := range []struct{ query, field, want string }{
		{"last_contact_after=2026-05-01&last_contact_before=2026-04-01", "last_contact_before", "Last contact before must lie after “Last contact after”"},
		{"never_contacted=true&last_contact_after=2026-05-01", "never_contacted", "Ever in touch contradicts “Last contact after”"},
		{"met_on_after=2025&met_on_before=2024", "met_on_before", "Met before must lie after “Met after”"},
		{"has=email&missing=email", "missing", "no person passes both"},
		{"missing=tag&tag=investor", "missing", "no person passes both"},
		{"birthday_between=12-01", "birthday_between", "takes two days"},
		{"birthday_between=12-01&birthday_between=13-40", "birthday_between", ""},
		{"has=money", "has", ""},
		{"starred=maybe", "starred", "Choose one"},
		{"created_after=2026-02-30", "created_after", ""},
		{"met_on_after=May", "met_on_after", ""},
		{"group=nosuchgroup", "group", "nosuchgroup"},
		{"tag=" + strings.Repeat("x", 61), "tag", "60"},
		{strings.TrimSuffix(strings.Repeat("tag=x&", 11), "&"), "tag", "10"},
	} {
		p := b.Get("/people?" + c.query)
		if p.Status != http.StatusBadRequest || !strings.Contains(p.Body, `id="`+c.field+`-error"`) || !strings.Contains(strings.ToLower(p.Text()), strings.ToLower(c.want)) {
			t.Errorf("%s: status %d, no error %q at %s:\n%s", c.query, p.Status, c.want, c.field, p.Text())
		}
	}
}
