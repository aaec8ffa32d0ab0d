package contacts_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// ada is the person of most tests.
func ada() people.Draft {
	return people.Draft{
		Name: "Ada Stone", Nickname: "Ada", Location: "Lisbon", Tags: []string{"investor"}, MetHow: "Tideline Days", Bio: "Likes rowing.",
		Emails: []string{"ada@helios.example"}, Organization: "Helios", Title: "CTO", Dates: []people.DateDraft{{Kind: "birthday", Date: "1990-05-14"}},
	}
}

// done follows the redirect after a form, and wants the page with some words.
func done(t *testing.T, b *webtest.Browser, p *webtest.Page, words ...string) *webtest.Page {
	t.Helper()
	if p.Status != http.StatusSeeOther {
		t.Fatalf("status %d:\n%s", p.Status, p.Text())
	}
	p = b.Follow(p)
	wantPage(t, p, http.StatusOK, words...)
	return p
}

// edit opens the form of a section and posts it with changes.
func edit(t *testing.T, b *webtest.Browser, id, section string, change url.Values) *webtest.Page {
	t.Helper()
	path := "/people/" + id
	p := b.Get(path + "?edit=" + section)
	wantPage(t, p, http.StatusOK)
	return b.Submit(p, path+"/edit", change)
}

// Each section is edited in place, and Activity has what was before. What was done can be undone from
// the notice.
func TestEditSections(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id := add(t, s, b.Owner, ada(), "")
		makeGroup(t, s, b, "Rowers")
		for _, c := range []struct {
			section string
			change  url.Values
			words   []string
			history string
		}{
			{"name", url.Values{"location": {"Porto"}, "nickname": {""}, "met_on": {"2025-05"}}, []string{"Porto", "May 2025"}, "Before: Lisbon → After: Porto"},
			{"parts", url.Values{"family": {"Stone"}, "former": {"Pebble"}, "pronouns": {"she/her"}}, []string{"Family nameStone", "Former namePebble", "Pronounsshe/her"}, "Pebble"},
			{"parts", url.Values{"former": {""}}, []string{"Family nameStone"}, "she/her"},
			{"ways", url.Values{"emails": {"a@b.example\nada@helios.example"}, "phones": {"+351 21 000 0000"}}, []string{"a@b.example, ada@helios.example", "+351 21 000 0000"}, "After: a@b.example, ada@helios.example"},
			{"ways", url.Values{"emails": {""}}, []string{"+351 21 000 0000"}, "a@b.example"},
			{"ways", url.Values{"emails": {"ada@home.example (home)\nada@work.example"}, "phones": {"+1 (212) 555 0100 (mobile)"}},
				[]string{"ada@home.example home", "+1 (212) 555 0100 mobile"}, "ada@home.example (home)"},
			{"accounts", url.Values{"service.0": {"Signal"}, "handle.0": {"+351 1"}, "service.1": {"github"}, "handle.1": {"ada"}},
				[]string{"Signal+351 1", "GitHubada"}, "Signal +351 1, GitHub ada"},
			{"accounts", url.Values{"handle.0": {""}}, []string{"GitHubada"}, "GitHub ada"},
			{"addresses", url.Values{"label.0": {"home"}, "street.0": {"Rua do Sol 3"}, "locality.0": {"Tavira"}, "country.0": {"portugal"}, "label.1": {""}, "text.1": {"Behind the mill"}},
				[]string{"homeRua do Sol 3 Tavira Portugal", "AddressBehind the mill"}, "Rua do Sol 3, Tavira, Portugal"},
			{"positions", url.Values{"title.0": {"CEO"}, "started_on.0": {"2020"}, "organization.1": {"Tideline"}, "title.1": {"Adviser"}}, []string{"CEO (2020–)", "Works atTideline Adviser"}, "CEO at Helios (2020–), Adviser at Tideline"},
			{"dates", url.Values{"kind.1": {"other"}, "date.1": {"--12-01"}, "label.1": {"Name day"}}, []string{"Name day1 December", "14 May 1990"}, "birthday 14 May 1990, Name day 1 December"},
			{"dates", url.Values{"date.0": {""}, "date.1": {""}, "label.1": {""}}, []string{"+ Dates"}, "before: birthday 14 May 1990, Name day 1 December"},
			{"groups", url.Values{"tags": {"investor\nrower"}}, []string{"investor, rower"}, "after: investor, rower"},
			{"cadence", url.Values{"days": {"30"}}, []string{"Every 30 days"}, "30 days"},
			{"about", url.Values{"bio": {"Likes\r\nchess."}}, []string{"Likes chess."}, "after: Likes chess."},
		} {
			done(t, b, edit(t, b, id, c.section, c.change), append(c.words, "Your changes are saved.")...)
			wantPage(t, b.Get("/activity?connection_id="+id), http.StatusOK, c.history)
		}
		p := b.Get("/people/" + id)
		without(t, p, "Lisbon", "a@b.example", "Name day", "1990")
		p = done(t, b, edit(t, b, id, "name", url.Values{"location": {"Faro"}}), "Faro")
		p = b.Follow(b.Submit(p, "/activity/undo", nil))
		wantPage(t, p, http.StatusOK, "Porto")
		without(t, p, "Faro")
		without(t, done(t, b, edit(t, b, id, "name", nil)), "Your changes are saved.")
	})
}

func makeGroup(t *testing.T, s *webtest.Site, b *webtest.Browser, name string) string {
	t.Helper()
	var id string
	err := s.Store.Tenant(b.Owner, false).Write(t.Context(), db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
		saved, err := groups.Save(ctx, tx, groups.Patch{Name: &name})
		if err == nil {
			id = saved.Group.ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Pinned notes stand before all other entries, however old they are, and are not repeated below.
func TestPinnedNotesComeFirst(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id := add(t, s, b.Owner, ada(), "")
		path := "/people/" + id
		post := func(body string, more ...string) {
			t.Helper()
			s.Clock.Advance(time.Minute)
			done(t, b, b.Submit(b.Get(path), path+"/note", webtest.Values(append([]string{"body", body}, more...)...)), body)
		}
		post("Pinned long ago", "pinned", "true")
		post("Pinned later", "pinned", "true")
		for n := range 25 {
			post(fmt.Sprintf("Note %02d", n))
		}
		bodies := func(p *webtest.Page) (out []string) {
			for _, entry := range p.All("div") {
				if webtest.Attr(entry, "class") == "note" {
					out = append(out, webtest.TextOf(entry))
				}
			}
			return out
		}
		first := b.Get(path)
		got := bodies(first)
		if len(got) < 3 || got[0] != "Pinned later" || got[1] != "Pinned long ago" || got[2] != "Note 24" {
			t.Errorf("the timeline begins with %q", got)
		}
		older := bodies(b.Get(webtest.LinkTo(first, "Older")))
		if len(older) != 5 || slices.Contains(older, "Pinned later") {
			t.Errorf("the next page has %q", older)
		}
		if meetings := bodies(b.Get(path + "?kinds=meeting")); len(meetings) > 0 {
			t.Errorf("the meetings are %q", meetings)
		}
		if notes := bodies(b.Get(path + "?kinds=note")); notes[0] != "Pinned later" {
			t.Errorf("the notes begin with %q", notes[0])
		}
		b.Submit(first, path+"/act", webtest.Values("act", "archive"))
		if archived := bodies(b.Get(path)); archived[0] != "Note 24" && archived[0] != "Pinned later" {
			t.Errorf("of the archived person: %q", archived)
		}
	})
}

// The address of a person in the bin says that they are there, until when, and restores them. So do the
// addresses of their forms.
func TestPersonInTheBin(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		id := add(t, s, b.Owner, ada(), "")
		path := "/people/" + id
		open := b.Get(path).Fill(path+"/note", webtest.Values("body", "Rows on Tuesdays"))
		webtest.Deleted(t, s, b.Owner, id)
		until := s.Clock.Now().AddDate(0, 0, 30).Format("2 January 2006")
		p := b.Get(path)
		wantPage(t, p, http.StatusOK, "Ada Stone is in the bin", "Claude moved Ada Stone to the bin on", "until "+until, "Restore", "See the bin")
		wantPage(t, b.Get(path+"/merge"), http.StatusOK, "Ada Stone is in the bin")
		wantPage(t, b.Post(path+"/note", open), http.StatusConflict, "Ada Stone is in the bin")
		wantPage(t, other.Get(path), http.StatusNotFound, "There is nothing here")
		restored := b.Follow(b.Submit(p, "/people/bin/restore", nil))
		wantPage(t, restored, http.StatusOK, "Ada Stone", "The person is restored", "Lisbon")
		deletion := webtest.Deleted(t, s, b.Owner, id)
		if err := history.EndDeletion(t.Context(), s.Store.Tenant(b.Owner, false), "people/bin", deletion); err != nil {
			t.Fatal(err)
		}
		wantPage(t, b.Get(path), http.StatusNotFound, "There is nothing here")
	})
}

// merged returns one form with the values of another.
func merged(form, change url.Values) url.Values {
	maps.Copy(form, change)
	return form
}

// Every mistake names the field as the page does, never as the contract does.
func TestMistakesNameTheFieldByItsLabel(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	id := add(t, s, b.Owner, ada(), "")
	path, long := "/people/"+id, strings.Repeat("a", 5000)
	check := func(what, label string, p *webtest.Page) {
		t.Helper()
		summary := webtest.TextOf(p.ByID("summary-title").Parent)
		if p.Status != http.StatusBadRequest || !strings.Contains(summary, label) || regexp.MustCompile(`\[\d|[a-z]_[a-z]|Emails\b|Urls\b`).MatchString(summary) {
			t.Errorf("%s: %d %q, not about %q", what, p.Status, summary, label)
		}
	}
	for _, c := range []struct{ section, field, typed, label string }{
		{"name", "name", "", "Name"}, {"name", "met_on", "in spring", "When you met"}, {"name", "met_on", "2025-02-31", "When you met"}, {"name", "location", long, "Place"},
		{"ways", "emails", "ada@helios.example\nno address", "E-mail addresses, line 2"}, {"ways", "urls", "ftp://x", "Links"}, {"ways", "phones", long, "Phone numbers"},
		{"positions", "title.0", long, "Title"}, {"positions", "ended_on.0", "soon", "Until"}, {"dates", "date.0", "in spring", "Date"},
		{"groups", "tags", long, "Tags"}, {"cadence", "days", "9999", "Days between contacts"}, {"cadence", "snooze_until", "2001-01-01", "Not before"}, {"about", "bio", long, "About"},
	} {
		check(c.section+" "+c.field, c.label, edit(t, b, id, c.section, url.Values{c.field: {c.typed}}))
	}
	for _, c := range []struct{ form, field, typed, label string }{
		{"note", "body", "", "Note"}, {"log", "summary", long, "What it was about"}, {"log", "occurred_at", "2999-01-01", "Day"}, {"remind", "text", "", "What to do"}, {"remind", "due_on", "2001-01-01", "Day"},
	} {
		check(c.form+" "+c.field, c.label, b.Submit(b.Get(path), path+"/"+c.form, merged(url.Values{"text": {"Call"}}, url.Values{c.field: {c.typed}})))
	}
	check("list", "Birthday between", b.Get("/people?birthday_between=x&birthday_between=y"))
	check("list", "Last contact before", b.Get("/people?last_contact_before=x"))
	check("list", "Met after", b.Get("/people?met_on_after=x"))
}

// Dates are typed and shown as the member's language writes them, or typed in words. A form that is saved as it was shown
// changes nothing.
func TestDatesAreTypedAsTheMemberWritesThem(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	b.Submit(b.Get("/settings/time"), "/settings/time", url.Values{"timezone": {"Europe/Berlin"}, "locale": {"de-DE"}})
	id := add(t, s, b.Owner, ada(), "")
	path := "/people/" + id
	for typed, want := range map[string]string{"26.11.1975": "26.11.1975", "3.4.2001": "03.04.2001", "26. November 1975": "26.11.1975", "11/1975": "November 1975", "um 1950": "um 1950", "5.6.": "05.06.", "1990-12-01": "01.12.1990"} {
		done(t, b, edit(t, b, id, "dates", url.Values{"date.0": {typed}}), "Geburtstag"+want)
		form := b.Get(path + "?edit=dates")
		if got := form.Form(path + "/edit").Get("date.0"); got != want {
			t.Errorf("%q is shown as %q in the form, not %q", typed, got, want)
		}
		if again := b.Submit(form, path+"/edit", nil); again.Status != http.StatusSeeOther || strings.Contains(again.Header.Get("Location"), "change=") {
			t.Errorf("%q: a form that was not changed writes: %d %s", typed, again.Status, again.Header.Get("Location"))
		}
	}
	yesterday := s.Clock.Now().In(civil.Zone("Europe/Berlin")).AddDate(0, 0, -1).Format("02.01.2006")
	done(t, b, edit(t, b, id, "name", url.Values{"met_on": {"gestern"}}), yesterday)
	p := edit(t, b, id, "name", url.Values{"met_on": {"im Frühling"}})
	wantWrong(t, p, http.StatusBadRequest, "met_on")
	wantPage(t, p, http.StatusBadRequest, "Wann ihr euch kennengelernt habt: “im Frühling” ist als Datum nicht lesbar.")
	if got := p.Form(path + "/edit").Get("met_on"); got != "im Frühling" {
		t.Errorf("what was typed became %q", got)
	}
}

// Groups are ticked and cleared.
func TestEditGroups(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	id, group := add(t, s, b.Owner, ada(), ""), makeGroup(t, s, b, "Rowers")
	done(t, b, edit(t, b, id, "groups", url.Values{"group." + group: {"true"}}), "Rowers")
	wantPage(t, b.Get("/activity?connection_id="+id), http.StatusOK, "after: Rowers")
	without(t, done(t, b, edit(t, b, id, "groups", url.Values{"group." + group: nil})), "Rowers")
}

// A wrong value is explained at its field, and everything typed is kept.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	id := add(t, s, b.Owner, ada(), "")
	for _, c := range []struct {
		section, field string
		typed          url.Values
	}{
		{"name", "name", url.Values{"name": {""}, "nickname": {"Kept words"}}},
		{"name", "met_on", url.Values{"met_on": {"in spring"}, "nickname": {"Kept words"}}},
		{"ways", "emails", url.Values{"emails": {"ada@helios.example\nno address"}, "phones": {"+1 23 4567"}}},
		{"ways", "urls", url.Values{"urls": {"ftp://x"}}},
		{"parts", "family", url.Values{"given": {"Kept words"}, "family": {strings.Repeat("x", 201)}}},
		{"accounts", "handle.0", url.Values{"service.0": {"Kept words"}, "handle.0": {"https://x.example/ada"}}},
		{"addresses", "country.0", url.Values{"street.0": {"Kept words"}, "country.0": {"Nowhere land"}}},
		{"positions", "started_on.0", url.Values{"started_on.0": {"last year"}, "title.0": {"Kept words"}}},
		{"positions", "ended_on.0", url.Values{"started_on.0": {"2020"}, "ended_on.0": {"2019"}, "title.0": {"Kept words"}}},
		{"positions", "title.1", url.Values{"title.1": {strings.Repeat("a", 200)}}},
		{"dates", "date.1", url.Values{"date.1": {"some day"}, "label.1": {"Kept words"}}},
		{"dates", "date.0", url.Values{"date.0": {"1990-02-31"}}},
		{"cadence", "days", url.Values{"days": {"often"}}},
		{"cadence", "days", url.Values{"days": {"9999"}}},
		{"cadence", "snooze_until", url.Values{"snooze_until": {"2001-01-01"}, "days": {"20"}}},
		{"about", "bio", url.Values{"bio": {strings.Repeat("b", 2001)}}},
		{"groups", "tags", url.Values{"tags": {"investor\n" + strings.Repeat("t", 70)}}},
	} {
		p := edit(t, b, id, c.section, c.typed)
		wantWrong(t, p, http.StatusBadRequest, c.field)
		form := p.Form("/people/" + id + "/edit")
		for name, values := range c.typed {
			if got := strings.ReplaceAll(form.Get(name), "\r", ""); strings.TrimPrefix(got, "\n") != values[0] {
				t.Errorf("%s: %s is %q, not %q", c.section, name, got, values[0])
			}
		}
	}
	wantPage(t, b.Get("/people/"+id), http.StatusOK, "Ada Stone", "CTO", "14 May 1990", "ada@helios.example")
}

// wantWrong wants a page with an error at a field, which the summary links to.
func wantWrong(t *testing.T, p *webtest.Page, status int, field string) {
	t.Helper()
	n := p.ByID(field)
	if p.Status != status || n == nil || !strings.Contains(p.Body, `href="#`+field+`"`) {
		t.Fatalf("%s: status %d, field %v:\n%s", field, p.Status, n, p.Text())
	}
	if status == http.StatusBadRequest && webtest.Attr(n, "aria-invalid") != "true" {
		t.Errorf("%s is not marked", field)
	}
}

// Two tabs that edit one person lose nothing: changes of different fields are both kept, and
// for the same field the second tab shows both values and may choose.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id := add(t, s, b.Owner, ada(), "")
		path := "/people/" + id
		first, second := b.Get(path+"?edit=name"), b.Get(path+"?edit=name")
		done(t, b, b.Submit(first, path+"/edit", url.Values{"location": {"Porto"}}), "Porto")
		done(t, b, b.Submit(second, path+"/edit", url.Values{"nickname": {"Addie"}}), "Porto", "Addie")

		p := b.Submit(second, path+"/edit", url.Values{"location": {"Faro"}})
		wantWrong(t, p, http.StatusConflict, "location")
		wantPage(t, p, http.StatusConflict, "Stored now: Porto", "changed while you were typing", "Keep what is stored")
		if got := p.Form(path + "/edit"); got.Get("location") != "Faro" || got.Get("nickname") != "Addie" {
			t.Errorf("the form has %v", got)
		}
		wantPage(t, b.Get(path), http.StatusOK, "Porto")
		done(t, b, b.Submit(p, path+"/edit", nil), "Faro", "Addie")

		first, second = b.Get(path+"?edit=positions"), b.Get(path+"?edit=positions")
		done(t, b, b.Submit(first, path+"/edit", url.Values{"organization.1": {"Tideline"}}), "Tideline")
		p = b.Submit(second, path+"/edit", url.Values{"title.0": {"Chair"}})
		wantPage(t, p, http.StatusConflict, "This list was changed while you were typing.")
		if got := p.Form(path + "/edit"); got.Get("title.0") != "Chair" {
			t.Errorf("the form has %v", got)
		}
		wantPage(t, b.Get(path), http.StatusOK, "Tideline", "CTO")

		first, second = b.Get(path+"?edit=groups"), b.Get(path+"?edit=groups")
		done(t, b, b.Submit(first, path+"/edit", url.Values{"tags": {"investor\nrower"}}), "rower")
		wantPage(t, b.Submit(second, path+"/edit", url.Values{"tags": {"investor\nsinger"}}), http.StatusConflict, "rower")
	})
}

// The bar adds notes, contacts and reminders, and keeps what was typed wrongly.
func TestBar(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id := add(t, s, b.Owner, ada(), "")
		ben := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}, "")
		add(t, s, b.Owner, people.Draft{Name: "Kim Lee", Title: "Pilot"}, "")
		add(t, s, b.Owner, people.Draft{Name: "Kim Lee", Title: "Baker", OnDuplicate: people.OnDuplicateCreate}, "")
		path := "/people/" + id
		page := b.Get(path)
		today := s.Clock.Now().Format(time.DateOnly)

		wantWrong(t, b.Submit(page, path+"/note", url.Values{"body": {" "}}), http.StatusBadRequest, "body")
		p := done(t, b, b.Submit(page, path+"/note", url.Values{"body": {"Prefers calls."}, "pinned": {"true"}}), "Prefers calls.", "Pinned", "The note is added.")
		p = b.Follow(b.Submit(p, "/activity/undo", nil))
		without(t, p, "Prefers calls.")

		for typed, field := range map[string]string{"occurred_at": "2999-01-01", "kind": "dance", "with": "Kim Lee", "summary": strings.Repeat("s", 2001)} {
			change := url.Values{typed: {field}}
			if typed != "summary" {
				change.Set("summary", "Kept words")
			}
			p := b.Submit(page, path+"/log", change)
			wantPage(t, p, http.StatusBadRequest)
			if typed != "summary" && !strings.Contains(p.Form(path+"/log").Get("summary"), "Kept words") {
				t.Errorf("%s: the words are lost", typed)
			}
		}
		wantPage(t, b.Submit(page, path+"/log", url.Values{"with": {"Kim Lee"}}), http.StatusBadRequest, "Pilot", "Baker")
		wantPage(t, b.Submit(page, path+"/log", url.Values{"with": {"Nobody Atall"}}), http.StatusBadRequest, "You know nobody called")
		done(t, b, b.Submit(page, path+"/log", url.Values{"kind": {"call"}, "occurred_at": {today}, "summary": {"Talked boats."}, "with": {"Ben Okafor"}}), "Talked boats.", "Call", "Ben Okafor")
		wantPage(t, b.Get("/people/"+ben), http.StatusOK, "Talked boats.", "Ada Stone")
		wantPage(t, b.Get(path+"?kinds=call"), http.StatusOK, "Talked boats.")
		without(t, b.Get(path+"?kinds=note"), "Talked boats.")
		wantPage(t, b.Get(path+"?kinds=dance"), http.StatusBadRequest)

		wantWrong(t, b.Submit(page, path+"/remind", url.Values{"text": {"Call Ada"}, "due_on": {"2001-01-01"}}), http.StatusBadRequest, "due_on")
		done(t, b, b.Submit(page, path+"/remind", url.Values{"text": {"Call Ada"}, "due_on": {today}}), "Call Ada", "The reminder is set.")
	})
}

// Entries of the timeline are edited, pinned and deleted; two tabs lose nothing.
func TestEntries(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		long := strings.Repeat("word ", 500) + "the end"
		id := add(t, s, b.Owner, ada(), long)
		path := "/people/" + id
		entry := b.Get(path).Form(path + "/entry").Get("entry")
		first, second := b.Get(path+"?entry="+entry), b.Get(path+"?entry="+entry)
		if got := strings.TrimPrefix(first.Form(path+"/entry-edit").Get("edit_body"), "\n"); got != long {
			t.Fatalf("the form has %d of %d bytes", len(got), len(long))
		}
		wantWrong(t, b.Submit(first, path+"/entry-edit", url.Values{"edit_body": {""}}), http.StatusBadRequest, "edit_body")
		done(t, b, b.Submit(first, path+"/entry-edit", url.Values{"edit_body": {"One"}}), "One")
		p := b.Submit(second, path+"/entry-edit", url.Values{"edit_body": {"Two"}})
		wantPage(t, p, http.StatusConflict, "Stored now: One", "Two")
		done(t, b, b.Submit(p, path+"/entry-edit", nil), "Two")
		p = done(t, b, b.Submit(b.Get(path), path+"/entry", url.Values{"act": {"pin"}}), "Pinned")
		without(t, done(t, b, b.Submit(p, path+"/entry", url.Values{"act": {"unpin"}})), "Pinned")
		p = done(t, b, b.Submit(b.Get(path), path+"/entry", url.Values{"act": {"delete"}}), "The entry is deleted.")
		without(t, p, "Two")
		wantPage(t, b.Follow(b.Submit(p, "/activity/undo", nil)), http.StatusOK, "Two")

		done(t, b, b.Submit(b.Get(path), path+"/log", url.Values{"summary": {"Lunch"}}), "Lunch")
		p = b.Get(path + "?kinds=meeting")
		entry = p.Form(path + "/entry?kinds=meeting").Get("entry")
		p = b.Get(path + "?kinds=meeting&entry=" + entry)
		action := path + "/entry-edit?kinds=meeting"
		wantWrong(t, b.Submit(p, action, url.Values{"edit_occurred_at": {"2999-01-01"}, "edit_summary": {"Dinner"}}), http.StatusBadRequest, "edit_occurred_at")
		done(t, b, b.Submit(p, action, url.Values{"edit_summary": {"Dinner"}, "edit_kind": {"meeting"}}), "Dinner")
	})
}

// Reminders are done, moved, edited and deleted on the page.
func TestReminders(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	id := add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}, "")
	path, today := "/people/"+id, s.Clock.Now()
	due := func() *webtest.Page {
		return done(t, b, b.Submit(b.Get(path), path+"/remind", url.Values{"text": {"Call Ben"}, "due_on": {today.Format(time.DateOnly)}}), "Call Ben")
	}
	p := done(t, b, b.Submit(due(), path+"/reminder", url.Values{"act": {"done"}}), "A repeating reminder moved to its next day.")
	without(t, p, "Call Ben")
	p = b.Follow(b.Submit(p, "/activity/undo", nil))
	p = done(t, b, b.Submit(p, path+"/reminder", url.Values{"act": {"next-week"}}), today.AddDate(0, 0, 7).Format("2 January 2006"))
	reminder := p.Form(path + "/reminder").Get("reminder")
	first, second := b.Get(path+"?reminder="+reminder), b.Get(path+"?reminder="+reminder)
	wantWrong(t, b.Submit(first, path+"/reminder-edit", url.Values{"edit_due_on": {"2001-01-01"}}), http.StatusBadRequest, "edit_due_on")
	done(t, b, b.Submit(first, path+"/reminder-edit", url.Values{"edit_text": {"Write to Ben"}}), "Write to Ben")
	wantPage(t, b.Submit(second, path+"/reminder-edit", url.Values{"edit_text": {"Visit Ben"}}), http.StatusConflict, "Stored now: Write to Ben")
	without(t, done(t, b, b.Submit(b.Get(path), path+"/reminder", url.Values{"act": {"dismissed"}}), "The reminder is deleted."), "Write to Ben")
}

// A person is starred, archived, related, merged and deleted, and all of it can be undone.
func TestActsOnAPerson(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		id, ben := add(t, s, b.Owner, ada(), "About Ada"), add(t, s, b.Owner, people.Draft{Name: "Ben Okafor", Location: "Lagos"}, "About Ben")
		path := "/people/" + id
		act := func(name string, words ...string) *webtest.Page {
			t.Helper()
			return done(t, b, b.Submit(b.Get(path), path+"/act", url.Values{"act": {name}}), words...)
		}
		act("star", "★ starred", "The person is starred.")
		act("unstar", "no longer starred")
		open := b.Get(path + "?edit=name")
		p := act("archive", "Archived", "About Ada")
		without(t, p, "Log a contact", "Edit")
		wantPage(t, b.Submit(open, path+"/edit", url.Values{"name": {"Eve"}}), http.StatusConflict, "Nothing was written")
		act("unarchive", "back in your lists")

		p = b.Get(path + "?edit=relations")
		wantWrong(t, b.Submit(p, path+"/link", url.Values{"with_person": {"Nobody"}}), http.StatusBadRequest, "with_person")
		done(t, b, b.Submit(p, path+"/link", url.Values{"with_person": {"Ben Okafor"}, "type": {"manager"}}), "manager", "Ben Okafor")
		p = b.Get("/people/" + ben + "?edit=relations")
		wantPage(t, p, http.StatusOK, "report: Ada Stone")
		without(t, done(t, b, b.Submit(p, "/people/"+ben+"/unlink", nil), "The relation is removed"), "Ada Stone")

		p = b.Get(path + "?edit=relations")
		wantWrong(t, b.Submit(p, path+"/link", url.Values{"with_person": {""}, "named": {"true"}}), http.StatusBadRequest, "with_person")
		wantWrong(t, b.Submit(p, path+"/link", url.Values{"with_person": {"Vera Holm"}, "named": {"true"}, "word": {strings.Repeat("x", 81)}}), http.StatusBadRequest, "word")
		p = done(t, b, b.Submit(p, path+"/link", url.Values{"with_person": {"Vera Holm"}, "named": {"true"}, "word": {"mother"}}), "mother", "Vera Holm", "not in Kith")
		without(t, p, "Link to")
		vera := add(t, s, b.Owner, people.Draft{Name: "Vera Holm"}, "")
		p = b.Get(path)
		wantPage(t, p, http.StatusOK, "Link to Vera Holm", "not in Kith")
		p = done(t, b, b.Submit(p, path+"/link", nil), "mother", "Vera Holm")
		without(t, p, "Link to Vera Holm", "not in Kith")
		if !strings.Contains(p.Body, `href="/people/`+vera) {
			t.Error("the person is not linked")
		}
		wantPage(t, b.Get("/activity?connection_id="+id), http.StatusOK, "mother: Vera Holm", "relations to people who are not in Kith")
		b.Submit(b.Get(path+"?edit=relations"), path+"/unlink", nil)
		p = b.Get(path + "?edit=relations")
		done(t, b, b.Submit(p, path+"/link", url.Values{"with_person": {"Otto Brand"}, "named": {"true"}, "type": {"other"}}), "Otto Brand")
		p = b.Get(path + "?edit=relations")
		without(t, done(t, b, b.Submit(p, path+"/unlink", nil), "The relation is removed"), "Otto Brand")

		wantPage(t, b.Get(path+"/merge?q=okafor"), http.StatusOK, "Ben Okafor")
		p = b.Get(path + "/merge?merge=" + ben)
		wantPage(t, p, http.StatusOK, "Merge Ada Stone and Ben Okafor", "A note keeps what is not chosen.", "Lagos")
		wantPage(t, b.Get("/people/"+ben), http.StatusOK, "About Ben")
		p = done(t, b, b.Submit(p, path+"/merge", nil), "The two are merged.", "About Ben", "Place: Lagos")
		if to := b.Get("/people/" + ben).Header.Get("Location"); to != path {
			t.Errorf("the merged record leads to %q", to)
		}
		wantPage(t, b.Follow(b.Submit(p, "/activity/undo", nil)), http.StatusOK)
		wantPage(t, b.Get("/people/"+ben), http.StatusOK, "Lagos")

		p = act("delete", "The person is in the bin")
		wantPage(t, b.Get(path), http.StatusOK, "Ada Stone is in the bin")
		b.Follow(b.Submit(p, "/activity/undo", nil))
		wantPage(t, b.Get(path), http.StatusOK, "Ada Stone")
	})
}

// A member cannot reach the people, entries and reminders of another member, and no form works
// without its token.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
	id, own := add(t, s, b.Owner, ada(), "A secret"), add(t, s, other.Owner, people.Draft{Name: "Ben Okafor"}, "")
	path, ownPath := "/people/"+id, "/people/"+own
	b.Submit(b.Get(path), path+"/remind", url.Values{"text": {"Call Ada"}})
	p := b.Get(path)
	entry, reminder := p.Form(path+"/entry").Get("entry"), p.Form(path+"/reminder").Get("reminder")
	token := other.Get(ownPath).Form(ownPath + "/note").Get("form_token")
	for form, values := range map[string]url.Values{
		"edit": {"section": {"name"}, "name": {"Eve"}}, "note": {"body": {"x"}}, "log": {"kind": {"call"}}, "remind": {"text": {"x"}, "due_on": {s.Clock.Now().Format(time.DateOnly)}},
		"act": {"act": {"archive"}}, "link": {"with_person": {own}, "type": {"friend"}}, "unlink": {"other": {own}, "type": {"friend"}}, "merge": {"other": {own}}, "nothing": {},
	} {
		values.Set("form_token", token)
		wantPage(t, other.Post(path+"/"+form, values), http.StatusNotFound)
		values.Del("form_token")
		wantPage(t, other.Post(ownPath+"/"+form, values), http.StatusForbidden)
	}
	for form, values := range map[string]url.Values{
		"entry": {"entry": {entry}, "act": {"delete"}}, "entry-edit": {"entry": {entry}, "edit_body": {"x"}}, "reminder": {"reminder": {reminder}, "act": {"done"}},
		"reminder-edit": {"reminder": {reminder}, "edit_text": {"x"}}, "merge": {"other": {id}}, "unlink": {"other": {id}, "type": {"friend"}}, "link": {"with_person": {id}, "type": {"friend"}},
	} {
		values.Set("form_token", token)
		wantPage(t, other.Post(ownPath+"/"+form, values), http.StatusNotFound)
	}
	act := url.Values{"form_token": {token}, "act": {"pin"}, "entry": {entry}}
	wantPage(t, other.Post(ownPath+"/entry", act), http.StatusNotFound)
	for _, get := range []string{path + "/merge", path + "?edit=name", ownPath + "/merge?merge=" + id, ownPath + "?reminder=" + reminder} {
		wantPage(t, other.Get(get), http.StatusNotFound)
	}
	without(t, other.Get(ownPath+"?entry="+entry), "secret")
	wantPage(t, b.Get(path), http.StatusOK, "Ada Stone", "A secret", "Call Ada")
}

// Stored text is escaped in every form and in the history.
func TestFormsShowTextAsText(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const evil = `"></textarea><script>alert(1)</script><img src=x onerror=alert(1)>`
	id := add(t, s, b.Owner, people.Draft{
		Name: evil, Nickname: evil, Location: evil, Bio: evil, MetHow: evil, Tags: []string{evil}, URLs: []string{"https://a.example/" + strings.ReplaceAll(evil, " ", "")},
		Organization: evil, Title: evil, Dates: []people.DateDraft{{Kind: "other", Date: "2001", Label: evil}},
	}, evil)
	add(t, s, b.Owner, people.Draft{Name: evil + "2", Location: evil + "2"}, "")
	makeGroup(t, s, b, evil)
	path := "/people/" + id
	b.Submit(b.Get(path), path+"/remind", url.Values{"text": {evil}})
	b.Submit(b.Get(path), path+"/log", url.Values{"summary": {evil}, "kind": {"call"}})
	p := b.Get(path)
	pages := []string{path, path + "/merge", path + "/merge?q=script", path + "?reminder=" + p.Form(path+"/reminder").Get("reminder")}
	for _, form := range p.Forms(path + "/entry") {
		pages = append(pages, path+"?entry="+form.Get("entry"))
	}
	for _, section := range []string{"name", "parts", "ways", "accounts", "addresses", "positions", "dates", "relations", "groups", "cadence", "about"} {
		pages = append(pages, path+"?edit="+section)
	}
	for _, address := range pages {
		p := b.Get(address)
		wantPage(t, p, http.StatusOK)
		if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Body, "<img src=x") {
			t.Errorf("%s runs stored text:\n%s", address, p.Body)
		}
	}
	p = b.Submit(b.Get(path), path+"/log", url.Values{"with": {"Nobody " + evil}, "summary": {evil}, "occurred_at": {"2999-01-01"}})
	wantPage(t, p, http.StatusBadRequest)
	if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Body, "<img src=x") {
		t.Errorf("an error runs stored text:\n%s", p.Body)
	}
}
