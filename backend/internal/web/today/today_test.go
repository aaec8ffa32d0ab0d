package today_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
	"golang.org/x/net/html"
)

// write runs a write of a member, or of their agent.
func write(t *testing.T, s *webtest.Site, owner tenant.ID, actor db.Actor, do func(ctx context.Context, tx *db.Tx) error) {
	t.Helper()
	if err := s.Store.Tenant(owner, false).Write(t.Context(), actor, do); err != nil {
		t.Fatal(err)
	}
}

// add adds a person, and returns their id.
func add(t *testing.T, s *webtest.Site, owner tenant.ID, d people.Draft) (id string) {
	t.Helper()
	write(t, s, owner, db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
		made, err := people.Create(ctx, tx, d)
		if err == nil {
			id = made.Connection.ID
		}
		return err
	})
	return id
}

// remind adds a reminder that was due some days before today, below 0 for days after it.
func remind(t *testing.T, s *webtest.Site, owner tenant.ID, r reminders.Reminder, late int) (id string) {
	t.Helper()
	due := s.Clock.Now().AddDate(0, 0, -late)
	r.DueOn = due.Format(time.DateOnly)
	write(t, s, owner, db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
		made, _, err := reminders.Create(ctx, tx, r, due)
		if err == nil {
			id = made.ID
		}
		return err
	})
	return id
}

// logged logs a contact with a person, some days ago.
func logged(t *testing.T, s *webtest.Site, owner tenant.ID, person string, days int) {
	t.Helper()
	write(t, s, owner, db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
		_, err := timeline.LogInteractions(ctx, tx, timeline.Interaction{ConnectionIDs: []string{person}, Kind: "meeting", OccurredAt: s.Clock.Now().AddDate(0, 0, -days)})
		return err
	})
}

// setInterval sets how often to be in touch with a person.
func setInterval(t *testing.T, s *webtest.Site, owner tenant.ID, person string, days int) {
	t.Helper()
	write(t, s, owner, db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
		_, err := people.SetCadence(ctx, tx, people.CadencePatch{IDs: []string{person}, Days: &days, Today: s.Clock.Now()})
		return err
	})
}

// changes returns the changes of a member, the latest first.
func changes(t *testing.T, s *webtest.Site, owner tenant.ID) []history.Change {
	t.Helper()
	found, err := history.ListChanges(t.Context(), s.Store.Tenant(owner, true), history.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

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

func without(t *testing.T, p *webtest.Page, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(p.Body, word) {
			t.Errorf("%q in:\n%s", word, p.Text())
		}
	}
}

// formWith returns the form to a path that has a value in a field.
func formWith(t *testing.T, p *webtest.Page, action, field, value string) url.Values {
	t.Helper()
	for _, form := range p.Forms(action) {
		if form.Get(field) == value {
			return form
		}
	}
	t.Fatalf("no form to %s with the %s %s:\n%s", action, field, value, p.Body)
	return nil
}

// undo undoes what the notice of a page offers to undo.
func undo(t *testing.T, b *webtest.Browser, p *webtest.Page) {
	t.Helper()
	shown := b.Follow(p)
	undone := b.Submit(shown, "/activity/undo", nil)
	if to := undone.Header.Get("Location"); to != "/?done=undone" {
		t.Fatalf("the undo leads to %q:\n%s", to, undone.Text())
	}
}

// The page shows what is due with its evidence, the work of agents, and people with whom the
// member is losing touch.
func TestToday(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
		ben, cleo := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}), add(t, s, b.Owner, people.Draft{Name: "Cleo Marsh"})
		remind(t, s, b.Owner, reminders.Reminder{Text: "Send the deck", ConnectionIDs: []string{ada}}, 3)
		remind(t, s, b.Owner, reminders.Reminder{Text: "Book the room"}, 0)
		remind(t, s, b.Owner, reminders.Reminder{Text: "Renew the passport"}, -30)
		logged(t, s, b.Owner, ben, 45)
		setInterval(t, s, b.Owner, ben, 20)
		for days := range 12 {
			logged(t, s, b.Owner, cleo, 200+days)
		}
		write(t, s, b.Owner, db.Actor{CredentialID: "grt_01J00000000000000000000000", CredentialName: "Research agent", Tool: "add_note"}, func(ctx context.Context, tx *db.Tx) error {
			_, _, err := timeline.AddNote(ctx, tx, timeline.Note{Body: "Likes tea", ConnectionIDs: []string{ada}})
			return err
		})
		p := b.Get("/")
		want(t, p, http.StatusOK, "Today", "Overdue", "Send the deck", "3 days ago", "Due today", "Book the room",
			"Ben Okafor", "Every 20 days, last contact 45 days ago", "Losing touch", "Cleo Marsh", "6 months ago", "Research agent", "2 overdue · 1 due today and in the next seven days")
		without(t, p, "Renew the passport")
		if p.Header.Get("Cache-Control") != "no-store" || p.Header.Get("Vary") != "Cookie" {
			t.Errorf("headers: %v", p.Header)
		}
		if to := b.Get("/today").Header.Get("Location"); to != "/" {
			t.Errorf("/today leads to %q", to)
		}
		want(t, b.Get("/?cursor=forged"), http.StatusBadRequest, "This address is wrong")
	})
}

// What was due before today is overdue, also a person whose interval ended less than half an interval
// ago, and the numbers above the lists are those of the lists.
func TestDueTodayIsDueToday(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		b.Submit(b.Get("/"), "/today/steps", nil)
		for name, days := range map[string]int{"Ann Late": 65, "Bo Today": 60, "Cy Soon": 57} {
			person := add(t, s, b.Owner, people.Draft{Name: name})
			logged(t, s, b.Owner, person, days)
			setInterval(t, s, b.Owner, person, 60)
		}
		remind(t, s, b.Owner, reminders.Reminder{Text: "Send the deck"}, 21)
		p := b.Get("/")
		var got []string
		for _, section := range p.All("section") {
			if part := listedIn(section); part != "" {
				got = append(got, part)
			}
		}
		if len(got) != 3 || got[0] != "Due today: Bo Today" || got[1] != "Overdue: Send the deck, Ann Late" || !strings.HasSuffix(got[2], "week: Cy Soon") {
			t.Errorf("the lists are %q", got)
		}
		want(t, p, http.StatusOK, "2 overdue · 2 due today and in the next seven days")
	})
}

// listedIn returns the title of a section of what is due and the names in it; empty for another section.
func listedIn(section *html.Node) string {
	var title string
	var entries []string
	for n := range section.Descendants() {
		switch {
		case n.Data == "h2":
			title = webtest.TextOf(n)
		case n.Data == "p" && slices.Contains(n.Attr, html.Attribute{Key: "class", Val: "what"}):
			entries = append(entries, webtest.TextOf(n))
		}
	}
	if len(entries) == 0 {
		return ""
	}
	return title + ": " + strings.Join(entries, ", ")
}

// Without people, the page links to the ways to add them.
func TestEmptyNetwork(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	p := b.Get("/")
	want(t, p, http.StatusOK, "Import your contacts", "Add a person", "Connect an agent")
	add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
	p = b.Get("/")
	want(t, p, http.StatusOK, "Nothing is due")
	want(t, p, http.StatusOK, "Done: Import your contacts")
}

// One click ends or snoozes an entry, and one more undoes it.
func TestOneClick(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
		logged(t, s, b.Owner, ada, 90)
		setInterval(t, s, b.Owner, ada, 10)
		deck := remind(t, s, b.Owner, reminders.Reminder{Text: "Send the deck"}, 3)
		for _, act := range []struct{ action, field, value, gone string }{
			{"/today/done", "reminder", deck, "Send the deck"}, {"/today/snooze", "reminder", deck, "Send the deck"},
			{"/today/done", "connection", ada, "Every 10 days"}, {"/today/snooze", "connection", ada, "Every 10 days"},
		} {
			before := b.Get("/")
			want(t, before, http.StatusOK, act.gone)
			done := b.Post(act.action, formWith(t, before, act.action, act.field, act.value))
			if !strings.HasPrefix(done.Header.Get("Location"), "/?change=chg_") {
				t.Fatalf("%s: leads to %q:\n%s", act.action, done.Header.Get("Location"), done.Text())
			}
			overdue := b.Get("/")
			if section := overdue.ByID("overdue"); section != nil && strings.Contains(webtest.TextOf(section), act.gone) || strings.Contains(overdue.Text(), "last contact 90 days ago") && act.field == "connection" {
				t.Errorf("%s %s: it is still due:\n%s", act.action, act.field, overdue.Text())
			}
			undo(t, b, done)
			want(t, b.Get("/"), http.StatusOK, act.gone)
		}
		form := formWith(t, b.Get("/"), "/today/done", "reminder", deck)
		b.Post("/today/done", form)
		again := b.Post("/today/done", form)
		if to := again.Header.Get("Location"); to != "/?done=changed-meanwhile" {
			t.Errorf("the second click leads to %q", to)
		}
	})
}

// The form logs a contact. What is wrong is shown at its field, and what was typed is kept.
func TestLog(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	ada := add(t, s, b.Owner, people.Draft{Name: "Ada <b>Stone</b>"})
	setInterval(t, s, b.Owner, ada, 1)
	s.Clock.Advance(72 * time.Hour)
	form := formWith(t, b.Get("/"), "/today/log", "connection", ada)
	long := strings.Repeat("x", 2001)
	form.Set("kind", "dance")
	form.Set("summary", long)
	before := len(changes(t, s, b.Owner))
	p := b.Post("/today/log", form)
	want(t, p, http.StatusUnprocessableEntity, "Log a contact with Ada <b>Stone</b>", long)
	for _, id := range []string{"kind-error", "summary-error"} {
		if p.ByID(id) == nil {
			t.Errorf("no %s", id)
		}
	}
	if len(changes(t, s, b.Owner)) != before {
		t.Error("something was written")
	}
	form.Set("kind", "call")
	form.Set("summary", "The <i>budget</i>")
	done := b.Post("/today/log", form)
	shown := b.Follow(done)
	want(t, shown, http.StatusOK, "Logged: ")
	without(t, shown, "Every day, last contact 3")
	undo(t, b, done)
	want(t, b.Get("/"), http.StatusOK, "Every day, no recorded contact")
}

// Objects of another member are not found, and do not change.
func TestOthers(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
		ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
		deck := remind(t, s, b.Owner, reminders.Reminder{Text: "Send the deck", ConnectionIDs: []string{ada}}, 3)
		add(t, s, other.Owner, people.Draft{Name: "Ben Okafor"})
		remind(t, s, other.Owner, reminders.Reminder{Text: "Mine"}, 3)
		p := other.Get("/")
		without(t, p, "Ada", "deck")
		token, before := p.Forms("/today/done")[0].Get("form_token"), len(changes(t, s, b.Owner))
		for _, id := range []string{ada, "con_ip892mx810", "x", "", deck, "con_%"} {
			for _, action := range []string{"/today/done", "/today/snooze", "/today/log"} {
				want(t, other.Post(action, url.Values{"form_token": {token}, "connection": {id}, "kind": {"call"}}), http.StatusNotFound, "There is nothing here")
				want(t, other.Post(action, url.Values{"form_token": {token}, "connection": {id}, "kind": {"dance"}, "summary": {strings.Repeat("x", 3000)}}), http.StatusNotFound)
			}
		}
		for _, id := range []string{deck, "rem_kj329pc263", "x", ada, "rem_%"} {
			for _, action := range []string{"/today/done", "/today/snooze"} {
				want(t, other.Post(action, url.Values{"form_token": {token}, "reminder": {id}, "due_on": {"2026-01-02"}}), http.StatusNotFound, "There is nothing here")
			}
		}
		if len(changes(t, s, b.Owner)) != before {
			t.Error("something of another member was changed")
		}
	})
}

// Only the forms of the page write, with their token, and only by POST.
func TestForged(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
	ada := add(t, s, b.Owner, people.Draft{Name: "Ada Stone"})
	deck := remind(t, s, b.Owner, reminders.Reminder{Text: "Send the deck", ConnectionIDs: []string{ada}}, 3)
	remind(t, s, other.Owner, reminders.Reminder{Text: "Mine"}, 3)
	before := len(changes(t, s, b.Owner))
	for _, action := range []string{"/today/done", "/today/snooze", "/today/log"} {
		form := url.Values{"reminder": {deck}, "connection": {ada}, "kind": {"call"}, "due_on": {s.Clock.Now().AddDate(0, 0, -3).Format(time.DateOnly)}}
		want(t, b.Post(action, form), http.StatusForbidden, "out of date")
		form.Set("form_token", other.Get("/").Forms("/today/done")[0].Get("form_token"))
		want(t, b.Post(action, form), http.StatusForbidden, "out of date")
		form.Set("form_token", b.Get("/").Forms("/today/done")[0].Get("form_token"))
		cross := b.Request(http.MethodPost, action, form)
		cross.Header.Set("Sec-Fetch-Site", "cross-site")
		cross.Header.Set("Origin", "https://evil.example")
		want(t, b.Do(cross), http.StatusForbidden, "another site")
		if to := b.Get(action + "?" + form.Encode()).Header.Get("Location"); to != "/today" {
			t.Errorf("GET %s leads to %q", action, to)
		}
		if to := s.Browser(t).Post(action, form).Header.Get("Location"); to != "/sign-in?return_to=%2F" {
			t.Errorf("%s of a visitor leads to %q", action, to)
		}
	}
	if len(changes(t, s, b.Owner)) != before {
		t.Error("something was written")
	}
}

// A browser whose session has ended is sent to sign in, and forgets the session.
func TestStaleSession(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	for _, cookie := range []string{"junk", strings.Repeat("A", 43)} {
		b := s.Browser(t)
		b.SetCookie("kith_session", cookie)
		p := b.Get("/")
		if to := p.Header.Get("Location"); p.Status != http.StatusSeeOther || to != "/sign-in?return_to=%2F" || p.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("status %d to %q", p.Status, to)
		}
		if b.Cookie("kith_session") != "" {
			t.Error("the browser keeps the session")
		}
	}
}

// Text of others is escaped everywhere.
func TestTextAsText(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	ada := add(t, s, b.Owner, people.Draft{Name: evil})
	remind(t, s, b.Owner, reminders.Reminder{Text: evil, ConnectionIDs: []string{ada}}, 1)
	for days := range 12 {
		logged(t, s, b.Owner, ada, 300+days)
	}
	setInterval(t, s, b.Owner, ada, 10)
	write(t, s, b.Owner, db.Actor{CredentialID: "grt_01J00000000000000000000000", CredentialName: evil, Tool: "create_connection"}, func(ctx context.Context, tx *db.Tx) error {
		_, err := people.Create(ctx, tx, people.Draft{Name: evil + "2"})
		return err
	})
	p := b.Get("/")
	want(t, p, http.StatusOK, "Losing touch", "Overdue")
	without(t, p, "<script>alert", "<img src=x")
}

// What is due in the next seven days is in two parts: up to the last day of the member's week,
// which their locale decides, and after it.
func TestWeeks(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	for s.Clock.Now().Weekday() != time.Wednesday {
		s.Clock.Advance(24 * time.Hour)
	}
	b := s.SignedIn(t, "maria")
	b.Submit(b.Get("/"), "/today/steps", nil)
	for text, days := range map[string]int{"Now": 0, "Thursday's": 1, "Friday's": 2, "Saturday's": 3, "Sunday's": 4, "Monday's": 5, "Wednesday's": 7, "Far": 8} {
		remind(t, s, b.Owner, reminders.Reminder{Text: text}, -days)
	}
	for locale, want := range map[string][]string{
		"de-DE": {"Heute fällig: Now", "Diese Woche: Thursday's Friday's Saturday's Sunday's", "Nächste Woche: Monday's Wednesday's"},
		"en-US": {"Due today: Now", "This week: Thursday's Friday's Saturday's", "Next week: Sunday's Monday's Wednesday's"},
		"ar-EG": {"Due today: Now", "This week: Thursday's Friday's", "Next week: Saturday's Sunday's Monday's Wednesday's"},
	} {
		saved := b.Submit(b.Get("/settings/time"), "/settings/time", url.Values{"locale": {locale}})
		if saved.Header.Get("Location") == "" {
			t.Fatalf("%s: %s", locale, saved.Text())
		}
		var got []string
		for _, section := range b.Get("/").All("section") {
			if part := dueIn(section); part != "" {
				got = append(got, part)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", locale, diff)
		}
	}
}

// dueIn returns the title of a section of what is due, and the texts of its entries; empty for
// another section.
func dueIn(section *html.Node) string {
	var title string
	var entries []string
	for n := range section.Descendants() {
		switch {
		case n.Data == "h2":
			title = n.FirstChild.Data
		case n.Data == "p" && slices.Contains(n.Attr, html.Attribute{Key: "class", Val: "what"}):
			entries = append(entries, n.FirstChild.FirstChild.Data)
		}
	}
	if len(entries) == 0 {
		return ""
	}
	return title + ": " + strings.Join(entries, " ")
}
