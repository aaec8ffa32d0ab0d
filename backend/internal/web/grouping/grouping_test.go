package grouping_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The addresses of the forms.
const (
	save      = "/groups/save"
	merge     = "/groups/merge"
	remove    = "/groups/delete"
	tagRename = "/groups/tag/rename"
	tagRemove = "/groups/tag/remove"
)

func want(t *testing.T, p *webtest.Page, status int, words ...string) {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, not %d:\n%s", p.Status, status, p.Text())
	}
	for _, word := range words {
		if !strings.Contains(p.Text(), word) {
			t.Errorf("no %q in:\n%s", word, p.Text())
		}
	}
}

// done checks that a form made one change, which its notice names, and returns the page after
// it.
func done(t *testing.T, s *webtest.Site, b *webtest.Browser, p *webtest.Page, notice string) *webtest.Page {
	t.Helper()
	to, err := url.Parse(p.Header.Get("Location"))
	if p.Status != http.StatusSeeOther || err != nil || to.Path != "/groups" || to.Query().Get("done") != notice {
		t.Fatalf("status %d to %q:\n%s", p.Status, p.Header.Get("Location"), p.Text())
	}
	if last := webtest.Changes(t, s, b.Owner)[0]; last.ID != to.Query().Get("change") || last.Tool != "groups" || last.CredentialID != "" {
		t.Errorf("the latest change is %+v, not %s", last, to.Query().Get("change"))
	}
	return b.Follow(p)
}

// undo undoes what the notice of a page offers.
func undo(t *testing.T, b *webtest.Browser, p *webtest.Page) {
	t.Helper()
	if p = b.Submit(p, webtest.UndoForm, nil); p.Header.Get("Location") != "/groups?done=undone" {
		t.Fatalf("status %d to %q:\n%s", p.Status, p.Header.Get("Location"), p.Text())
	}
}

// group makes a group with people.
func group(t *testing.T, s *webtest.Site, owner tenant.ID, name string, ids ...string) string {
	t.Helper()
	return webtest.By(t, s, owner, "save_group", func(ctx context.Context, tx *db.Tx) (string, error) {
		made, err := groups.Save(ctx, tx, groups.Patch{Name: &name})
		if err == nil && len(ids) > 0 {
			_, err = groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: ids, AddGroups: []string{made.Group.ID}})
		}
		return made.Group.ID, err
	})
}

// tag puts tags on a person.
func tag(t *testing.T, s *webtest.Site, owner tenant.ID, id string, tags ...string) {
	t.Helper()
	webtest.By(t, s, owner, "update_membership", func(ctx context.Context, tx *db.Tx) (people.Acted, error) {
		return groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: []string{id}, AddTags: tags})
	})
}

// holds returns the groups and tags of a person, sorted.
func holds(t *testing.T, s *webtest.Site, owner tenant.ID, id string) string {
	t.Helper()
	c := webtest.FindPerson(t, s, owner, id)
	return strings.Join(slices.Sorted(slices.Values(append(slices.Clone(c.Groups), c.Tags...))), ", ")
}

// Groups are listed with their people, made, changed, merged and deleted. Each of these is one
// change, which the notice can undo.
func TestGroups(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		want(t, b.Get("/groups"), http.StatusOK, "You have no groups.", "Nobody has a tag.")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		ben, _ := webtest.Added(t, s, b.Owner, "Ben Okafor")
		club, rowers := group(t, s, b.Owner, "Book club", ada), group(t, s, b.Owner, "Rowers", ada, ben)

		p := b.Get("/groups")
		want(t, p, http.StatusOK, "Book club 1 person", "Rowers 2 people")
		if webtest.LinkTo(p, "Rowers") != "/people?group=Rowers" {
			t.Errorf("the people are at %q", webtest.LinkTo(p, "Rowers"))
		}
		p = done(t, s, b, b.Submit(p, save, webtest.Values("name", "  Chess  players ", "cadence_days", "30", "description", "On Fridays")), "group-made")
		want(t, p, http.StatusOK, "The group is made.", "Chess players 0 people · Keep in touch every 30 days On Fridays")
		undo(t, b, p)
		if strings.Contains(b.Get("/groups").Text(), "Chess") {
			t.Error("the group is still there")
		}

		p = done(t, s, b, b.Submit(b.Get("/groups/"+club), save, webtest.Values("name", "Readers", "cadence_days", "14")), "group-saved")
		want(t, p, http.StatusOK, "Readers 1 person · Keep in touch every 14 days")
		undo(t, b, p)
		want(t, b.Get("/groups"), http.StatusOK, "Book club 1 person")

		p = done(t, s, b, b.Submit(b.Get("/groups/"+rowers), merge, webtest.Values("into", " book CLUB")), "group-merged")
		want(t, p, http.StatusOK, "Book club 2 people")
		if got := holds(t, s, b.Owner, ben); got != "Book club" || strings.Contains(p.Text(), "Rowers") {
			t.Errorf("after merging: %q", got)
		}
		undo(t, b, p)
		if a, o := holds(t, s, b.Owner, ada), holds(t, s, b.Owner, ben); a != "Book club, Rowers" || o != "Rowers" {
			t.Errorf("after the undo: %q and %q", a, o)
		}

		p = done(t, s, b, b.Submit(b.Get("/groups/"+rowers), remove, nil), "group-deleted")
		want(t, b.Get("/groups/"+rowers), http.StatusNotFound, "There is nothing here")
		if got := holds(t, s, b.Owner, ada); got != "Book club" {
			t.Errorf("after deleting: %q", got)
		}
		undo(t, b, p)
		if got := holds(t, s, b.Owner, ben); got != "Rowers" {
			t.Errorf("after the undo: %q", got)
		}
		want(t, b.Get("/activity"), http.StatusOK, "Undid: Deleted the group Rowers", "Undid the change of")
	})
}

// Tags are renamed, merged and removed.
func TestTags(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		ben, _ := webtest.Added(t, s, b.Owner, "Ben Okafor")
		tag(t, s, b.Owner, ada, "angel", "investor")
		tag(t, s, b.Owner, ben, "angel", "R&D+?")
		p := b.Get("/groups")
		want(t, p, http.StatusOK, "angel 2 people", "investor 1 person", "R&D+? 1 person")
		if webtest.LinkTo(p, "R&D+?") != "/people?tag=R%26D%2B%3F" {
			t.Errorf("the people are at %q", webtest.LinkTo(p, "R&D+?"))
		}
		p = done(t, s, b, b.Submit(b.Get("/groups/tag?name=R%26D%2B%3F"), tagRename, webtest.Values("to", "research")), "tag-renamed")
		want(t, p, http.StatusOK, "research 1 person")
		undo(t, b, p)
		p = done(t, s, b, b.Submit(b.Get("/groups/tag?name=Angel"), tagRename, webtest.Values("to", "investor")), "tag-renamed")
		if a, o := holds(t, s, b.Owner, ada), holds(t, s, b.Owner, ben); a != "investor" || o != "R&D+?, investor" {
			t.Errorf("after merging: %q and %q", a, o)
		}
		undo(t, b, p)
		p = done(t, s, b, b.Submit(b.Get("/groups/tag?name=angel"), tagRemove, nil), "tag-removed")
		if a, o := holds(t, s, b.Owner, ada), holds(t, s, b.Owner, ben); a != "investor" || o != "R&D+?" {
			t.Errorf("after removing: %q and %q", a, o)
		}
		want(t, b.Get("/groups/tag?name=angel"), http.StatusNotFound, "There is nothing here")
		undo(t, b, p)
		if got := holds(t, s, b.Owner, ada); got != "angel, investor" {
			t.Errorf("after the undo: %q", got)
		}
	})
}

// Each problem is at its field, and what was typed is kept. Nothing is written.
func TestMistakes(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
	tag(t, s, b.Owner, ada, "angel")
	club := group(t, s, b.Owner, "Book club")
	group(t, s, b.Owner, "Rowers")
	before := len(webtest.Changes(t, s, b.Owner))
	for _, c := range []struct{ page, form, field, typed, problem string }{
		{"/groups", save, "name", " ", "Enter a name."},
		{"/groups", save, "name", "book CLUB", "You have a group with this name already."},
		{"/groups", save, "name", strings.Repeat("x", 81), "80"},
		{"/groups", save, "cadence_days", "often", "Enter a whole number of days, or nothing."},
		{"/groups", save, "cadence_days", "731", "730"},
		{"/groups", save, "cadence_days", "-1", "0"},
		{"/groups", save, "description", strings.Repeat("y", 501), "500"},
		{"/groups/" + club, save, "name", "", "Enter a name."},
		{"/groups/" + club, save, "name", "Rowers", "Another group has this name."},
		{"/groups/" + club, save, "cadence_days", "99999999999", "Enter a whole number of days, or nothing."},
		{"/groups/" + club, merge, "into", "", "Enter the name of another group."},
		{"/groups/" + club, merge, "into", "Nobodies", "There is no group with this name."},
		{"/groups/" + club, merge, "into", "Book Club", "That is this group."},
		{"/groups/tag?name=angel", tagRename, "to", "\u200b", "Enter a name."},
		{"/groups/tag?name=angel", tagRename, "to", "Angel", "the same tag"},
		{"/groups/tag?name=angel", tagRename, "to", strings.Repeat("z", 61), "60"},
	} {
		form := b.Get(c.page)
		change := webtest.Values(c.field, c.typed)
		if c.page == "/groups" && c.field != "name" {
			change.Set("name", "Chess players")
		}
		p := b.Submit(form, c.form, change)
		want(t, p, http.StatusUnprocessableEntity, c.problem)
		input := p.ByID(c.field)
		if input == nil || webtest.Attr(input, "aria-invalid") != "true" || p.ByID(c.field+"-error") == nil {
			t.Errorf("%s %s=%q: not marked", c.form, c.field, c.typed)
			continue
		}
		if got := strings.TrimSpace(p.Form(c.form).Get(c.field)); got != strings.TrimSpace(c.typed) && c.typed != "\u200b" {
			t.Errorf("%s %s: %q is kept, not %q", c.form, c.field, got, c.typed)
		}
	}
	if got := len(webtest.Changes(t, s, b.Owner)); got != before {
		t.Errorf("%d changes were made", got-before)
	}
}

// Two tabs that change one group lose nothing: the second sees what the first saved, and keeps
// what it typed.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		club := group(t, s, b.Owner, "Book club")
		first, second := b.Get("/groups/"+club), b.Get("/groups/"+club)
		done(t, s, b, b.Submit(first, save, webtest.Values("name", "Readers", "cadence_days", "7")), "group-saved")
		p := b.Submit(second, save, webtest.Values("name", "Bookworms"))
		want(t, p, http.StatusConflict, "The group was changed in the meantime", "It is called Readers now, with an interval of 7 days")
		if p.Form(save).Get("name") != "Bookworms" {
			t.Error("what was typed is gone")
		}
		want(t, b.Get("/groups"), http.StatusOK, "Readers")
		done(t, s, b, b.Submit(p, save, nil), "group-saved")
		want(t, b.Get("/groups"), http.StatusOK, "Bookworms")
	})
}

// Groups and tags of another member do not exist, and forms need their token.
func TestAnotherMembersGroups(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
		ada, _ := webtest.Added(t, s, victim.Owner, "Ada Lovelace")
		club := group(t, s, victim.Owner, "Book club", ada)
		own := group(t, s, attacker.Owner, "Rowers")
		tag(t, s, victim.Owner, ada, "angel")
		before := len(webtest.Changes(t, s, victim.Owner))
		token := attacker.Get("/groups").Form(save).Get("form_token")
		for name, p := range map[string]*webtest.Page{
			"page": attacker.Get("/groups/" + club), "save": attacker.Post(save, webtest.Values("form_token", token, "id", club, "expected_version", "1", "name", "x")),
			"merge": attacker.Post(merge, webtest.Values("form_token", token, "id", club, "into", "Rowers")), "delete": attacker.Post(remove, webtest.Values("form_token", token, "id", club)),
			"tag": attacker.Get("/groups/tag?name=angel"), "rename": attacker.Post(tagRename, webtest.Values("form_token", token, "from", "angel", "to", "x")),
			"remove": attacker.Post(tagRemove, webtest.Values("form_token", token, "from", "angel")), "no id": attacker.Post(remove, webtest.Values("form_token", token)),
			"a word": attacker.Get("/groups/x"), "upper case": attacker.Get("/groups/" + strings.ToUpper(own)), "broken": attacker.Get("/groups/tag?name=%ff%00"),
		} {
			if p.Status != http.StatusNotFound || strings.Contains(p.Text(), "Book club") || strings.Contains(p.Text(), "angel") {
				t.Errorf("%s: %d %s", name, p.Status, p.Text())
			}
		}
		want(t, attacker.Post(merge, webtest.Values("form_token", token, "id", own, "into", "Book club")), http.StatusUnprocessableEntity, "There is no group with this name.")
		want(t, attacker.Post(save, webtest.Values("form_token", token, "id", own, "expected_version", "x", "name", "x")), http.StatusBadRequest)
		for _, path := range []string{save, merge, remove, tagRename, tagRemove} {
			form := webtest.Values("id", club, "name", "x", "from", "angel", "to", "y", "into", "x", "expected_version", "1")
			want(t, victim.Post(path, form), http.StatusForbidden, "This form is out of date")
			form.Set("form_token", token)
			want(t, victim.Post(path, form), http.StatusForbidden)
			want(t, s.Browser(t).Post(path, form), http.StatusForbidden, "You are signed out")
		}
		if len(webtest.Changes(t, s, victim.Owner)) != before || holds(t, s, victim.Owner, ada) != "Book club, angel" {
			t.Error("something was changed")
		}
	})
}

// Text of members is escaped.
func TestPagesShowTextAsText(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	ada, _ := webtest.Added(t, s, b.Owner, evil)
	club := group(t, s, b.Owner, evil, ada)
	group(t, s, b.Owner, "Rowers")
	tag(t, s, b.Owner, ada, evil)
	b.Submit(b.Get("/groups/"+club), save, webtest.Values("description", evil))
	for _, path := range []string{"/groups", "/groups/" + club, "/groups/tag?" + webtest.Values("name", evil).Encode(), "/activity"} {
		p := b.Get(path)
		want(t, p, http.StatusOK, evil)
		if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Body, "<img src=x") {
			t.Errorf("%s runs stored text", path)
		}
	}
}
