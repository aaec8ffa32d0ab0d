package web_test

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
		grace, theirs := added(t, s, victim.Owner, "Grace Hopper")
		_, own := added(t, s, attacker.Owner, "Somebody Else")
		token := attacker.Get(undoPath(own)).Form(undoForm).Get("form_token")
		var seen []string
		for name, changeID := range map[string]string{
			"another member's": theirs, "an unknown id": "chg_01J00000000000000000000000", "an id in lower case": strings.ToLower(own),
			"another kind's": grace, "a word": "x", "nothing": "", "invalid text": broken, "a pattern": "chg_%", "two": own + "," + own,
		} {
			looked, sent := attacker.Get(undoPath(changeID)), attacker.Post(undoForm, values("form_token", token, "change", changeID))
			want(t, looked, http.StatusNotFound, "There is nothing here")
			want(t, sent, http.StatusNotFound, "There is nothing here")
			if linkTo(looked, "Back to Activity") != "/settings/activity" {
				t.Errorf("%s: the page has no link to continue", name)
			}
			seen = append(seen, looked.Text(), sent.Text())
		}
		for _, text := range seen {
			if text != seen[0] || strings.Contains(text, "Grace") {
				t.Errorf("the responses differ: %q", text)
			}
		}
		if p := attacker.Get("/settings/activity"); strings.Contains(p.Body, "Grace") || strings.Contains(p.Body, theirs) {
			t.Error("another member's change is listed")
		}
		if findPerson(t, s, victim.Owner, grace) == nil || len(list(t, s, victim.Owner)) != 1 || len(list(t, s, attacker.Owner)) != 1 {
			t.Error("something was undone")
		}
	})
}

// Another site, a form from another browser and a link to an address undo nothing.
func TestUndoNeedsTheFormOfThePage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	grace, addition := added(t, s, b.Owner, "Grace Hopper")
	form := b.Get(undoPath(addition)).Form(undoForm)
	crossSite := b.Request(http.MethodPost, undoForm, form)
	crossSite.Header.Set("Sec-Fetch-Site", "cross-site")
	crossSite.Header.Set("Origin", "https://evil.example")
	for name, p := range map[string]*webtest.Page{
		"without its token":      b.Post(undoForm, values("change", addition)),
		"with another's token":   b.Post(undoForm, values("change", addition, "form_token", tokenOf(other.Get("/settings/profile")))),
		"in the address":         b.Post(undoPath(addition)+"&form_token="+form.Get("form_token"), values("x", "y")),
		"from another site":      b.Do(crossSite),
		"signed out":             s.Browser(t).Post(undoForm, form),
		"by another member":      other.Post(undoForm, form),
		"by GET, with the token": b.Get(undoPath(addition) + "&form_token=" + form.Get("form_token")),
	} {
		if p.Header.Get("Location") == "/settings/activity?done=undone" {
			t.Errorf("%s: it was undone", name)
		}
	}
	if findPerson(t, s, b.Owner, grace) == nil || len(list(t, s, b.Owner)) != 1 {
		t.Error("something was undone")
	}
	wantRedirect(t, b.Post(undoForm, form), "/settings/activity?done=undone")
}

// A change that cannot be undone has no button, and posting its form does nothing.
func TestUndoOfAFinalChange(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := added(t, s, b.Owner, "Grace Hopper")
		form := b.Get(undoPath(addition)).Form(undoForm)
		final := deleted(t, s, b.Owner, grace)
		wantRedirect(t, b.Submit(b.Get(binDeletePath(final)), binDelete, nil), "/settings/bin?done=bin-deleted")
		for _, changeID := range []string{final, addition} {
			form.Set("change", changeID)
			for status, p := range map[int]*webtest.Page{http.StatusOK: b.Get(undoPath(changeID)), http.StatusConflict: b.Post(undoForm, form)} {
				want(t, p, status, "This cannot be undone", "About a person who was deleted for good", "Cannot be undone.", "Back to all changes")
				if len(p.Forms(undoForm)) > 0 || strings.Contains(p.Body, "Grace") {
					t.Error("there is a button or a name")
				}
			}
		}
		if len(list(t, s, b.Owner)) != 2 || findPerson(t, s, b.Owner, grace) != nil {
			t.Error("something was undone")
		}
	})
}

// Of ten clicks at once one undoes the change, and the others are told that it is
// already undone.
func TestTenUndosAtOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		grace, addition := added(t, s, b.Owner, "Grace Hopper")
		form := b.Get(undoPath(addition)).Form(undoForm)
		answers := make([]*webtest.Page, 10)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				p, err := b.Try(b.Request(http.MethodPost, undoForm, form))
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
		if told["/settings/activity?done=undone"] != 1 || told["/settings/activity?done=undone-already"] != 9 {
			t.Errorf("answers: %v", told)
		}
		if changes := list(t, s, b.Owner); len(changes) != 2 || changes[0].Undoes != addition || changes[1].UndoneBy != changes[0].ID || findPerson(t, s, b.Owner, grace) != nil {
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
	id, addition := added(t, s, b.Owner, attack)
	blocking := changed(t, s, b.Owner, people.Patch{ID: id, Bio: new(attack)})
	pages := map[string]*webtest.Page{
		"activity": b.Get("/settings/activity"), "undo": b.Get(undoPath(blocking)), "in the way": b.Get(undoPath(addition)), "agents": b.Get("/settings/mcp"),
	}
	for name, p := range pages {
		want(t, p, http.StatusOK, attack)
		if len(p.All("script")) > 0 || strings.Contains(p.Body, "<script") || strings.Contains(p.Body, "<img src=x") {
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
