package contacts_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const actPath = "/people/act"

// actForm returns the form of the list with an act and people.
func actForm(p *webtest.Page, act string, ids ...string) url.Values {
	form := p.Form(actPath)
	form.Del("selection")
	form.Del("id")
	form.Set("act", act)
	form["id"] = ids
	return form
}

// confirmed returns the form of a page that asks for confirmation, with what was entered.
func confirmed(p *webtest.Page, entered ...string) url.Values {
	form := p.Form(actPath)
	form.Set("confirmed", "yes")
	for i := 0; i < len(entered); i += 2 {
		form.Set(entered[i], entered[i+1])
	}
	return form
}

func stored(t *testing.T, s *webtest.Site, owner tenant.ID, id string) *people.Connection {
	t.Helper()
	all, err := people.GetConnections(t.Context(), s.Store.Tenant(owner, true), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return all[id]
}

func latest(t *testing.T, s *webtest.Site, owner tenant.ID) history.Change {
	t.Helper()
	all, err := history.ListChanges(t.Context(), s.Store.Tenant(owner, true), history.Query{Limit: 1})
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	return all[0]
}

func wantDone(t *testing.T, p *webtest.Page, notice string) {
	t.Helper()
	to, _ := url.Parse(p.Header.Get("Location"))
	if p.Status != http.StatusSeeOther || to.Path != "/people" || to.Query().Get("done") != notice {
		t.Fatalf("status %d to %q, not %s:\n%s", p.Status, p.Header.Get("Location"), notice, p.Text())
	}
}

// Each act on several people first shows who they are, then makes one change that can be
// undone as a whole, and leads back to the list with its filters.
func TestActs(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Tags: []string{"old"}}, "")
		ben := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor", Tags: []string{"old"}}, "")
		addGroup(t, s, b.Owner, "Book club")
		for _, c := range []struct {
			act, field, value, notice string
			check                     func(c *people.Connection) bool
		}{
			{"tag", "add_tags", "investor", "people-tagged", func(c *people.Connection) bool { return slices.Contains(c.Tags, "investor") }},
			{"untag", "remove_tags", "old", "people-tagged", func(c *people.Connection) bool { return !slices.Contains(c.Tags, "old") }},
			{"group", "add_groups", "book club", "people-grouped", func(c *people.Connection) bool { return slices.Contains(c.Groups, "Book club") }},
			{"cadence", "days", "30", "people-cadence", func(c *people.Connection) bool { return c.CadenceDays == 30 }},
			{"archive", "", "", "people-archived", func(c *people.Connection) bool { return !c.ArchivedAt.IsZero() }},
			{"delete", "", "", "people-deleted", func(c *people.Connection) bool { return c == nil }},
		} {
			page := b.Get("/people?sort=created")
			confirm := b.Post(actPath, actForm(page, c.act, ada, ben))
			wantPage(t, confirm, http.StatusOK, "2 people", "Ada Stone, Ben Okafor", "Cancel")
			if c.check(stored(t, s, b.Owner, ada)) {
				t.Fatalf("%s: done before it was confirmed", c.act)
			}
			p := b.Post(actPath, confirmed(confirm, c.field, c.value))
			wantDone(t, p, c.notice)
			if !strings.Contains(p.Header.Get("Location"), "sort=created") {
				t.Errorf("%s: the list's order is lost: %s", c.act, p.Header.Get("Location"))
			}
			for _, id := range []string{ada, ben} {
				if !c.check(stored(t, s, b.Owner, id)) {
					t.Errorf("%s: not done with %s", c.act, id)
				}
			}
			change := latest(t, s, b.Owner)
			if change.Tool != "people" {
				t.Errorf("%s: recorded as %+v", c.act, change)
			}
			undone, err := history.UndoChange(t.Context(), s.Store.Tenant(b.Owner, false), kinds.All(), "test", change.ID, false)
			if err != nil || len(undone.Conflicts) > 0 {
				t.Fatalf("%s: %+v, %v", c.act, undone, err)
			}
			for _, id := range []string{ada, ben} {
				if got := stored(t, s, b.Owner, id); got == nil || c.check(got) {
					t.Errorf("%s: not undone: %+v", c.act, got)
				}
			}
		}
	})
}

// An act that changes nothing is not written. The input explains a missing value, and the list says
// if nobody is chosen.
func TestActsWithoutEffect(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Tags: []string{"old"}}, "")
	list := b.Get("/people")
	wantDone(t, b.Post(actPath, actForm(list, "tag")), "people-none")
	wantPage(t, b.Get("/people?done=people-none"), http.StatusOK, "Choose at least one person first.")
	page := b.Post(actPath, actForm(list, "tag", ada, ada))
	wantPage(t, page, http.StatusOK, "Tag 1 person")
	wantDone(t, b.Post(actPath, confirmed(page, "add_tags", "OLD")), "people-unchanged")
	for _, c := range []struct{ act, field, value, want string }{
		{"tag", "add_tags", " ", "Enter a tag."},
		{"tag", "add_tags", strings.Repeat("x", 61), "60"},
		{"group", "add_groups", "Nowhere", "Nowhere"},
		{"ungroup", "remove_groups", "", "Enter a group."},
		{"cadence", "days", "often", "Enter a number of days"},
		{"cadence", "days", "731", "730"},
		{"cadence", "days", "-1", "0"},
		{"export", "format", "exe", ""},
	} {
		p := b.Post(actPath, confirmed(b.Post(actPath, actForm(list, c.act, ada)), c.field, c.value))
		wantPage(t, p, http.StatusBadRequest, c.want)
		if !strings.Contains(p.Body, `id="`+c.field+`-error"`) {
			t.Errorf("%s %q: no error at the input:\n%s", c.act, c.value, p.Text())
		}
	}
	// One person is archived at once: that can be undone.
	wantDone(t, b.Post(actPath, actForm(list, "archive", ada)), "people-archived")
	archived := b.Get("/people?archived=true")
	wantPage(t, archived, http.StatusOK, "Ada Stone", "Restore", "Export")
	wantDone(t, b.Post(actPath, actForm(archived, "restore", ada)), "people-restored")
}

// A merge shows who may stay and what is dropped, and merges into the one who was chosen.
func TestMergeOnTheList(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Location: "Lisbon"}, "")
	again := add(t, s, b.Owner, people.Draft{Name: "A. Stone", Location: "Porto", Emails: []string{"ada@helios.example"}}, "")
	list := b.Get("/people")
	wantPage(t, b.Post(actPath, actForm(list, "merge", ada)), http.StatusBadRequest, "Choose from 2 to 20 people")
	first := b.Post(actPath, actForm(list, "merge", ada, again))
	wantPage(t, first, http.StatusOK, "Who stays", "Ada Stone", "A. Stone", "ada@helios.example", "Porto")
	form := first.Form(actPath)
	form.Set("keep", again)
	second := b.Post(actPath, form)
	wantPage(t, second, http.StatusOK, "Lisbon, because Porto stays")
	if c := stored(t, s, b.Owner, again); c.MergedInto != "" || c.Version != 1 {
		t.Errorf("merged before it was confirmed: %+v", c)
	}
	wantDone(t, b.Post(actPath, confirmed(second, "keep", again)), "people-merged")
	if c := stored(t, s, b.Owner, ada); c.MergedInto != again {
		t.Errorf("merged into %q", c.MergedInto)
	}
	wantPage(t, b.Post(actPath, confirmed(second, "keep", "con_ip892mx810")), http.StatusNotFound)
}

// The people who are chosen, and no others, are in the file.
func TestExportOfTheChosen(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"}, "")
	add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}, "")
	page := b.Post(actPath, actForm(b.Get("/people"), "export", ada))
	wantPage(t, page, http.StatusOK, "Export 1 person", "Table (CSV)")
	file := b.Post(actPath, confirmed(page, "format", "vcard"))
	if file.Status != http.StatusOK || !strings.HasPrefix(file.Header.Get("Content-Type"), "text/vcard") || !strings.Contains(file.Body, "Ada Stone") || strings.Contains(file.Body, "Ben") {
		t.Errorf("status %d, %s:\n%s", file.Status, file.Header, file.Body)
	}
	if !strings.HasPrefix(file.Header.Get("Content-Disposition"), "attachment") {
		t.Error("the file is shown as a page")
	}
}

// Everyone who matches is chosen by the selection of the search, which holds only for this
// member and as long as the same people match.
func TestEveryoneWhoMatches(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
		for i := range 60 {
			add(t, s, b.Owner, people.Draft{Name: "Person " + string(rune('A'+i/10)) + string(rune('0'+i%10)), Tags: []string{"crowd"}}, "")
		}
		add(t, s, other.Owner, people.Draft{Name: "Mine"}, "")
		list := b.Get("/people?tag=crowd&sort=name")
		form := actForm(list, "tag")
		form.Set("selection", selectionOf(t, list))
		confirm := b.Post(actPath, form)
		wantPage(t, confirm, http.StatusOK, "Tag 60 people", "Person A0", "and 50 more")
		wantDone(t, b.Post(actPath, confirmed(confirm, "add_tags", "all")), "people-tagged")
		wantPage(t, b.Get("/people?tag=all"), http.StatusOK, "60 people")

		theirs := actForm(other.Get("/people"), "delete")
		for _, selection := range []string{selectionOf(t, list), "sel_x", selectionOf(t, other.Get("/people")) + "A", strings.Repeat("x", 3000)} {
			theirs.Set("selection", selection)
			wantPage(t, other.Post(actPath, theirs), http.StatusBadRequest, "This selection is not valid")
		}
		add(t, s, b.Owner, people.Draft{Name: "Late", Tags: []string{"crowd"}}, "")
		wantPage(t, b.Post(actPath, confirmed(confirm, "add_tags", "late")), http.StatusConflict, "Other people match by now", "Nothing was changed")

		page := b.Get("/people?order=asc")
		form = actForm(page, "delete")
		form.Set("selection", selectionOf(t, page))
		p := b.Post(actPath, confirmed(b.Post(actPath, form)))
		wantDone(t, p, "people-deleted")
		if strings.Contains(p.Header.Get("Location"), "order=") {
			t.Errorf("back at filters that nobody matches: %s", p.Header.Get("Location"))
		}
		wantPage(t, b.Get("/people"), http.StatusOK, "You have nobody here yet.")
		if change := latest(t, s, b.Owner); change.Summary != "Deleted Late and 60 others" || change.FinalAt.IsZero() {
			t.Errorf("recorded: %s, final %s", change.Summary, change.FinalAt)
		}
		wantPage(t, other.Get("/people"), http.StatusOK, "Mine")
	})
}

func selectionOf(t *testing.T, p *webtest.Page) string {
	t.Helper()
	for _, input := range p.All("input") {
		if webtest.Attr(input, "name") == "selection" {
			return webtest.Attr(input, "value")
		}
	}
	t.Fatalf("no selection in:\n%s", p.Body)
	return ""
}

// No act finds people of another member, and a form of another browser changes nothing.
func TestActsOnOthers(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
	theirs := add(t, s, victim.Owner, people.Draft{Name: "Ada Stone"}, "")
	mine := add(t, s, attacker.Owner, people.Draft{Name: "Ben Okafor"}, "")
	list := attacker.Get("/people")
	for _, act := range []string{"tag", "untag", "group", "ungroup", "cadence", "archive", "restore", "merge", "export", "delete", "explode", ""} {
		for _, ids := range [][]string{{theirs}, {mine, theirs}, {"con_x"}, {"con_ip892mx810"}, {strings.ToUpper(theirs)}} {
			for _, sure := range []string{"", "yes"} {
				form := actForm(list, act, ids...)
				form.Set("confirmed", sure)
				form.Set("add_tags", "stolen")
				form.Set("days", "30")
				form.Set("format", "csv")
				p := attacker.Post(actPath, form)
				wantPage(t, p, http.StatusNotFound, "There is nothing here")
			}
		}
	}
	form := actForm(victim.Get("/people"), "delete", theirs)
	form.Set("confirmed", "yes")
	stolen := actForm(list, "delete", theirs)
	stolen.Set("confirmed", "yes")
	crossSite := victim.Request(http.MethodPost, actPath, form)
	crossSite.Header.Set("Sec-Fetch-Site", "cross-site")
	crossSite.Header.Set("Origin", "https://evil.example")
	tokenless := url.Values{"act": {"delete"}, "id": {theirs}, "confirmed": {"yes"}}
	for name, p := range map[string]*webtest.Page{
		"without its token": victim.Post(actPath, tokenless), "with another's token": victim.Post(actPath, stolen),
		"from another site": victim.Do(crossSite), "signed out": s.Browser(t).Post(actPath, form), "by GET": victim.Get(actPath + "?" + form.Encode()),
	} {
		if strings.Contains(p.Header.Get("Location"), "done=") || p.Status == http.StatusOK {
			t.Errorf("%s: status %d to %s", name, p.Status, p.Header.Get("Location"))
		}
	}
	if c := stored(t, s, victim.Owner, theirs); c == nil || !c.ArchivedAt.IsZero() || len(c.Tags) > 0 {
		t.Errorf("the victim's person: %+v", c)
	}
}

// A person who was merged into another one is deleted with them, and both come back.
func TestDeleteOfTheMerged(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	var ids []string
	for _, name := range []string{"Ada Stone", "A. Stone", "Ben Okafor"} {
		ids = append(ids, add(t, s, b.Owner, people.Draft{Name: name}, "note of "+name))
	}
	write(t, s, b.Owner, func(ctx context.Context, tx *db.Tx) error {
		show := func(context.Context, []people.MergedPerson) error { return nil }
		_, err := people.Merge(ctx, tx, []people.MergeInto{{Into: ids[0], From: ids[1:2]}}, false, timeline.StoreNote, show)
		return err
	})
	write(t, s, b.Owner, func(ctx context.Context, tx *db.Tx) error {
		_, err := people.DeleteAll(ctx, tx, kinds.All(), []string{ids[1], ids[0], ids[2]}, false)
		return err
	})
	for _, id := range ids {
		if stored(t, s, b.Owner, id) != nil {
			t.Errorf("%s is still there", id)
		}
	}
	undone, err := history.UndoChange(t.Context(), s.Store.Tenant(b.Owner, false), kinds.All(), "test", latest(t, s, b.Owner).ID, false)
	if err != nil || len(undone.Conflicts) > 0 {
		t.Fatalf("%+v, %v", undone, err)
	}
	if c := stored(t, s, b.Owner, ids[1]); c == nil || c.MergedInto != ids[0] {
		t.Errorf("restored: %+v", c)
	}
}
