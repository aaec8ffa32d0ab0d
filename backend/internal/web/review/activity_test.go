package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
	"golang.org/x/net/html"
)

// undoForm is the address of the form that undoes a change.
const undoForm = "/settings/activity/undo"

func undoPath(changeID string) string {
	return undoForm + "?" + url.Values{"change": {changeID}}.Encode()
}

// by makes a change with a tool, as an agent named Claude.
func by[T any](t *testing.T, s *webtest.Site, owner tenant.ID, tool string, fn func(context.Context, *db.Tx) (T, error)) T {
	t.Helper()
	var out T
	actor := db.Actor{CredentialID: "grt_1", CredentialName: "Claude", Tool: tool}
	err := s.Store.Tenant(owner, false).Write(t.Context(), actor, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = fn(ctx, u)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// added adds a person, as an agent.
func added(t *testing.T, s *webtest.Site, owner tenant.ID, name string) (id, changeID string) {
	t.Helper()
	made := by(t, s, owner, "create_connection", func(ctx context.Context, u *db.Tx) (people.Written, error) {
		return people.Create(ctx, u, people.Draft{Name: name})
	})
	return made.Connection.ID, made.ChangeID
}

// changed changes a person, as an agent, and returns the change.
func changed(t *testing.T, s *webtest.Site, owner tenant.ID, p people.Patch) string {
	t.Helper()
	return by(t, s, owner, "update_connection", func(ctx context.Context, u *db.Tx) (people.Written, error) {
		return people.Update(ctx, u, p)
	}).ChangeID
}

// noted adds a note about a person, as an agent, and returns the change.
func noted(t *testing.T, s *webtest.Site, owner tenant.ID, about, body string) string {
	t.Helper()
	return by(t, s, owner, "add_note", func(ctx context.Context, u *db.Tx) (string, error) {
		_, changeID, err := timeline.AddNote(ctx, u, timeline.Note{Body: body, ConnectionIDs: []string{about}})
		return changeID, err
	})
}

// list returns a member's changes, the latest first.
func list(t *testing.T, s *webtest.Site, owner tenant.ID) []history.Change {
	t.Helper()
	changes, err := history.ListChanges(t.Context(), s.Store.Tenant(owner, true), history.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// findPerson returns a person, or nil if there is no such person.
func findPerson(t *testing.T, s *webtest.Site, owner tenant.ID, id string) *people.Connection {
	t.Helper()
	names, err := people.ListNames(t.Context(), s.Store.Tenant(owner, true), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	if names[id] == "" {
		return nil
	}
	c, err := people.GetConnection(t.Context(), s.Store.Tenant(owner, true), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// linkTo returns the address of the link with a text; empty if there is none.
func linkTo(p *webtest.Page, name string) string {
	for _, a := range p.All("a") {
		if webtest.TextOf(a) == name {
			return webtest.Attr(a, "href")
		}
	}
	return ""
}

// undoable returns the changes that a page offers to undo, in the page's order.
func undoable(p *webtest.Page) []string {
	var ids []string
	for _, form := range p.All("form") {
		if webtest.Attr(form, "action") != undoForm || webtest.Attr(form, "method") != "get" {
			continue
		}
		for n := range form.Descendants() {
			if n.Type == html.ElementNode && webtest.Attr(n, "name") == "change" {
				ids = append(ids, webtest.Attr(n, "value"))
			}
		}
	}
	return ids
}

// buttons returns the names of a page's buttons, except the one for signing out.
func buttons(p *webtest.Page) []string {
	var names []string
	for _, b := range p.All("button")[1:] {
		names = append(names, webtest.TextOf(b))
	}
	return names
}

func TestActivityTellsOfEveryChange(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		want(t, b.Get("/settings/activity"), http.StatusOK, "Nothing was changed yet.")
		grace, _ := added(t, s, b.Owner, "Grace Hopper")
		bio := changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("Admiral")})
		ada, _ := added(t, s, b.Owner, "Ada Lovelace")
		deletion := deleted(t, s, b.Owner, ada)
		if err := history.EndDeletion(t.Context(), s.Store.Tenant(b.Owner, false), "settings/bin", deletion); err != nil {
			t.Fatal(err)
		}
		const forgotten = "About a person who was deleted for good By Claude · "
		at := s.Clock.Now().Format("2 January 2006, 15:04 UTC")
		s.Clock.Advance(time.Minute)
		later := s.Clock.Now().Format("2 January 2006, 15:04 UTC")
		wantRedirect(t, b.Submit(b.Get(undoPath(bio)), undoForm, nil), "/settings/activity?done=undone")

		page := b.Get("/settings/activity?done=undone")
		want(t, page, http.StatusOK, "The change is undone.",
			"Undid: Changed Grace Hopper You · Activity page · "+later+" Undid the change of "+at+". Undo",
			forgotten+"Delete a person · "+at+" Cannot be undone. "+forgotten+"Add a connection · "+at+" Cannot be undone.",
			"Changed Grace Hopper By Claude · Change a connection · "+at+" Undone on "+later+". Added Grace Hopper")
		wantNames := []string{
			"Undo “Undid: Changed Grace Hopper” of " + later, "Undo “Added Grace Hopper” of " + at,
		}
		if got := buttons(page); !slices.Equal(got, wantNames) {
			t.Errorf("the buttons are %q", got)
		}
		if headings := page.All("h2"); len(headings) == 0 || webtest.TextOf(headings[0]) != s.Clock.Now().Format("2 January 2006") {
			t.Error("the days are not separated")
		}
		if linkTo(page, "Older") != "" || linkTo(page, "Latest") != "" {
			t.Error("a single page links to others")
		}
		agents := b.Get("/settings/mcp")
		want(t, agents, http.StatusOK, "About a person who was deleted for good", "Undone on "+later)
		if strings.Contains(agents.Text(), "Undid: ") || linkTo(agents, "See every change, and undo it") != "/settings/activity" || linkTo(agents, "Activity") == "" {
			t.Error("the page of agents shows the member's own changes, or does not link here")
		}
	})
}

// Times and days are in the member's own time zone.
func TestActivityIsInTheMembersZone(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		s := webtest.Start(t, databaseURL, webtest.Options{})
		b := s.SignedIn(t, "maria")
		statement(t, databaseURL, "UPDATE members SET timezone = 'Pacific/Kiritimati'") // 14 hours ahead of UTC
		added(t, s, b.Owner, "Grace Hopper")
		local := s.Clock.Now().Add(14 * time.Hour)
		page := b.Get("/settings/activity")
		want(t, page, http.StatusOK, local.Format("2 January 2006")+" Added Grace Hopper", local.Format("2 January 2006, 15:04 ")+"UTC+14")
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
		for n := range 41 {
			added(t, s, b.Owner, fmt.Sprintf("Person %d", n))
		}
		added(t, s, other.Owner, "Somebody Else")
		var seen, kept []string
		for _, c := range list(t, s, b.Owner) {
			kept = append(kept, c.ID)
		}
		path, sizes := "/settings/activity", []int{}
		for path != "" {
			page := b.Get(path)
			want(t, page, http.StatusOK)
			if latest := linkTo(page, "Latest"); (latest == "/settings/activity") != (len(sizes) > 0) {
				t.Errorf("page %d links to %q as the latest", len(sizes), latest)
			}
			if strings.Contains(page.Text(), "Somebody Else") || strings.Contains(path, "token=") {
				t.Errorf("%s: %s", path, page.Text())
			}
			sizes, seen, path = append(sizes, len(undoable(page))), append(seen, undoable(page)...), linkTo(page, "Older")
		}
		if !slices.Equal(sizes, []int{20, 20, 1}) || !slices.Equal(seen, kept) {
			t.Errorf("pages of %v changes: %v", sizes, seen)
		}
		// A cursor gives no access: it only pages through the member's own changes.
		first := b.Get("/settings/activity")
		if p := other.Get(linkTo(first, "Older")); p.Status != http.StatusOK || strings.Contains(p.Text(), "Person") {
			t.Errorf("another member's cursor: %d %s", p.Status, p.Text())
		}
		for _, cursor := range []string{"x", "chg_01J00000000000000000000000", "%00", "AAAAAAAAAAAAe30", strings.Repeat("A", 5000)} {
			p := b.Get("/settings/activity?cursor=" + cursor)
			want(t, p, http.StatusBadRequest, "This link is broken")
			if linkTo(p, "See the latest changes") != "/settings/activity" {
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
		grace, addition := added(t, s, b.Owner, "Grace Hopper")
		title := changed(t, s, b.Owner, people.Patch{ID: grace, Title: new("Admiral"), MetOn: new("1944")})
		before, version := len(list(t, s, b.Owner)), dataVersion(t, s, b.Owner)

		preview := b.Get(undoPath(title))
		want(t, preview, http.StatusOK, "Undo this change?", "Changed Grace Hopper By Claude · Change a connection",
			"What happens if you undo it Person Grace Hopper: will be as before (when you met, job). Undo “Changed Grace Hopper” Leave it as it is")
		if got := findPerson(t, s, b.Owner, grace); got.MetOn != "1944" || len(list(t, s, b.Owner)) != before || dataVersion(t, s, b.Owner) != version {
			t.Errorf("showing the page changed something: %+v", got)
		}
		wantRedirect(t, b.Submit(preview, undoForm, nil), "/settings/activity?done=undone")
		if got := findPerson(t, s, b.Owner, grace); got.MetOn != "" || len(got.Positions) != 0 {
			t.Errorf("after the undo: %+v", got)
		}
		undo := list(t, s, b.Owner)[0]
		if undo.Undoes != title || undo.Tool != "settings/activity" || undo.CredentialID != "" || undo.CredentialName != "" {
			t.Errorf("the undo's record: %+v", undo)
		}
		// A second click does nothing, and both the response and the page say so.
		wantRedirect(t, b.Submit(preview, undoForm, nil), "/settings/activity?done=undone-already")
		want(t, b.Get("/settings/activity?done=undone-already"), http.StatusOK, "That was undone already.")
		again := b.Get(undoPath(title))
		want(t, again, http.StatusOK, "It was undone already", "Undone on")
		if len(again.Forms(undoForm)) > 0 || len(list(t, s, b.Owner)) != before+1 {
			t.Error("it can be undone twice")
		}
		// An undone change can be redone, and an added person can be removed.
		redo := b.Get(undoPath(undo.ID))
		want(t, redo, http.StatusOK, "Undid: Changed Grace Hopper")
		wantRedirect(t, b.Submit(redo, undoForm, nil), "/settings/activity?done=undone")
		if got := findPerson(t, s, b.Owner, grace); got.MetOn != "1944" || list(t, s, b.Owner)[0].Summary != "Redid: Changed Grace Hopper" {
			t.Errorf("after the redo: %+v", got)
		}
		wantRedirect(t, b.Submit(b.Get(undoPath(title)), undoForm, nil), "/settings/activity?done=undone")
		gone := b.Get(undoPath(addition))
		want(t, gone, http.StatusOK, "Person Grace Hopper: will be removed.")
		wantRedirect(t, b.Submit(gone, undoForm, nil), "/settings/activity?done=undone")
		if findPerson(t, s, b.Owner, grace) != nil {
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
		grace, addition := added(t, s, b.Owner, "Grace Hopper")
		free := b.Get(undoPath(addition)).Form(undoForm) // before there was a conflict
		one := changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("one")})
		two := changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("two")})
		nickname := changed(t, s, b.Owner, people.Patch{ID: grace, Nickname: new("Amazing")})
		note := noted(t, s, b.Owner, grace, "Brought a nanosecond")
		wantRedirect(t, b.Submit(b.Get(undoPath(nickname)), undoForm, nil), "/settings/activity?done=undone")

		before := list(t, s, b.Owner)
		refused := b.Post(undoForm, free)
		want(t, refused, http.StatusConflict, "This cannot be undone yet", "Nothing was undone.")
		if after := list(t, s, b.Owner); len(after) != len(before) || findPerson(t, s, b.Owner, grace).Bio != "two" {
			t.Error("something was undone")
		}
		for _, step := range []struct{ first, words, change string }{
			{two, "Person Grace Hopper: changed again since (bio).", "Changed Grace Hopper By Claude"},
			{one, "Person Grace Hopper: changed again since (bio).", "Changed Grace Hopper By Claude"},
			{note, "Person Grace Hopper: something came to hang on it: a note about them.", "Added a note By Claude"},
		} {
			blocked := b.Get(undoPath(addition))
			want(t, blocked, http.StatusOK, "This cannot be undone yet", step.words, "What you can do Undo this first.", step.change)
			if got := undoable(blocked); !slices.Equal(got, []string{step.first}) || len(blocked.Forms(undoForm)) > 0 {
				t.Fatalf("to undo first: %v, not %s", got, step.first)
			}
			wantRedirect(t, b.Submit(b.Get(undoPath(step.first)), undoForm, nil), "/settings/activity?done=undone")
		}
		wantRedirect(t, b.Post(undoForm, free), "/settings/activity?done=undone")
		if findPerson(t, s, b.Owner, grace) != nil {
			t.Error("the person still exists")
		}
	})
}

// If no undo can resolve the conflict, the page says so.
func TestUndoWithoutAWay(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, _ := added(t, s, b.Owner, "Grace Hopper")
		bio := changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("one")})
		by(t, s, b.Owner, "delete_connection", func(ctx context.Context, u *db.Tx) (people.Removal, error) {
			return people.DeleteConnection(ctx, u, kinds.All(), grace) // without a record, as the purge does
		})
		p := b.Get(undoPath(bio))
		want(t, p, http.StatusOK, "This cannot be undone yet", "Person Grace Hopper: it is not on file any more.", "None of the later changes can be undone for it.")
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
			id, _ := added(t, s, b.Owner, fmt.Sprintf("Person %d.", n))
			persons = append(persons, id)
		}
		archive := func(ids []string, away bool) string {
			return by(t, s, b.Owner, "archive_connections", func(ctx context.Context, u *db.Tx) (people.Acted, error) {
				return people.Archive(ctx, u, ids, away, false)
			}).ChangeID
		}
		away := archive(persons, true)
		preview := b.Get(undoPath(away))
		want(t, preview, http.StatusOK, "Person Person 24.: will be brought back.", "Person Person 5.: will be brought back.", "And 5 more.")
		if strings.Contains(preview.Text(), "Person 4.") {
			t.Error("more than twenty are shown by name")
		}
		free := preview.Form(undoForm)
		back := archive(persons[:12], false)
		blocked := b.Post(undoForm, free)
		want(t, blocked, http.StatusConflict, "Person Person 11.: changed again since (whether it is archived).", "And 2 more.", "Undo this first.")
		if got := undoable(blocked); !slices.Equal(got, []string{back}) {
			t.Errorf("to undo first: %v, not %s", got, back)
		}
		wantRedirect(t, b.Submit(b.Get(undoPath(back)), undoForm, nil), "/settings/activity?done=undone")
		wantRedirect(t, b.Post(undoForm, free), "/settings/activity?done=undone")
		if c := findPerson(t, s, b.Owner, persons[0]); c == nil || !c.ArchivedAt.IsZero() {
			t.Errorf("after the undo: %+v", c)
		}
	})
}
