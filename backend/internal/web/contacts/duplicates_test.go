package contacts_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const duplicatesPath = "/people/duplicates"

// Two records of one person stand side by side and are merged, with the fields that were
// chosen; the notice undoes all of it.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		wantPage(t, b.Get(duplicatesPath), http.StatusOK, "Nobody looks like a duplicate.")
		first := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Emails: []string{"ada@helios.example"}, Location: "Porto", Bio: "Rows.", Phones: []string{"+351 21 000 0000"}}, "")
		second := add(t, s, b.Owner, people.Draft{Name: "Ada M. Stone", Emails: []string{"ada@helios.example"}, Location: "Lisbon", Bio: "Sings.", Tags: []string{"investor"}, OnDuplicate: people.OnDuplicateCreate}, "A note of hers.")
		if webtest.LinkTo(b.Get("/people"), "Duplicates") != duplicatesPath {
			t.Error("the list has no link")
		}
		p := b.Get(duplicatesPath)
		wantPage(t, p, http.StatusOK, "Ada Stone and Ada M. Stone", "same e-mail: ada@helios.example", "Porto", "Lisbon", "investor", "+351 21 000 0000")
		form := p.Form(duplicatesPath)
		if form.Get("first") != first || form.Get("second") != second || form.Get("location") != "first" {
			t.Fatalf("the form is %v", form)
		}
		form.Set("location", "second")
		form.Set("name", "second")
		p = done(t, b, b.Post(duplicatesPath, form), "Merged into one person.", "Nobody looks like a duplicate.")
		merged := b.Get("/people/" + first)
		wantPage(t, merged, http.StatusOK, "Ada M. Stone", "Lisbon", "Rows.", "investor", "A note of hers.")
		without(t, merged, "Porto", "Sings.")
		done(t, b, b.Submit(p, "/activity/undo", nil), "Ada Stone and Ada M. Stone", "Porto")
		b.Post(duplicatesPath, form)
		wantPage(t, b.Post(duplicatesPath, form), http.StatusConflict, "This has changed in the meantime")
	})
}

// Pages of ten pairs follow each other.
func TestDuplicatePages(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	for i := range 12 {
		for range 2 {
			mail := []string{fmt.Sprintf("p%d@helios.example", i)}
			add(t, s, b.Owner, people.Draft{Name: "Person " + string(rune('A'+i)), Emails: mail, OnDuplicate: people.OnDuplicateCreate}, "")
		}
	}
	p := b.Get(duplicatesPath)
	if n := len(p.Forms(duplicatesPath)); n != 10 {
		t.Errorf("%d pairs", n)
	}
	p = b.Get(webtest.LinkTo(p, "More"))
	if n := len(p.Forms(duplicatesPath)); n != 2 || webtest.LinkTo(p, "Previous") == "" {
		t.Errorf("%d pairs:\n%s", n, p.Text())
	}
	wantPage(t, b.Get(duplicatesPath+"?page=9"), http.StatusOK, "Nothing more here.")
	for _, wrong := range []string{"0", "-1", "x", "51", "99999999999999999999"} {
		wantPage(t, b.Get(duplicatesPath+"?page="+wrong), http.StatusBadRequest)
	}
}

// Nobody merges people of another member, or without the token of the form.
func TestDuplicatesAttacks(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
	const evil = `"><script>alert(1)</script>`
	for _, b := range []*webtest.Browser{victim, attacker} {
		for _, name := range []string{"Ada " + evil, "A. " + evil} {
			add(t, s, b.Owner, people.Draft{Name: name, Bio: name, Emails: []string{"ada@helios.example"}, Tags: []string{evil}, OnDuplicate: people.OnDuplicateCreate}, "")
		}
	}
	theirs, own := victim.Get(duplicatesPath), attacker.Get(duplicatesPath)
	if strings.Contains(theirs.Body, "<script>alert") {
		t.Error("text of others runs")
	}
	form, mine := theirs.Form(duplicatesPath), own.Form(duplicatesPath)
	wantPage(t, attacker.Post(duplicatesPath, form), http.StatusForbidden)
	for _, pair := range [][2]string{
		{form.Get("first"), form.Get("second")}, {mine.Get("first"), form.Get("second")}, {form.Get("first"), mine.Get("second")},
		{mine.Get("first"), mine.Get("first")}, {"", ""}, {"con_x", mine.Get("second")},
	} {
		change := url.Values{"form_token": {mine.Get("form_token")}, "first": {pair[0]}, "second": {pair[1]}}
		wantPage(t, attacker.Post(duplicatesPath, change), http.StatusNotFound)
	}
	if len(victim.Get(duplicatesPath).Forms(duplicatesPath)) != 1 {
		t.Error("a pair of the victim is gone")
	}
}
