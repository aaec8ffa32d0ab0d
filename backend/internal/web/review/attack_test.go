package review_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// A change of another member can be neither seen nor undone, and the response is the
// same as for a change that does not exist.
func TestUndoOfAnotherMembersChange(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
		grace, theirs := webtest.Added(t, s, victim.Owner, "Grace Hopper")
		_, own := webtest.Added(t, s, attacker.Owner, "Somebody Else")
		token := attacker.Get(webtest.UndoPath(own)).Form(webtest.UndoForm).Get("form_token")
		var seen []string
		for name, changeID := range map[string]string{
			"another member's": theirs, "an unknown id": "chg_hd691gu278", "an id in upper case": strings.ToUpper(own),
			"another kind's": grace, "a word": "x", "nothing": "", "invalid text": broken, "a pattern": "chg_%", "two": own + "," + own,
		} {
			looked, sent := attacker.Get(webtest.UndoPath(changeID)), attacker.Post(webtest.UndoForm, webtest.Values("form_token", token, "change", changeID))
			want(t, looked, http.StatusNotFound, "There is nothing here")
			want(t, sent, http.StatusNotFound, "There is nothing here")
			if webtest.LinkTo(looked, "Back to Activity") != "/activity" {
				t.Errorf("%s: the page has no link to continue", name)
			}
			seen = append(seen, looked.Text(), sent.Text())
		}
		for _, text := range seen {
			if text != seen[0] || strings.Contains(text, "Grace") {
				t.Errorf("the responses differ: %q", text)
			}
		}
		if p := attacker.Get("/activity"); strings.Contains(p.Body, "Grace") || strings.Contains(p.Body, theirs) {
			t.Error("another member's change is listed")
		}
		if webtest.FindPerson(t, s, victim.Owner, grace) == nil || len(webtest.Changes(t, s, victim.Owner)) != 1 || len(webtest.Changes(t, s, attacker.Owner)) != 1 {
			t.Error("something was undone")
		}
	})
}

// Another site, a form from another browser and a link to an address undo nothing.
func TestUndoNeedsTheFormOfThePage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
	form := b.Get(webtest.UndoPath(addition)).Form(webtest.UndoForm)
	crossSite := b.Request(http.MethodPost, webtest.UndoForm, form)
	crossSite.Header.Set("Sec-Fetch-Site", "cross-site")
	crossSite.Header.Set("Origin", "https://evil.example")
	for name, p := range map[string]*webtest.Page{
		"without its token":      b.Post(webtest.UndoForm, webtest.Values("change", addition)),
		"with another's token":   b.Post(webtest.UndoForm, webtest.Values("change", addition, "form_token", tokenOf(other.Get("/settings/profile")))),
		"in the address":         b.Post(webtest.UndoPath(addition)+"&form_token="+form.Get("form_token"), webtest.Values("x", "y")),
		"from another site":      b.Do(crossSite),
		"signed out":             s.Browser(t).Post(webtest.UndoForm, form),
		"by another member":      other.Post(webtest.UndoForm, form),
		"by GET, with the token": b.Get(webtest.UndoPath(addition) + "&form_token=" + form.Get("form_token")),
	} {
		if p.Header.Get("Location") == "/activity?done=undone" {
			t.Errorf("%s: it was undone", name)
		}
	}
	if webtest.FindPerson(t, s, b.Owner, grace) == nil || len(webtest.Changes(t, s, b.Owner)) != 1 {
		t.Error("something was undone")
	}
	wantRedirect(t, b.Post(webtest.UndoForm, form), "/activity?done=undone")
}

// A change that cannot be undone has no button, and posting its form does nothing.
func TestUndoOfAFinalChange(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
		form := b.Get(webtest.UndoPath(addition)).Form(webtest.UndoForm)
		final := webtest.Deleted(t, s, b.Owner, grace)
		wantRedirect(t, b.Submit(b.Get(binDeletePath(final)), binDelete, nil), "/people/bin?done=bin-deleted")
		for _, changeID := range []string{final, addition} {
			form.Set("change", changeID)
			for status, p := range map[int]*webtest.Page{http.StatusOK: b.Get(webtest.UndoPath(changeID)), http.StatusConflict: b.Post(webtest.UndoForm, form)} {
				want(t, p, status, "This cannot be undone", "About a person who was deleted for good", "Cannot be undone.", "Back to all changes")
				if len(p.Forms(webtest.UndoForm)) > 0 || strings.Contains(p.Body, "Grace") {
					t.Error("there is a button or a name")
				}
			}
		}
		if len(webtest.Changes(t, s, b.Owner)) != 2 || webtest.FindPerson(t, s, b.Owner, grace) != nil {
			t.Error("something was undone")
		}
	})
}

// Ten clicks at once: exactly one undoes the change, and the others are told that it is already
// undone.
func TestTenUndosAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
		form := b.Get(webtest.UndoPath(addition)).Form(webtest.UndoForm)
		answers := make([]*webtest.Page, 10)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				p, err := b.Try(b.Request(http.MethodPost, webtest.UndoForm, form))
				if err != nil {
					t.Error(err)
					return
				}
				answers[i] = p
			})
		}
		all.Wait()
		told := map[string]int{}
		for _, p := range answers {
			if p != nil {
				told[p.Header.Get("Location")]++
			}
		}
		if told["/activity?done=undone"] != 1 || told["/activity?done=undone-already"] != 9 {
			t.Errorf("answers: %v", told)
		}
		if changes := webtest.Changes(t, s, b.Owner); len(changes) != 2 || changes[0].Undoes != addition || changes[1].UndoneBy != changes[0].ID || webtest.FindPerson(t, s, b.Owner, grace) != nil {
			t.Errorf("changes: %+v", changes)
		}
	})
}

// Text from members and agents is shown literally and is never markup.
func TestScriptsInChanges(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	id, addition := webtest.Added(t, s, b.Owner, attack)
	blocking := webtest.Changed(t, s, b.Owner, people.Patch{ID: id, Bio: new(attack)})
	pages := map[string]*webtest.Page{
		"activity": b.Get("/activity"), "undo": b.Get(webtest.UndoPath(blocking)), "in the way": b.Get(webtest.UndoPath(addition)), "agents": b.Get("/settings/mcp"),
	}
	for name, p := range pages {
		want(t, p, http.StatusOK, attack)
		if strings.Contains(webtest.OwnScript.ReplaceAllString(p.Body, ""), "<script") || strings.Contains(p.Body, "<img src=x") {
			t.Errorf("%s contains markup from a member", name)
		}
		for _, n := range p.All("bdi") {
			if strings.Contains(webtest.TextOf(n), "<script>") {
				delete(pages, name)
			}
		}
	}
	if len(pages) > 0 {
		t.Errorf("not set apart by bdi: %v", pages)
	}
}
