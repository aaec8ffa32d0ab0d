package contacts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const newPath = "/people/new"

const stoneLine = "Ada Stone, CTO at Helios, met at Tideline Days, ada@helios.example, #investor, likes rowing"

func lineAddress(line string) string { return newPath + "?" + url.Values{"line": {line}}.Encode() }

// formOf returns the form that saves, and fails unless it contains the values.
func formOf(t *testing.T, p *webtest.Page, want url.Values) url.Values {
	t.Helper()
	var form url.Values
	for _, f := range p.Forms(newPath) {
		if f.Has("form_token") {
			form = f
		}
	}
	for name := range want {
		if got := strings.TrimSpace(form.Get(name)); got != want.Get(name) {
			t.Errorf("%s is %q, not %q", name, got, want.Get(name))
		}
	}
	return form
}

// One line fills in the form, and saving it adds the person, which the notice undoes.
func TestCapture(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		wantPage(t, b.Get(newPath), http.StatusOK, "One line")
		form := formOf(t, b.Get(lineAddress(stoneLine)), url.Values{
			"name": {"Ada Stone"}, "title": {"CTO"}, "organization": {"Helios"}, "met_how": {"Tideline Days"}, "emails": {"ada@helios.example"},
			"tags": {"investor"}, "bio": {"likes rowing"}, "line": {stoneLine},
		})
		form.Set("title", "CEO")
		p := done(t, b, b.Post(newPath, form), "The person is added.", "Added: Ada Stone")
		path := webtest.LinkTo(p, "Ada Stone")
		wantPage(t, b.Get(path), http.StatusOK, "CEO at Helios", "Tideline Days", "ada@helios.example", "investor", "likes rowing")
		p = done(t, b, b.Submit(p, "/activity/undo", nil), "The change is undone.")
		without(t, p, "Added: Ada")
		without(t, b.Get("/people"), "Ada Stone")
	})
}

// Other programs may give the fields and the text in the address.
func TestCapturePrefilled(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	p := b.Get(newPath + "?text=Ada+Stone,+in+Porto&location=Lisbon&urls=https://ada.example")
	formOf(t, p, url.Values{"name": {"Ada Stone"}, "location": {"Lisbon"}, "urls": {"https://ada.example"}, "line": {"Ada Stone, in Porto"}})
	wantPage(t, b.Get(newPath+"?text="+strings.Repeat("a", 5000)), http.StatusOK)
}

// Each mistake is at its field, and what was typed is kept.
func TestCaptureWrong(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	form := formOf(t, b.Get(newPath), nil)
	for name, c := range map[string]struct {
		form  url.Values
		field string
	}{
		"nobody":          {url.Values{"bio": {"Kept words"}}, "name"},
		"a long name":     {url.Values{"name": {strings.Repeat("a", 201)}, "bio": {"Kept words"}}, "name"},
		"no address":      {url.Values{"name": {"Ada"}, "emails": {"ada@helios.example\nada"}, "bio": {"Kept words"}}, "emails"},
		"no number":       {url.Values{"name": {"Ada"}, "phones": {"call her"}, "bio": {"Kept words"}}, "phones"},
		"no link":         {url.Values{"name": {"Ada"}, "urls": {"javascript:alert(1)"}, "bio": {"Kept words"}}, "urls"},
		"invisible words": {url.Values{"name": {"\u200b"}, "bio": {"Kept words"}}, "name"},
	} {
		c.form.Set("form_token", form.Get("form_token"))
		c.form.Set("line", "Kept line")
		p := b.Post(newPath, c.form)
		wantPage(t, p, http.StatusBadRequest, "Kept words")
		if p.ByID(c.field+"-error") == nil || webtest.Attr(p.ByID(c.field), "aria-invalid") != "true" {
			t.Errorf("%s: no error at %s:\n%s", name, c.field, p.Text())
		}
		if webtest.Attr(p.ByID("line"), "value") != "Kept line" {
			t.Errorf("%s: the line is lost", name)
		}
	}
	without(t, b.Get("/people"), "Ada")
}

// A person who may exist already is added only after a choice: add them anyway, or add what is new
// to the person who exists.
func TestCaptureDuplicates(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		known := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Emails: []string{"ada@helios.example"}, Location: "Porto", URLs: []string{"https://ada.example"}}, "")
		p := b.Get(lineAddress("Ada Stone, CTO at Helios, in Lisbon, ada@stone.example, #investor"))
		wantPage(t, p, http.StatusOK, "You may know this person already", "Add to Ada Stone", "Somebody else")
		if webtest.LinkTo(p, "Open Ada Stone") != "/people/"+known {
			t.Error("no link to the person")
		}
		form := formOf(t, p, nil)
		form.Del("choice")
		p = b.Post(newPath, form)
		wantPage(t, p, http.StatusBadRequest, "Choose whether this is a new person.", "Add to Ada Stone")
		form = formOf(t, p, url.Values{"emails": {"ada@stone.example"}})

		form.Set("choice", known)
		p = done(t, b, b.Post(newPath, form), "What was new is added", "CTO at Helios", "ada@helios.example, ada@stone.example", "investor", "Porto", "Place: Lisbon")
		p = done(t, b, b.Submit(p, "/activity/undo", nil), "The change is undone.", "Porto")
		without(t, p, "Lisbon", "Helios", "investor")

		form.Set("choice", "new")
		done(t, b, b.Post(newPath, form), "The person is added.")
		wantPage(t, b.Get("/people"), http.StatusOK, "2 people")

		form = formOf(t, b.Get(lineAddress("https://ada.example")), nil)
		p = b.Post(newPath, form)
		wantPage(t, p, http.StatusBadRequest, "Choose whether this is a new person.", "Add to Ada Stone")
	})
}

// Nothing can be added to a person of another member, or without the token of the form, and what
// others wrote is escaped.
func TestCaptureAttacks(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
	known := add(t, s, victim.Owner, people.Draft{Name: "Ada Stone"}, "")
	without(t, attacker.Get(lineAddress("Ada Stone")), "You may know this person")
	without(t, attacker.Get(newPath+"?added="+known), "Added:")
	form := formOf(t, attacker.Get(lineAddress("Ben Okafor, likes rowing")), nil)
	for _, choice := range []string{known, "con_x", "../x", "con_ip892mx810"} {
		form.Set("choice", choice)
		wantPage(t, attacker.Post(newPath, form), http.StatusNotFound)
	}
	without(t, victim.Get("/people/"+known), "rowing")
	form.Del("choice")
	form.Set("form_token", formOf(t, victim.Get(newPath), nil).Get("form_token"))
	wantPage(t, attacker.Post(newPath, form), http.StatusForbidden)

	const evil = `"><script>alert(1)</script>`
	add(t, s, victim.Owner, people.Draft{Name: evil, Title: evil, Organization: evil, Emails: []string{"evil@a.example"}}, "")
	for _, p := range []*webtest.Page{victim.Get(lineAddress("x, evil@a.example")), victim.Get(lineAddress(evil)), victim.Get(newPath + "?name=" + url.QueryEscape(evil))} {
		if p.Status != http.StatusOK || strings.Contains(p.Body, "<script>alert") {
			t.Errorf("status %d, or text runs:\n%s", p.Status, p.Body)
		}
	}
}
