package contacts_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// add adds a person with a note, and returns their id.
func add(t *testing.T, s *webtest.Site, owner tenant.ID, d people.Draft, note string) string {
	t.Helper()
	var id string
	err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{Tool: "test"}, func(ctx context.Context, tx *db.Tx) error {
		made, err := people.Create(ctx, tx, d)
		if err != nil {
			return err
		}
		id = made.Connection.ID
		if note == "" {
			return nil
		}
		_, _, err = timeline.AddNote(ctx, tx, timeline.Note{Body: note, ConnectionIDs: []string{id}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantPage(t *testing.T, p *webtest.Page, status int, words ...string) {
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
		if strings.Contains(p.Text(), word) {
			t.Errorf("%q in:\n%s", word, p.Text())
		}
	}
}

// The list finds people by words and filters, which the address holds, and each filter can
// be removed.
func TestList(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		wantPage(t, b.Get("/people"), http.StatusOK, "You have nobody here yet.", "Import your contacts")
		add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Location: "Lisbon, Portugal", Tags: []string{"investor"}}, "")
		add(t, s, b.Owner, people.Draft{Name: "Ben Okafor", Location: "Lagos"}, "")

		p := b.Get("/people")
		wantPage(t, p, http.StatusOK, "2 people", "Ada Stone", "Lisbon", "Never in touch", "Ben Okafor")
		p = b.Get("/people?q=okafor")
		wantPage(t, p, http.StatusOK, "1 person", "Ben Okafor")
		without(t, p, "Ada Stone")
		p = b.Get("/people?tag=investor&country=PT&q=&company=")
		wantPage(t, p, http.StatusOK, "Ada Stone", "Tag: investor", "Country: PT")
		without(t, p, "Ben Okafor", "Organisation:")
		if !strings.Contains(p.Body, `href="/people?country=PT"`) {
			t.Errorf("no link that removes the tag:\n%s", p.Body)
		}
		wantPage(t, b.Get("/people?q=nosuchword"), http.StatusOK, "Nobody matches.", "Show everyone")
		p = b.Get("/people?tag=investor&utm_source=x&done=saved")
		if strings.Contains(p.Body, "utm_source") {
			t.Errorf("links keep what is no filter:\n%s", p.Body)
		}
	})
}

// A filter that cannot be right is explained at its input, and keeps what was typed.
func TestWrongFilters(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Tags: []string{"investor"}}, "")
	for _, c := range []struct{ query, want string }{
		{"last_contact_before=tomorrow", "tomorrow"},
		{"country=Nowhereland", "Nowhereland"},
		{"tag=investr", "investor"},
		{"cursor=forged", "these arguments"},
		{"q=" + strings.Repeat("a", 300), "256"},
		{"sort=sideways", "sort"},
	} {
		p := b.Get("/people?" + c.query)
		wantPage(t, p, http.StatusBadRequest, c.want)
		without(t, p, "Ada Stone")
	}
}

// Pages of 50 follow each other without a gap.
func TestPages(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for i := range 60 {
		add(t, s, b.Owner, people.Draft{Name: "Person " + string(rune('A'+i/10)) + string(rune('0'+i%10))}, "")
	}
	p := b.Get("/people?sort=name")
	wantPage(t, p, http.StatusOK, "60 people", "Person A0", "Person E9", "More people")
	without(t, p, "Person F0")
	_, rest, _ := strings.Cut(p.Body, `<a class="button second" href="`)
	next, _, _ := strings.Cut(rest, `"`)
	p = b.Get(strings.ReplaceAll(next, "&amp;", "&"))
	wantPage(t, p, http.StatusOK, "Person F0", "Person F9", "First page")
	without(t, p, "Person E9")
}

// A person's page shows what is known, and nothing of another member.
func TestPerson(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
		id := add(t, s, b.Owner, people.Draft{
			Name: "Ada Stone", Location: "Lisbon", Tags: []string{"investor"}, MetHow: "Tideline Days", MetOn: "2025-05",
			Emails: []string{"ada@helios.example"}, Phones: []string{"+44 20 7946 0123"}, URLs: []string{"https://ada.example/about", "javascript:alert(1)"},
			Organization: "Helios", Title: "CTO",
		}, "Prefers calls in the morning.")
		p := b.Get("/people/" + id)
		wantPage(t, p, http.StatusOK, "Ada Stone", "CTO", "Helios", "Lisbon", "investor", "Tideline Days", "May 2025", "Prefers calls in the morning.", "Never in touch")
		for _, link := range []string{`href="mailto:ada@helios.example"`, `href="tel:+442079460123"`, `href="https://ada.example/about"`, `href="/people?tag=investor"`} {
			if !strings.Contains(strings.ReplaceAll(p.Body, "&#43;", "+"), link) {
				t.Errorf("no %s in:\n%s", link, p.Body)
			}
		}
		if strings.Contains(p.Body, `href="javascript`) {
			t.Error("a script is linked")
		}
		for _, path := range []string{"/people/" + id, "/people?q=ada"} {
			without(t, other.Get(path), "Ada Stone", "Helios")
		}
		wantPage(t, other.Get("/people/"+id), http.StatusNotFound, "There is nothing here")
		for _, wrong := range []string{"con_x", "con_ip892mx810", url.PathEscape("../settings"), "not_" + id[4:]} {
			wantPage(t, b.Get("/people/"+wrong), http.StatusNotFound)
		}
		wantPage(t, b.Get("/people/"+id+"?cursor=forged"), http.StatusBadRequest)
	})
}

// Text of others is escaped everywhere.
func TestPagesShowTextAsText(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	id := add(t, s, b.Owner, people.Draft{
		Name: evil, Nickname: evil, Location: evil, Bio: evil, MetHow: evil, Tags: []string{evil},
		URLs: []string{"https://a.example/" + evil}, Organization: evil, Title: evil,
	}, evil)
	for _, path := range []string{"/people", "/people/" + id, "/people?" + url.Values{"q": {evil}, "tag": {evil}, "company": {evil}}.Encode()} {
		p := b.Get(path)
		if strings.Contains(p.Body, "<script>alert") || strings.Contains(p.Body, "<img src=x") {
			t.Errorf("%s runs stored text:\n%s", path, p.Body)
		}
		if policy := p.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if p.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept", path)
		}
	}
}

// A visitor signs in first, and comes back to the list.
func TestSignInFirst(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	b.SetCookie("kith_session", "")
	p := b.Get("/people?q=ada")
	if to := p.Header.Get("Location"); p.Status != http.StatusSeeOther || to != "/sign-in?return_to=%2Fpeople%3Fq%3Dada" {
		t.Errorf("status %d to %q", p.Status, to)
	}
}
