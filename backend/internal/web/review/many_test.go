package review_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// several returns the address of the page that undoes several changes.
func several(ids ...string) string {
	return webtest.UndoForm + "?" + url.Values{"several": {"yes"}, "change": ids}.Encode()
}

// addedBy adds a person as an agent of another name than Claude.
func addedBy(t *testing.T, s *webtest.Site, owner tenant.ID, credentialID, agent, name string) (id, changeID string) {
	t.Helper()
	err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{CredentialID: credentialID, CredentialName: agent, Tool: "create_connection"}, func(ctx context.Context, tx *db.Tx) error {
		made, err := people.Create(ctx, tx, people.Draft{Name: name})
		if err == nil {
			id, changeID = made.Connection.ID, made.ChangeID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id, changeID
}

// Former addresses lead to the new ones, with their parameters, signed in or not.
func TestFormerAddresses(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	member := s.SignedIn(t, "maria")
	for from, to := range map[string]string{
		"/settings/activity": "/activity", "/settings/activity?cursor=a%2Fb&x=//evil.example": "/activity?cursor=a%2Fb&x=//evil.example",
		"/settings/activity/undo?change=chg_1": "/activity/undo?change=chg_1", "/settings/bin?cursor=x": "/people/bin?cursor=x", "/settings/bin/delete?change=y": "/people/bin/delete?change=y",
	} {
		for name, b := range map[string]*webtest.Browser{"signed in": member, "signed out": s.Browser(t)} {
			if p := b.Get(from); p.Status != http.StatusPermanentRedirect || p.Header.Get("Location") != to {
				t.Errorf("%s, %s: %d to %q", from, name, p.Status, p.Header.Get("Location"))
			}
		}
	}
}

// Work is grouped by agent, and by pauses of more than half an hour. The groups stay in order when two
// agents work at the same time.
func TestSessionsOfWork(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		for _, step := range []struct {
			agent string
			pause time.Duration
		}{{"Claude", 0}, {"Claude", 10 * time.Minute}, {"Robot", 10 * time.Minute}, {"Claude", 20 * time.Minute}, {"Claude", 31 * time.Minute}} {
			s.Clock.Advance(step.pause)
			addedBy(t, s, b.Owner, "grt_"+step.agent, step.agent, "Somebody")
		}
		var sessions []string
		for _, section := range b.Get("/activity").All("section") {
			if strings.Contains(webtest.Attr(section, "class"), "session") {
				text := webtest.TextOf(section)
				sessions = append(sessions, strings.Fields(text)[0]+" "+fmt.Sprint(strings.Count(text, "Undo “Added Somebody”")))
			}
		}
		if want := []string{"Claude 1", "Claude 1", "Robot 1", "Claude 2"}; !slices.Equal(sessions, want) {
			t.Errorf("sessions %q, not %q", sessions, want)
		}
	})
}

// Filters narrow the list, keep what was chosen, and are checked.
func TestFilters(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		grace, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
		webtest.Noted(t, s, b.Owner, grace, "Brought a nanosecond")
		addedBy(t, s, b.Owner, "grt_2", "Robot", "Ada Lovelace")
		today := s.Clock.Now().Format(time.DateOnly)
		theirs, _ := webtest.Added(t, s, other.Owner, "Hedy Lamarr")
		for address, shown := range map[string]string{
			"agent=claude": "Grace Hopper, Added a note", "agent=grt_2": "Ada Lovelace", "agent=maria": "", "agent=Nobody": "", "tool=add_note": "Added a note",
			"connection_id=" + grace: "Grace Hopper, Added a note", "connection_id=" + theirs: "", "day=" + today: "Grace Hopper, Added a note, Ada Lovelace",
			"day=2001-01-01": "", "agent=Claude&tool=add_note&day=" + today: "Added a note", "agent=&tool=&day=&utm=x": "Grace Hopper, Added a note, Ada Lovelace",
		} {
			p := b.Get("/activity?" + address)
			if p.Status != http.StatusOK || strings.Contains(p.Text(), "Hedy") {
				t.Errorf("%s: %d %s", address, p.Status, p.Text())
			}
			for _, words := range []string{"Added Grace Hopper", "Added a note", "Added Ada Lovelace"} {
				if got := strings.Contains(p.Text(), words); got != strings.Contains(shown, strings.TrimPrefix(words, "Added ")) {
					t.Errorf("%s: %q is shown: %v", address, words, got)
				}
			}
		}
		for address, words := range map[string]string{
			"day=tomorrow": "Enter a day as YYYY-MM-DD.", "connection_id=x": "This address does not name a person.", "tool=" + strings.Repeat("t", 65): "64", "cursor=x": "This link is broken",
		} {
			p := b.Get("/activity?" + address)
			want(t, p, http.StatusBadRequest, words)
			if strings.Contains(p.Text(), "Grace") {
				t.Errorf("%s shows changes", address)
			}
		}
		if p := b.Get("/activity?day=tomorrow"); webtest.Attr(p.ByID("day"), "value") != "tomorrow" {
			t.Error("what was typed is gone")
		}
	})
}

// Several changes are shown first, then undone at once, the latest first. A change with a conflict
// stays, with the reason.
func TestUndoOfSeveral(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
		bio := webtest.Changed(t, s, b.Owner, people.Patch{ID: grace, Bio: new("Admiral")})
		note := webtest.Noted(t, s, b.Owner, grace, "Brought a nanosecond")
		ada, adding := webtest.Added(t, s, b.Owner, "Ada Lovelace")
		webtest.Changed(t, s, b.Owner, people.Patch{ID: ada, Bio: new("Countess")})
		before := len(webtest.Changes(t, s, b.Owner))

		p := b.Get(several(addition, bio, note, adding, bio))
		want(t, p, http.StatusOK, "3 changes would be undone", "Person Grace Hopper: will be removed.", "1 change stays as it is", "Person Ada Lovelace: changed again since (bio).")
		if len(webtest.Changes(t, s, b.Owner)) != before || webtest.FindPerson(t, s, b.Owner, grace) == nil {
			t.Fatal("the dry run wrote")
		}
		form := p.Form(webtest.UndoForm)
		if got := form["change"]; !slices.Equal(got, []string{note, bio, addition}) {
			t.Errorf("the form holds %v", got)
		}
		wantRedirect(t, b.Post(webtest.UndoForm, form), "/activity?done=undone-several")
		if webtest.FindPerson(t, s, b.Owner, grace) != nil || len(webtest.Changes(t, s, b.Owner)) != before+3 {
			t.Error("not all was undone")
		}
		wantRedirect(t, b.Post(webtest.UndoForm, form), "/activity?done=undone-already")
		want(t, b.Get(several(addition, bio)), http.StatusOK, "There is nothing to undo", "2 changes stay as they are", "Undone on")

		// A change that got a conflict after the page was shown stays.
		hedy, first := webtest.Added(t, s, b.Owner, "Hedy Lamarr")
		_, second := webtest.Added(t, s, b.Owner, "Mary Somerville")
		form = b.Get(several(first, second)).Form(webtest.UndoForm)
		webtest.Changed(t, s, b.Owner, people.Patch{ID: hedy, Bio: new("Inventor")})
		want(t, b.Post(webtest.UndoForm, form), http.StatusConflict, "Not everything was undone", "1 change is undone.", "1 change stays as it is", "Person Hedy Lamarr: changed again since (bio).")
		if webtest.FindPerson(t, s, b.Owner, hedy) == nil {
			t.Error("the person is gone")
		}
		want(t, b.Get(webtest.UndoForm+"?several=yes"), http.StatusBadRequest, "Nothing is ticked")
	})
}

// Two browsers undo the same changes: each change is undone once.
func TestUndoOfSeveralAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		var ids []string
		for n := range 5 {
			_, changeID := webtest.Added(t, s, b.Owner, fmt.Sprintf("Person %d", n))
			ids = append(ids, changeID)
		}
		form := b.Get(several(ids...)).Form(webtest.UndoForm)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if p, err := b.Try(b.Request(http.MethodPost, webtest.UndoForm, form)); err != nil || p.Status != http.StatusSeeOther {
					t.Errorf("%v %v", p, err)
				}
			})
		}
		all.Wait()
		changes := webtest.Changes(t, s, b.Owner)
		if len(changes) != 10 {
			t.Fatalf("%d changes", len(changes))
		}
		undone := map[string]int{}
		for _, c := range changes[:5] {
			undone[c.Undoes]++
		}
		if len(undone) != 5 {
			t.Errorf("undone: %v", undone)
		}
	})
}

// At most 100 changes are undone at once, and those of others never.
func TestUndoOfSeveralRefuses(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	_, mine := webtest.Added(t, s, b.Owner, "Grace Hopper")
	theirsID, theirs := webtest.Added(t, s, other.Owner, "Hedy Lamarr")
	token := tokenOf(b.Get("/activity"))
	var many []string
	for n := range history.MaxUndo + 1 {
		many = append(many, fmt.Sprintf("chg_%04d", n))
	}
	for name, c := range map[string]struct {
		ids    []string
		status int
	}{
		"another member's": {[]string{mine, theirs}, http.StatusNotFound}, "unknown": {[]string{mine, "chg_hd691gu278"}, http.StatusNotFound},
		"malformed": {[]string{mine, broken}, http.StatusNotFound}, "too many": {many, http.StatusBadRequest},
	} {
		for _, p := range []*webtest.Page{b.Get(several(c.ids...)), b.Post(webtest.UndoForm, url.Values{"change": c.ids, "form_token": {token}})} {
			if p.Status != c.status || strings.Contains(p.Text(), "Hedy") {
				t.Errorf("%s: %d %s", name, p.Status, p.Text())
			}
		}
	}
	want(t, b.Get(several(many...)), http.StatusBadRequest, "At most 100 changes can be undone at once.")
	for name, p := range map[string]*webtest.Page{
		"without a token": b.Post(webtest.UndoForm, url.Values{"change": {mine, mine}}), "by another": other.Post(webtest.UndoForm, url.Values{"change": {mine, theirs}, "form_token": {token}}),
	} {
		if p.Status == http.StatusSeeOther {
			t.Errorf("%s: it was undone", name)
		}
	}
	if webtest.FindPerson(t, s, other.Owner, theirsID) == nil || len(webtest.Changes(t, s, b.Owner)) != 1 {
		t.Error("something was undone")
	}
}

// Everything that one agent did since a time is undone, and nothing else.
func TestUndoOfAgent(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		old, _ := webtest.Added(t, s, b.Owner, "Old Friend")
		s.Clock.Advance(time.Hour)
		grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
		since := s.Clock.Now()
		webtest.Noted(t, s, b.Owner, old, "Brought a nanosecond")
		robots, _ := addedBy(t, s, b.Owner, "grt_2", "Robot", "Ada Lovelace")
		// The agent undid a change of its own: there is nothing to undo about that.
		_, mistake := webtest.Added(t, s, b.Owner, "By Mistake")
		webtest.By(t, s, b.Owner, "undo_change", func(ctx context.Context, tx *db.Tx) (history.Undone, error) {
			return history.Undo(ctx, tx, kinds.All(), mistake, false)
		})
		link := webtest.UndoForm + "?" + webtest.Values("agent", "Claude", "since", since.UTC().Format(time.RFC3339Nano)).Encode()
		p := b.Get(link)
		want(t, p, http.StatusOK, "Everything by Claude", "2 changes would be undone")
		if len(p.Form(webtest.UndoForm)["change"]) != 2 || !slices.Contains(p.Form(webtest.UndoForm)["change"], addition) || strings.Contains(p.Text(), "Old Friend By") {
			t.Errorf("%s: %v", link, p.Form(webtest.UndoForm))
		}
		wantRedirect(t, b.Submit(p, webtest.UndoForm, nil), "/activity?done=undone-several")
		if webtest.FindPerson(t, s, b.Owner, grace) != nil || webtest.FindPerson(t, s, b.Owner, robots) == nil || webtest.FindPerson(t, s, b.Owner, old) == nil {
			t.Error("the wrong ones are gone")
		}
		want(t, b.Get(link), http.StatusOK, "There is no change that could be undone.")

		agent := webtest.UndoForm + "?agent=Robot"
		want(t, b.Get(agent), http.StatusOK, "Undo everything since when?", "In your time zone, UTC.")
		want(t, b.Get(agent+"&since=yesterday"), http.StatusBadRequest, "Enter a day and a time")
		want(t, b.Get(agent+"&since="+since.Add(-time.Minute).Format("2006-01-02T15:04")), http.StatusOK, "1 change would be undone", "Added Ada Lovelace")
		want(t, b.Get(agent+"&since="+since.Add(time.Hour).Format("2006-01-02T15:04")), http.StatusOK, "There is nothing to undo")
		want(t, b.Get(webtest.UndoForm+"?agent="), http.StatusBadRequest, "This address is wrong")
		for _, strange := range []string{broken, "%ff", "%00", "%27", "%25"} {
			if p := b.Get(webtest.UndoForm + "?agent=" + url.QueryEscape(strange) + "&since=2001-01-01T00:00"); p.Status >= http.StatusInternalServerError {
				t.Errorf("%q: %d", strange, p.Status)
			}
			if p := b.Get("/activity?agent=" + strange + "&tool=" + strange); p.Status >= http.StatusInternalServerError {
				t.Errorf("%q: %d", strange, p.Status)
			}
		}
	})
}

// What agents read is counted by day, agent and tool, and shown.
func TestReads(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		ledger := billing.NewLedger(billing.LedgerConfig{DB: s.Store, Plans: billing.Plans{"free": 1000}, Logger: slog.New(slog.DiscardHandler)})
		read := func(owner tenant.ID, credentialID, name, tool string) {
			if _, err := ledger.ChargeRead(t.Context(), billing.Charge{Tenant: owner, Tool: tool, Price: 1, CredentialID: credentialID, CredentialName: name}); err != nil {
				t.Fatal(err)
			}
			if err := ledger.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		read(b.Owner, "grt_1", `<script>alert(1)</script>`, "search_connections")
		s.Clock.Advance(8 * 24 * time.Hour)
		b, other = s.BrowserOf(t, b.Owner), s.BrowserOf(t, other.Owner)
		read(b.Owner, "grt_2", "Robot", "search_connections")
		read(b.Owner, "grt_2", "Robot", "search_connections")
		read(b.Owner, "grt_2", "Robot", "get_connection")
		read(other.Owner, "grt_3", "Theirs", "get_connection")
		p := b.Get("/activity")
		want(t, p, http.StatusOK, s.Clock.Now().Format("2 January 2006")+" Robot: Read a connection 1, Search my connections 2")
		if strings.Contains(p.Text(), "script") || strings.Contains(p.Text(), "Theirs") {
			t.Error("older reads, or another member's, are shown")
		}
		p = b.Get(webtest.LinkTo(p, "What agents read"))
		want(t, p, http.StatusOK, "for 90 days", "Robot: ", "<script>alert(1)</script>: Search my connections 1")
		if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Text(), "Theirs") {
			t.Error("markup, or another member's reads, are shown")
		}
		if p = b.Get("/activity/reads?agent=robot"); strings.Contains(p.Text(), "script") || !strings.Contains(p.Text(), "Robot") {
			t.Error("the filter by agent does nothing")
		}
	})
}
