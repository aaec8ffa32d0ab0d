package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

func updateOrganization(t *testing.T, s *db.DB, owner tenant.ID, p people.OrganizationPatch) (out people.SavedOrganization, err error) {
	t.Helper()
	err = write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = people.UpdateOrganization(ctx, u, p)
		return err
	})
	return out, err
}

// organization returns an organisation in one text; empty if there is none that is shown.
func organization(t *testing.T, s *db.DB, owner tenant.ID, name string) string {
	t.Helper()
	o, err := people.FindOrganization(t.Context(), s.Tenant(owner, true), name)
	if fault.Is(err, fault.NotFound) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := o.Details(t.Context(), s.Tenant(owner, true))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %q %q %q %q %d/%d:", d.Name, d.Domain, d.Website, d.Address, d.Notes, d.CountNow, d.CountBefore)
	for _, p := range append(d.Now, d.Before...) {
		fmt.Fprintf(&out, " %s (%s %s-%s)", p.Name, p.Title, p.StartedOn, p.EndedOn)
	}
	return out.String()
}

// headlineOf returns the headline with which a search finds a person. The index is the one of the call before, brought up to date.
func headlineOf(t *testing.T, n *summarised, name string) string {
	t.Helper()
	n.refresh(t)
	hits := n.ix.Search(index.Query{Text: name, Limit: 1}).Hits
	if len(hits) != 1 {
		t.Fatalf("%d hits for %s", len(hits), name)
	}
	return hits[0].Doc.Headline
}

func TestOrganizationIsReadFromItsPeople(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		create(t, s, other, people.Draft{Name: "Eve", Organization: "Helios", Emails: []string{"eve@wrong.example"}})
		ana := create(t, s, owner, people.Draft{Name: "Ana", Emails: []string{"ana@helios.example", "ana@gmail.com"}, Jobs: []people.JobDraft{
			{Organization: "Helios", Title: "Engineer", StartedOn: "2015", EndedOn: "2020"}, {Organization: "Helios", Title: "Head", StartedOn: "2020"},
		}})
		create(t, s, owner, people.Draft{Name: "Ben", Organization: "HELIOS", Emails: []string{"ben@helios.example", "ben@yahoo.fr", "ben@other.example"}})
		cleo := create(t, s, owner, people.Draft{Name: "Cleo", Jobs: []people.JobDraft{{Organization: "Helios", Title: "Intern", EndedOn: "2019"}}, Emails: []string{"c@left.example", "d@left.example", "e@left.example"}})
		gone := create(t, s, owner, people.Draft{Name: "Dan", Organization: "Helios"})
		at := s.Now().Add(-time.Hour).Truncate(time.Second)
		for person, when := range map[string]time.Time{ana.ID: at, cleo.ID: s.Now().Add(-time.Minute), gone.ID: s.Now().Add(-time.Minute)} {
			do(t, s, owner, func(ctx context.Context, u *db.Tx) (any, error) {
				return timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", ConnectionIDs: []string{person}, OccurredAt: when})
			})
		}
		archive(t, s, owner, true, gone.ID)
		want := `Helios "helios.example" "" "" "" 2/1: Ana (Head 2020-) Ben ( -) Cleo (Intern -2019)`
		if diff := cmp.Diff(want, organization(t, s, owner, " helios")); diff != "" {
			t.Error(diff)
		}
		o, err := people.FindOrganization(t.Context(), s.Tenant(owner, true), "Helios")
		if err != nil {
			t.Fatal(err)
		}
		d, err := o.Details(t.Context(), s.Tenant(owner, true))
		if err != nil || !d.LastContact.Equal(at) || d.LastWith.ID != ana.ID || d.LastWith.Name != "Ana" {
			t.Errorf("last contact %s with %+v, %v", d.LastContact, d.LastWith, err)
		}
		if _, err := people.FindOrganization(t.Context(), s.Tenant(owner, true), "Helos"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), `nearest: "Helios"`) {
			t.Error(err)
		}
	})
}

// Of equally common domains, the one that is like the name is told, or none.
func TestDomainOfEquallyMany(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		create(t, s, owner, people.Draft{Name: "Ana", Organization: "Helios", Emails: []string{"ana@helios.example", "ana@board.example"}})
		create(t, s, owner, people.Draft{Name: "Ben", Organization: "Helios", Emails: []string{"ben@gmx.de", "ben@outlook.com"}})
		create(t, s, owner, people.Draft{Name: "Cleo", Organization: "Aiolos", Emails: []string{"cleo@wind.example", "cleo@board.example"}})
		for name, domain := range map[string]string{"Helios": "helios.example", "Aiolos": ""} {
			if got := organization(t, s, owner, name); !strings.HasPrefix(got, fmt.Sprintf("%s %q", name, domain)) {
				t.Error(got)
			}
		}
	})
}

func TestUpdateOrganization(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		n := &summarised{s: s, owner: owner, ix: index.New(), version: -1}
		create(t, s, owner, people.Draft{Name: "Ana", Organization: "helios"})
		headlineOf(t, n, "Ana")
		saved, err := updateOrganization(t, s, owner, people.OrganizationPatch{
			Name: "Helios", NewName: new("Helios "), Website: new(" helios.example "), Address: new("Rua 1\n1000 Lisboa"), Notes: new("Solar."),
		})
		const full = `Helios "" "helios.example" "Rua 1\n1000 Lisboa" "Solar." 1/0: Ana ( -)`
		if err != nil || organization(t, s, owner, "HELIOS") != full {
			t.Fatalf("%v: %s", err, organization(t, s, owner, "HELIOS"))
		}
		if headline := headlineOf(t, n, "Ana"); headline != "Helios" {
			t.Errorf("found with %q", headline)
		}
		if again, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "helios", Website: new("helios.example")}); err != nil || again.ChangeID != "" {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "helios", Notes: new(""), Website: new("")}); err != nil {
			t.Fatal(err)
		}
		if got := undo(t, s, owner, saved.ChangeID); len(got.Conflicts) != 1 || fmt.Sprint(got.Conflicts[0].Fields) != "[notes website]" || got.Conflicts[0].ChangeID == "" {
			t.Errorf("undo of what was changed since: %+v", got)
		} else {
			wantUndone(t, s, owner, got.Conflicts[0].ChangeID)
		}
		if got := organization(t, s, owner, "Helios"); got != full {
			t.Error(got)
		}
		wantUndone(t, s, owner, saved.ChangeID)
		if got := organization(t, s, owner, "Helios"); got != `helios "" "" "" "" 1/0: Ana ( -)` || headlineOf(t, n, "Ana") != "helios" {
			t.Error(got)
		}
		for name, newName := range map[string]string{"nobody": "x", "Helios": " , "} {
			_, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: name, NewName: &newName})
			if !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
				t.Errorf("%s to %q: %v", name, newName, err)
			}
		}
	})
}

// A rename moves everyone, archived people too, and the old name is not shown any more. It can be undone and redone.
func TestRenameOrganization(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		n := &summarised{s: s, owner: owner, ix: index.New(), version: -1}
		ana := createWritten(t, s, owner, people.Draft{Name: "Ana", Organization: "Facebook"})
		headlineOf(t, n, "Ana")
		ben := create(t, s, owner, people.Draft{Name: "Ben", Organization: "Facebook"}).ID
		archive(t, s, owner, true, ben)
		if _, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "Facebook", Notes: new("Social.")}); err != nil {
			t.Fatal(err)
		}
		saved, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "facebook", NewName: new("Meta"), Website: new("meta.example")})
		if err != nil {
			t.Fatal(err)
		}
		renamed := func(step string) {
			t.Helper()
			if got := organization(t, s, owner, "Meta"); got != `Meta "" "meta.example" "" "Social." 1/0: Ana ( -)` || organization(t, s, owner, "Facebook") != "" {
				t.Errorf("%s: %s, %s", step, got, organization(t, s, owner, "Facebook"))
			}
			if headline := headlineOf(t, n, "Ana"); headline != "Meta" {
				t.Errorf("%s: found with %q", step, headline)
			}
		}
		renamed("renamed")
		undone := wantUndone(t, s, owner, saved.ChangeID)
		if organization(t, s, owner, "Facebook") != `Facebook "" "" "" "Social." 1/0: Ana ( -)` || organization(t, s, owner, "Meta") != "" {
			t.Errorf("undone: %s, %s", organization(t, s, owner, "Facebook"), organization(t, s, owner, "Meta"))
		}
		if c, err := people.GetConnection(t.Context(), s.Tenant(owner, true), ben); err != nil || c.Positions[0].Organization != "Facebook" {
			t.Errorf("the archived person: %+v, %v", c, err)
		}
		wantUndone(t, s, owner, undone)
		renamed("redone")
		// The change that blocks an older undo is named.
		if got := undo(t, s, owner, ana.ChangeID); len(got.Conflicts) != 1 || got.Conflicts[0].ChangeID == "" {
			t.Errorf("undo of a person: %+v", got)
		}
	})
}

// A merge keeps every value of both, and its undo separates the two.
func TestMergeOrganizations(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		create(t, s, owner, people.Draft{Name: "Ana", Organization: "Helios", Title: "Engineer"})
		both := create(t, s, owner, people.Draft{Name: "Ben", Jobs: []people.JobDraft{{Organization: "Helios", Title: "Head"}, {Organization: "Helios Energy", Title: "Head", EndedOn: "2020"}}})
		twice := create(t, s, owner, people.Draft{Name: "Cleo", Jobs: []people.JobDraft{{Organization: "Helios", EndedOn: "2020"}, {Organization: "Helios Energy", EndedOn: "2020"}}})
		for _, p := range []people.OrganizationPatch{
			{Name: "Helios", Website: new("helios.example"), Notes: new("Solar.")},
			{Name: "Helios Energy", Website: new("energy.example"), Address: new("Rua 1"), Notes: new("Wind.")},
		} {
			if _, err := updateOrganization(t, s, owner, p); err != nil {
				t.Fatal(err)
			}
		}
		energy := organization(t, s, owner, "Helios Energy")
		merged, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "Helios Energy", NewName: new("HELIOS")})
		const want = `Helios "" "helios.example" "Rua 1" "Solar.\nWind.\nWebsite: energy.example" 2/1: Ana (Engineer -) Ben (Head -) Cleo ( -2020)`
		if err != nil || organization(t, s, owner, "Helios") != want || organization(t, s, owner, "Helios Energy") != "" {
			t.Fatalf("%v: %s, %s", err, organization(t, s, owner, "Helios"), organization(t, s, owner, "Helios Energy"))
		}
		for id, positions := range map[string]int{both.ID: 2, twice.ID: 1} {
			if c, err := people.GetConnection(t.Context(), s.Tenant(owner, true), id); err != nil || len(c.Positions) != positions {
				t.Errorf("%s: %+v, %v", c.Name, c.Positions, err)
			}
		}
		// What is written about a person meanwhile stays.
		if _, err := update(t, s, owner, people.Patch{ID: twice.ID, Bio: new("Rows.")}); err != nil {
			t.Fatal(err)
		}
		undone := wantUndone(t, s, owner, merged.ChangeID)
		if got := organization(t, s, owner, "Helios Energy"); got != energy || !strings.HasPrefix(organization(t, s, owner, "Helios"), `Helios "" "helios.example" "" "Solar." 2/1`) {
			t.Errorf("undone: %s, %s", got, organization(t, s, owner, "Helios"))
		}
		if c, err := people.GetConnection(t.Context(), s.Tenant(owner, true), twice.ID); err != nil || len(c.Positions) != 2 || c.Bio != "Rows." {
			t.Errorf("%+v, %v", c, err)
		}
		wantUndone(t, s, owner, undone)
		if got := organization(t, s, owner, "Helios"); got != want {
			t.Errorf("redone: %s", got)
		}
		// Notes that do not fit are refused: none is cut.
		long := strings.Repeat("x", 4000)
		for _, p := range []people.OrganizationPatch{{Name: "Helios", Notes: &long}, {Name: "Helios", NewName: new("Wind")}} {
			if _, err := updateOrganization(t, s, owner, p); err != nil {
				t.Fatal(err)
			}
		}
		create(t, s, owner, people.Draft{Name: "Dan", Organization: "Aiolos"})
		if _, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "Aiolos", Notes: new("Small.")}); err != nil {
			t.Fatal(err)
		}
		if _, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "Aiolos", NewName: new("Wind")}); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "4007 characters") {
			t.Error(err)
		}
	})
}

// A large organisation is renamed in one change, which is undone in batches.
func TestRenameOfALargeOrganization(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		const many = 700
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (any, error) {
			list := make([]*people.Connection, many)
			for i := range list {
				list[i] = &people.Connection{
					ID: fmt.Sprintf("con_%026d", i), Name: fmt.Sprintf("Person %d", i), Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now(),
					Positions: []people.Position{{Organization: "Helios", Current: true}},
				}
			}
			return nil, people.InsertPeople(ctx, u, list)
		})
		saved, err := updateOrganization(t, s, owner, people.OrganizationPatch{Name: "Helios", NewName: new("Sol")})
		if err != nil || searchIndex(t, s, owner).Summary().Count(index.Organizations, "Sol") != many {
			t.Fatal(err)
		}
		if got := undo(t, s, owner, saved.ChangeID); len(got.Restored) != many || len(got.Conflicts) > 0 {
			t.Errorf("%d restored, %d conflicts", len(got.Restored), len(got.Conflicts))
		}
		if n := searchIndex(t, s, owner).Summary().Count(index.Organizations, "Helios"); n != many {
			t.Errorf("%d are at Helios", n)
		}
	})
}
