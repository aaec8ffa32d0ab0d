package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The header of a member's page leads to every area, has the search and the link that adds a
// person, and says who is signed in. The pages of sign-in and consent have no such header.
func TestHeaderOfMembersPages(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	b.Submit(b.Get("/settings/profile"), "/settings/profile", webtest.Values("name", "Maria <b>Silva</b>", "action", "save"))
	b.Submit(b.Get("/settings/time"), "/settings/time", webtest.Values("timezone", "Europe/Lisbon"))
	for path, current := range map[string]string{"/": "Today", "/people": "People", "/activity": "Activity", "/settings/security": "Settings", "/people/nobody": "People", "/activity/undo?change=x": "Activity"} {
		p := b.Get(path)
		header := webtest.TextOf(p.All("header")[0])
		for _, words := range []string{"Today People Network Activity", "Groups Settings Sign out", "Maria <b>Silva</b>", "Europe/Lisbon", "Add a person"} {
			if !strings.Contains(header, words) {
				t.Errorf("%s: no %q in the header: %s", path, words, header)
			}
		}
		var marked []string
		for _, a := range p.All("a") {
			if webtest.Has(a, "aria-current") {
				marked = append(marked, webtest.TextOf(a))
			}
		}
		if !slices.Contains(marked, current) {
			t.Errorf("%s: marked as current: %v", path, marked)
		}
		if !strings.Contains(p.Body, `<form class="find" method="get" action="/people"`) || webtest.LinkTo(p, "Add a person") != "/people/new" {
			t.Errorf("%s: no search, or nothing to add a person with", path)
		}
	}
	c := s.Client(t, "Agent", "https://a.example/cb")
	for _, path := range []string{authorizePath(c.ID, "https://a.example/cb"), "/oauth/authorize"} {
		if p := b.Get(path); len(p.All("nav")) > 0 || !strings.Contains(p.Body, "Sign out") {
			t.Errorf("%s has a navigation, or nothing to sign out with", path)
		}
	}
	if header := webtest.TextOf(s.Browser(t).Get("/sign-in").All("header")[0]); header != "Kith" {
		t.Errorf("an anonymous visitor's header: %s", header)
	}
}

// folded returns the parts of a page that fold, without the menus.
func folded(p *webtest.Page) []*html.Node {
	return slices.DeleteFunc(p.All("details"), func(details *html.Node) bool { return strings.HasPrefix(webtest.Attr(details, "class"), "menu") })
}

// A notice offers to undo a change only if its id is well-formed, and the undo leads back to the
// page.
func TestNoticeUndoes(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "tomas")
	grace, addition := webtest.Added(t, s, b.Owner, "Grace Hopper")
	for _, wrong := range []string{"x", "", broken, grace, strings.ToUpper(addition), addition + "'", "chg_%"} {
		p := b.Get("/people?" + webtest.Values("done", "saved", "change", wrong).Encode())
		want(t, p, http.StatusOK, "Your profile is saved.")
		if len(p.Forms(webtest.UndoForm)) > 0 {
			t.Errorf("%q can be undone", wrong)
		}
	}
	for _, path := range []string{"/people?change=" + addition, "/people?done=nonsense&change=" + addition} {
		if p := b.Get(path); len(p.Forms(webtest.UndoForm)) > 0 || strings.Contains(p.Text(), "nonsense") {
			t.Errorf("%s offers an undo without a notice", path)
		}
	}
	shown := "/people?" + webtest.Values("done", "saved", "change", addition, "q", "grace").Encode()
	want(t, other.Submit(other.Get(shown), webtest.UndoForm, nil), http.StatusNotFound, "There is nothing here")
	p := b.Submit(b.Get(shown), webtest.UndoForm, webtest.Values("return_to", "https://evil.example/"))
	wantRedirect(t, p, "/activity?done=undone")
	b.Submit(b.Get(webtest.UndoPath(webtest.Changes(t, s, b.Owner)[0].ID)), webtest.UndoForm, nil) // undo the undo
	if webtest.FindPerson(t, s, b.Owner, grace) == nil {
		t.Fatal("the person is not back")
	}
	_, another := webtest.Added(t, s, b.Owner, "Another Person")
	shown = "/people?" + webtest.Values("done", "saved", "change", another, "q", "grace").Encode()
	p = b.Submit(b.Get(shown), webtest.UndoForm, nil)
	wantRedirect(t, p, "/people?done=undone&q=grace")
	want(t, b.Follow(p), http.StatusOK, "The change is undone.", "Grace Hopper")
	if webtest.Changes(t, s, b.Owner)[0].Undoes != another {
		t.Error("nothing was undone")
	}
}
