package contacts_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
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
		wantPage(t, merged, http.StatusOK, "Ada M. Stone", "Lisbon", "Rows.", "Sings.", "investor", "A note of hers.", "Place: Porto")
		done(t, b, b.Submit(p, "/activity/undo", nil), "Ada Stone and Ada M. Stone", "Porto")
		b.Post(duplicatesPath, form)
		wantPage(t, b.Post(duplicatesPath, form), http.StatusConflict, "This has changed in the meantime")
	})
}

// The page of a person suggests who is the same, side by side, and each value of both is on the person or in the note,
// whatever is chosen.
func TestMergeSideBySide(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		born := func(on string) []people.DateDraft { return []people.DateDraft{{Kind: people.DateBirthday, Date: on}} }
		first := add(t, s, b.Owner, people.Draft{
			Name: "Ada Stone", Nickname: "Ad", Emails: []string{"ada@helios.example"}, Location: "Porto", Bio: "Rows.", MetHow: "At Tideline", DeceasedOn: "2026-01-02", Dates: born("1990-12-01"),
		}, "")
		second := add(t, s, b.Owner, people.Draft{
			Name: "Ada M. Stone", Nickname: "Addie", Emails: []string{"ada@helios.example"}, Phones: []string{"+351 21 000 0000"}, Location: "Lisbon", Bio: "Sings.", MetHow: "Through Bo", DeceasedOn: "2026-01-03", Dates: born("1990-12-02"),
			Organization: "Helios", Title: "CTO", OnDuplicate: people.OnDuplicateCreate,
		}, "A note of hers.")
		path := "/people/" + first
		p := b.Get(path + "/merge")
		wantPage(t, p, http.StatusOK, "Merge Ada Stone and Ada M. Stone", "They may be the same person: same e-mail: ada@helios.example", "1 entry, reminder or relation moves to it", "Keep both: the second one becomes a nickname",
			"CTO, Helios", "+351 21 000 0000", "1 December 1990", "2 January 2026", "Rows.", "Sings.")
		without(t, p, "1990-12-01", "2026-01-02")
		wantPage(t, b.Get(webtest.LinkTo(p, "Choose somebody else")), http.StatusOK, "Merge Ada Stone with another record", "Ada M. Stone")
		wantPage(t, b.Get(path+"/merge?merge="+second), http.StatusOK, "Merge Ada Stone and Ada M. Stone")
		if swap := webtest.LinkTo(p, "Keep the record of Ada M. Stone instead"); swap != "/people/"+second+"/merge?merge="+first {
			t.Errorf("the other way round is %q", swap)
		}
		p = done(t, b, b.Submit(p, path+"/merge", url.Values{
			"name": {"both"}, "nickname": {"second"}, "met_how": {"both"}, "location": {"second"}, "deceased_on": {"second"}, "birthday": {"both"}, "unknown": {"second"},
		}), "The two are merged.")
		wantPage(t, p, http.StatusOK, "Addie, Ada M. Stone", "At Tideline; Through Bo", "3 January 2026", "1 December 1990", "Rows.", "Sings.", "A note of hers.",
			"Nickname: Ad", "Place: Porto", "Died: 2026-01-02", "Birthday: 1990-12-02")
		if c := stored(t, s, b.Owner, first); c.Name != "Ada Stone" || c.Location != "Lisbon" || c.DeceasedOn != "2026-01-03" {
			t.Errorf("merged as %+v", c)
		}
		done(t, b, b.Submit(p, "/activity/undo", nil))
		wantPage(t, b.Get(path+"/merge"), http.StatusOK, "Merge Ada Stone and Ada M. Stone", "Porto", "Lisbon")
	})
}

// A pair that is not the same is no longer shown, nor found by agents; the notice undoes that.
// Without a script, the two buttons belong to one form.
func TestNotTheSame(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		mail := []string{"ada@helios.example"}
		first := add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Emails: mail, Bio: "Rows."}, "")
		second := add(t, s, b.Owner, people.Draft{Name: "Eve Stone", Emails: mail, OnDuplicate: people.OnDuplicateCreate}, "")
		path := "/people/" + first
		tokenOf := b.Get(path).Fill(path+"/note", nil).Get("form_token")
		done(t, b, upload(t, b, tokenOf, path+"/photo-upload", "ada.jpg", phototest.JPEG(t, 300, 200)), "The photo is saved.")
		p := b.Get(duplicatesPath)
		if got := address(t, p); !strings.HasPrefix(got, path+"/photo?v=") || b.Get(got).Status != http.StatusOK {
			t.Errorf("the photo is %s", got)
		}
		if !strings.Contains(p.Body, `<button class="second" name="act" value="distinct">Not the same`) {
			t.Error("no button")
		}
		form := p.Form(duplicatesPath)
		form.Set("act", "distinct")
		p = done(t, b, b.Post(duplicatesPath, form), "The pair is no longer shown.", "Nobody looks like a duplicate.")
		found, _, err := people.FindDuplicates(t.Context(), s.Store.Tenant(b.Owner, true), people.Query{MinScore: .4, Limit: 10})
		if err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
		wantPage(t, b.Get("/activity"), http.StatusOK, "Said that Ada Stone and Eve Stone are not the same")
		again := done(t, b, b.Post(duplicatesPath, form), "The pair is no longer shown.")
		if len(again.Forms("/activity/undo")) > 0 {
			t.Error("nothing was changed, and an undo is offered")
		}
		done(t, b, b.Submit(p, "/activity/undo", nil), "Ada Stone and Eve Stone")
		form.Del("act")
		b.Post(duplicatesPath, form)
		form.Set("act", "distinct")
		form.Set("first", second)
		form.Set("second", first)
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

// People of another member cannot be merged, and no people without the token of the form.
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
	for _, act := range []string{"", "distinct"} {
		form.Set("act", act)
		wantPage(t, attacker.Post(duplicatesPath, form), http.StatusForbidden)
	}
	for _, pair := range [][2]string{
		{form.Get("first"), form.Get("second")}, {mine.Get("first"), form.Get("second")}, {form.Get("first"), mine.Get("second")},
		{mine.Get("first"), mine.Get("first")}, {"", ""}, {"con_x", mine.Get("second")},
	} {
		change := url.Values{"form_token": {mine.Get("form_token")}, "first": {pair[0]}, "second": {pair[1]}}
		for _, act := range []string{"", "distinct"} {
			change.Set("act", act)
			wantPage(t, attacker.Post(duplicatesPath, change), http.StatusNotFound)
		}
	}
	if told, err := people.ListDistinctPairs(t.Context(), s.Store.Tenant(victim.Owner, true)); len(told) > 0 || err != nil {
		t.Errorf("kept for the victim: %v, %v", told, err)
	}
	if len(victim.Get(duplicatesPath).Forms(duplicatesPath)) != 1 {
		t.Error("a pair of the victim is gone")
	}
}
