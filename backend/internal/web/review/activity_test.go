package review_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// undos returns the links and buttons that undo one change.
func undos(p *webtest.Page) []*html.Node {
	return slices.DeleteFunc(append(p.All("a"), p.All("button")...), func(n *html.Node) bool {
		return !strings.HasPrefix(webtest.Attr(n, "href"), webtest.UndoForm+"?change=") && webtest.Attr(n, "form") != "undo-one"
	})
}

// undoable returns the changes that a page offers to undo, in the page's order.
func undoable(p *webtest.Page) []string {
	var ids []string
	for _, n := range undos(p) {
		if strings.HasPrefix(webtest.TextOf(n), "Undo “") {
			ids = append(ids, strings.TrimPrefix(webtest.Attr(n, "href"), webtest.UndoForm+"?change=")+webtest.Attr(n, "value"))
		}
	}
	return ids
}

// undoNames returns the names of the links and buttons that undo a change.
func undoNames(p *webtest.Page) []string {
	var names []string
	for _, n := range undos(p) {
		names = append(names, webtest.TextOf(n))
	}
	return names
}

// clock is the time of the day of a time as pages show it.
func clock(at string) string { return at[len(at)-len("15:04 UTC") : len(at)-len(" UTC")] }

func TestActivityTellsOfEveryChange(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		want(t, b.Get("/activity"), http.StatusOK, "Nothing was changed yet.")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		bio := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("Admiral")})
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		deletion := webtest.Deleted(t, s, b.Owner, ada)
		if err := history.EndDeletion(t.Context(), s.Store.Tenant(b.Owner, false), "people/bin", deletion); err != nil {
			t.Fatal(err)
		}
		const forgotten = "About a person who was deleted for good "
		at := s.Clock.Now().Format("2 January 2006, 15:04 UTC")
		s.Clock.Advance(time.Minute)
		later := s.Clock.Now().Format("2 January 2006, 15:04 UTC")
		wantRedirect(t, b.Submit(b.Get(webtest.UndoPath(bio)), webtest.UndoForm, nil), "/activity?done=undone")

		page := b.Get("/activity?done=undone")
		want(t, page, http.StatusOK, "The change is undone.",
			"You "+clock(later)+" · 1 change Undid: Changed Grace Hopper: before: Admiral Undid the change of "+at+". "+clock(later),
			"Claude "+clock(at)+" · 4 changes "+forgotten,
			forgotten+clock(at)+" Cannot be undone "+forgotten+clock(at)+" Cannot be undone",
			"Changed Grace Hopper: after: Admiral Undone on "+later+". "+clock(at),
			"Added Grace Hopper")
		wantNames := []string{
			"Undo “Undid: Changed Grace Hopper” of " + later, "Undo “Added Grace Hopper” of " + at,
		}
		if got := undoNames(page); !slices.Equal(got, wantNames) {
			t.Errorf("the buttons are %q", got)
		}
		if webtest.LinkTo(page, "Older") != "" || webtest.LinkTo(page, "Latest") != "" {
			t.Error("a single page links to others")
		}
		agents := b.Get("/settings/mcp")
		want(t, agents, http.StatusOK, "About a person who was deleted for good", "Undone on "+later)
		if strings.Contains(agents.Text(), "Undid: ") || webtest.LinkTo(agents, "See every change, and undo it") != "/activity" || webtest.LinkTo(agents, "Activity") == "" {
			t.Error("the page of agents shows the member's own changes, or does not link here")
		}
	})
}

// The list stays in order when two agents and the member work at the same time.
func TestActivityIsNewestFirst(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for n, agent := range []string{"Claude", "Research", "Claude", "", "Claude", "Claude"} {
		actor := db.Actor{CredentialName: agent, Tool: "create_connection"}
		if agent != "" {
			actor.CredentialID = "grt_" + agent
		}
		err := s.Store.Tenant(b.Owner, false).Write(t.Context(), actor, func(ctx context.Context, tx *db.Tx) error {
			_, err := people.Create(ctx, tx, people.Draft{Name: fmt.Sprintf("Person %d", n)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Minute)
	}
	p := b.Get("/activity")
	var kept []string
	for _, c := range webtest.Changes(t, s, b.Owner) {
		kept = append(kept, c.ID)
	}
	if got := undoable(p); !slices.Equal(got, kept) {
		t.Errorf("the changes are shown in the order %v, not %v", got, kept)
	}
	want(t, p, http.StatusOK, "2 changes Undo these 2 changes")
}

// The groups of a person who is gone still have the name of that person.
func TestGroupsOfTheGoneHaveAName(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Stone")
		webtest.By(t, s, b.Owner, "update_membership", func(ctx context.Context, tx *db.Tx) (people.Acted, error) {
			if _, err := groups.Save(ctx, tx, groups.Patch{Name: new("Rowers")}); err != nil {
				return people.Acted{}, err
			}
			return groups.UpdateMembership(ctx, tx, groups.MembershipPatch{ConnectionIDs: []string{ada}, AddGroups: []string{"Rowers"}})
		})
		changed := "Changed the groups of 1 person"
		want(t, b.Get("/activity"), http.StatusOK, changed)
		deletion := webtest.Deleted(t, s, b.Owner, ada)
		p := b.Get("/activity")
		want(t, p, http.StatusOK, changed, "Groups of Ada Stone")
		if strings.Contains(p.Text(), "Groups of:") {
			t.Errorf("groups of nobody:\n%s", p.Text())
		}
		want(t, b.Get(webtest.UndoPath(deletion)), http.StatusOK, "Groups of Ada Stone")
	})
}

// Times and days are in the member's own time zone.
func TestActivityIsInTheMembersZone(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		s := webtest.Start(t, databaseURL, webtest.Options{})
		b := s.SignedIn(t, "maria")
		if _, err := dbtest.OpenSQL(t, databaseURL).Exec("UPDATE members SET timezone = 'Pacific/Kiritimati'"); err != nil { // 14 hours ahead of UTC
			t.Fatal(err)
		}
		webtest.Added(t, s, b.Owner, "Grace Hopper")
		local := s.Clock.Now().Add(14 * time.Hour)
		page := b.Get("/activity")
		want(t, page, http.StatusOK, "Added Grace Hopper", local.Format("2 January 2006, 15:04 ")+"UTC+14")
		want(t, b.Get("/settings/mcp"), http.StatusOK, local.Format("2 January 2006, 15:04 ")+"UTC+14")
		times := page.All("time")
		if got := webtest.Attr(times[len(times)-1], "datetime"); got != s.Clock.Now().Format(time.RFC3339) {
			t.Errorf("the machine-readable time is %s", got)
		}
	})
}

func TestActivityHasPages(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		for n := range 101 {
			webtest.Added(t, s, b.Owner, fmt.Sprintf("Person %d", n))
		}
		webtest.Added(t, s, other.Owner, "Somebody Else")
		var seen, kept []string
		for _, c := range webtest.Changes(t, s, b.Owner) {
			kept = append(kept, c.ID)
		}
		path, sizes := "/activity", []int{}
		for path != "" {
			page := b.Get(path)
			want(t, page, http.StatusOK)
			if latest := webtest.LinkTo(page, "Latest"); (latest == "/activity") != (len(sizes) > 0) {
				t.Errorf("page %d links to %q as the latest", len(sizes), latest)
			}
			if strings.Contains(page.Text(), "Somebody Else") || strings.Contains(path, "token=") {
				t.Errorf("%s: %s", path, page.Text())
			}
			sizes, seen, path = append(sizes, len(undoable(page))), append(seen, undoable(page)...), webtest.LinkTo(page, "Older")
		}
		if !slices.Equal(sizes, []int{50, 50, 1}) || !slices.Equal(seen, kept) {
			t.Errorf("pages of %v changes: %v", sizes, seen)
		}
		// A cursor gives no access: it only pages through the member's own changes.
		first := b.Get("/activity")
		if p := other.Get(webtest.LinkTo(first, "Older")); p.Status != http.StatusOK || strings.Contains(p.Text(), "Person 1") {
			t.Errorf("another member's cursor: %d %s", p.Status, p.Text())
		}
		for _, cursor := range []string{"x", "chg_hd691gu278", "%00", "AAAAAAAAAAAAe30", strings.Repeat("A", 5000)} {
			p := b.Get("/activity?cursor=" + cursor)
			want(t, p, http.StatusBadRequest, "This link is broken")
			if webtest.LinkTo(p, "See the latest changes") != "/activity" {
				t.Error("the page has no link to continue")
			}
		}
	})
}

// Showing the effects of an undo changes nothing; the button does it.
func TestUndoOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
		title := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Title: new("Admiral"), MetOn: new("1944")})
		before, version := len(webtest.Changes(t, s, b.Owner)), dataVersion(t, s, b.Owner)

		preview := b.Get(webtest.UndoPath(title))
		want(t, preview, http.StatusOK, "Undo this change?", "Changed Grace Hopper By Claude · Change a connection",
			"What happens if you undo it Person Grace Hopper: will be as before (when you met, job). Undo “Changed Grace Hopper” Leave it as it is")
		if got := webtest.FindPerson(t, s, b.Owner, grace); got.MetOn != "1944" || len(webtest.Changes(t, s, b.Owner)) != before || dataVersion(t, s, b.Owner) != version {
			t.Errorf("showing the page changed something: %+v", got)
		}
		wantRedirect(t, b.Submit(preview, webtest.UndoForm, nil), "/activity?done=undone")
		if got := webtest.FindPerson(t, s, b.Owner, grace); got.MetOn != "" || len(got.Positions) != 0 {
			t.Errorf("after the undo: %+v", got)
		}
		undo := webtest.Changes(t, s, b.Owner)[0]
		if undo.Undoes != title || undo.Tool != "activity" || undo.CredentialID != "" || undo.CredentialName != "" {
			t.Errorf("the undo's record: %+v", undo)
		}
		// A second click does nothing, and both the response and the page say so.
		wantRedirect(t, b.Submit(preview, webtest.UndoForm, nil), "/activity?done=undone-already")
		want(t, b.Get("/activity?done=undone-already"), http.StatusOK, "That was undone already.")
		again := b.Get(webtest.UndoPath(title))
		want(t, again, http.StatusOK, "It was undone already", "Undone on")
		if len(again.Forms(webtest.UndoForm)) > 0 || len(webtest.Changes(t, s, b.Owner)) != before+1 {
			t.Error("it can be undone twice")
		}
		// An undone change can be redone, and an added person can be removed.
		redo := b.Get(webtest.UndoPath(undo.ID))
		want(t, redo, http.StatusOK, "Undid: Changed Grace Hopper")
		wantRedirect(t, b.Submit(redo, webtest.UndoForm, nil), "/activity?done=undone")
		if got := webtest.FindPerson(t, s, b.Owner, grace); got.MetOn != "1944" || webtest.Changes(t, s, b.Owner)[0].Summary != "Redid: Changed Grace Hopper" {
			t.Errorf("after the redo: %+v", got)
		}
		wantRedirect(t, b.Submit(b.Get(webtest.UndoPath(title)), webtest.UndoForm, nil), "/activity?done=undone")
		gone := b.Get(webtest.UndoPath(addition))
		want(t, gone, http.StatusOK, "Person Grace Hopper: will be removed.")
		wantRedirect(t, b.Submit(gone, webtest.UndoForm, nil), "/activity?done=undone")
		if webtest.FindPerson(t, s, b.Owner, grace) != nil {
			t.Error("the added person still exists")
		}
	})
}

// dataVersion counts the writes of a member.
func dataVersion(t *testing.T, s *webtest.Site, owner tenant.ID) int64 {
	t.Helper()
	docs, err := search.LoadDocuments(t.Context(), s.Store.Tenant(owner, true), -1)
	if err != nil {
		t.Fatal(err)
	}
	return docs.Version
}

// If an object was changed again since, the page says so in plain words and names the
// changes to undo first; in that order everything can be undone.
func TestUndoTellsWhatToUndoFirst(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
		free := b.Get(webtest.UndoPath(addition)).Form(webtest.UndoForm) // before there was a conflict
		one := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("one")})
		two := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("two")})
		nickname := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Nickname: new("Amazing")})
		note := webtest.Noted(t, s, b.Owner, grace, "Brought a nanosecond")
		wantRedirect(t, b.Submit(b.Get(webtest.UndoPath(nickname)), webtest.UndoForm, nil), "/activity?done=undone")

		before := webtest.Changes(t, s, b.Owner)
		refused := b.Post(webtest.UndoForm, free)
		want(t, refused, http.StatusConflict, "This cannot be undone yet", "Nothing was undone.")
		if after := webtest.Changes(t, s, b.Owner); len(after) != len(before) || webtest.FindPerson(t, s, b.Owner, grace).Bio != "two" {
			t.Error("something was undone")
		}
		for _, step := range []struct{ first, words, change string }{
			{two, "Person Grace Hopper: changed again since (bio).", "Changed Grace Hopper By Claude"},
			{one, "Person Grace Hopper: changed again since (bio).", "Changed Grace Hopper By Claude"},
			{note, "Person Grace Hopper: other data refers to it now: a note about them.", "Added a note By Claude"},
		} {
			blocked := b.Get(webtest.UndoPath(addition))
			want(t, blocked, http.StatusOK, "This cannot be undone yet", step.words, "What you can do Undo this first.", step.change)
			if got := undoable(blocked); !slices.Equal(got, []string{step.first}) || len(blocked.Forms(webtest.UndoForm)) > 0 {
				t.Fatalf("to undo first: %v, not %s", got, step.first)
			}
			wantRedirect(t, b.Submit(b.Get(webtest.UndoPath(step.first)), webtest.UndoForm, nil), "/activity?done=undone")
		}
		wantRedirect(t, b.Post(webtest.UndoForm, free), "/activity?done=undone")
		if webtest.FindPerson(t, s, b.Owner, grace) != nil {
			t.Error("the person still exists")
		}
	})
}

// If no undo can resolve the conflict, the page says so.
func TestUndoWithoutAWay(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		bio := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("one")})
		webtest.By(t, s, b.Owner, "delete_connection", func(ctx context.Context, u *db.Tx) (people.Removal, error) {
			return people.DeleteConnections(ctx, u, kinds.All(), grace) // without a record, as the purge does
		})
		p := b.Get(webtest.UndoPath(bio))
		want(t, p, http.StatusOK, "This cannot be undone yet", "Person Grace Hopper: it no longer exists.", "None of the later changes can be undone to allow this.")
		if len(undoable(p)) > 0 {
			t.Error("it still offers a change to undo")
		}
	})
}

// For a change of many objects, some are shown by name and the others as a number.
func TestUndoOfMany(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		var persons []string
		for n := range 25 {
			id, _ := webtest.Added(t, s, b.Owner, fmt.Sprintf("Person %02d.", n))
			persons = append(persons, id)
		}
		archive := func(ids []string, away bool) string {
			return webtest.By(t, s, b.Owner, "archive_connections", func(ctx context.Context, u *db.Tx) (people.Acted, error) {
				return people.Archive(ctx, u, ids, away, false)
			}).ChangeID
		}
		away := archive(persons, true)
		preview := b.Get(webtest.UndoPath(away))
		want(t, preview, http.StatusOK, "Person Person 24.: will be brought back.", "Person Person 05.: will be brought back.", "And 5 more.")
		if strings.Contains(preview.Text(), "Person 04.: will be") {
			t.Error("more than twenty are shown by name")
		}
		free := preview.Form(webtest.UndoForm)
		back := archive(persons[:12], false)
		blocked := b.Post(webtest.UndoForm, free)
		want(t, blocked, http.StatusConflict, "Person Person 11.: changed again since (whether it is archived).", "And 2 more.", "Undo this first.")
		if got := undoable(blocked); !slices.Equal(got, []string{back}) {
			t.Errorf("to undo first: %v, not %s", got, back)
		}
		wantRedirect(t, b.Submit(b.Get(webtest.UndoPath(back)), webtest.UndoForm, nil), "/activity?done=undone")
		wantRedirect(t, b.Post(webtest.UndoForm, free), "/activity?done=undone")
		if c := webtest.FindPerson(t, s, b.Owner, persons[0]); c == nil || !c.ArchivedAt.IsZero() {
			t.Errorf("after the undo: %+v", c)
		}
	})
}
