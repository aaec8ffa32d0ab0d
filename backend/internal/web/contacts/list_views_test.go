package contacts_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/views"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const viewsPath = "/people/views"

func saved(t *testing.T, s *webtest.Site, b *webtest.Browser) []views.View {
	t.Helper()
	all, err := views.ListViews(t.Context(), s.Store.Tenant(b.Owner, true))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// saveForm returns the form of a list that saves its filters under a name.
func saveForm(p *webtest.Page, name string) url.Values {
	form := p.Form(viewsPath)
	form.Set("name", name)
	return form
}

// Filters are saved under a name, listed above the people, renamed and deleted.
func TestViews(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		add(t, s, b.Owner, people.Draft{Name: "Ada Stone", Tags: []string{"investor"}}, "")
		add(t, s, b.Owner, people.Draft{Name: "Ben Okafor"}, "")
		without(t, b.Get("/people"), "Save this view")
		wantPage(t, b.Get(viewsPath), http.StatusOK, "You have no saved views yet.")
		list := b.Get("/people?tag=investor&q=&sort=name&utm_source=x")
		wantDone(t, b.Post(viewsPath, saveForm(list, " Investors ")), "view-saved")
		if all := saved(t, s, b); len(all) != 1 || all[0].Name != "Investors" || all[0].Query != "sort=name&tag=investor" {
			t.Fatalf("%+v", all)
		}
		page := b.Get("/people")
		wantPage(t, page, http.StatusOK, "Investors", "Saved views")
		if !strings.Contains(page.Body, `href="/people?sort=name&amp;tag=investor"`) {
			t.Errorf("no link to the view:\n%s", page.Body)
		}
		page = b.Get("/people?sort=name&tag=investor")
		wantPage(t, page, http.StatusOK, "Ada Stone")
		without(t, page, "Save this view", "Ben Okafor")

		manage := b.Get(viewsPath)
		form := manage.Form(viewsPath + "/rename")
		form.Set("name", "Money")
		if p := b.Post(viewsPath+"/rename", form); p.Header.Get("Location") != viewsPath+"?done=view-saved" {
			t.Errorf("status %d to %s", p.Status, p.Header.Get("Location"))
		}
		wantPage(t, b.Get("/people"), http.StatusOK, "Money")
		if p := b.Post(viewsPath+"/delete", b.Get(viewsPath).Form(viewsPath+"/delete")); p.Header.Get("Location") != viewsPath+"?done=view-deleted" {
			t.Errorf("status %d to %s", p.Status, p.Header.Get("Location"))
		}
		if len(saved(t, s, b)) != 0 {
			t.Error("the view is still there")
		}
	})
}

// Names that cannot be used are explained at their inputs, and what was typed is kept.
func TestWrongViews(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	list := b.Get("/people?q=ada")
	wantDone(t, b.Post(viewsPath, saveForm(list, "Café")), "view-saved")
	for name, want := range map[string]string{"": "Enter a name.", " \u200b": "Enter a name.", "CAFE": `Another view is called "Café".`, strings.Repeat("x", 81): "80"} {
		p := b.Post(viewsPath, saveForm(list, name))
		wantPage(t, p, http.StatusBadRequest, want)
		if !strings.Contains(p.Body, `id="name-error"`) || p.Form(viewsPath).Get("back") != "q=ada" {
			t.Errorf("%q: the form is lost:\n%s", name, p.Body)
		}
	}
	form := b.Get(viewsPath).Form(viewsPath + "/rename")
	wantDone(t, b.Post(viewsPath, saveForm(list, "Second")), "view-saved")
	form.Set("name", "second")
	p := b.Post(viewsPath+"/rename", form)
	wantPage(t, p, http.StatusBadRequest, `Another view is called "Second".`)
	if !strings.Contains(p.Body, `value="second"`) {
		t.Errorf("what was typed is lost:\n%s", p.Body)
	}
	long := saveForm(list, "Long")
	long.Set("back", url.Values{"company": {strings.Repeat("x", 2000)}}.Encode())
	wantPage(t, b.Post(viewsPath, long), http.StatusBadRequest, "too long to save")
	empty := saveForm(list, "Empty")
	empty.Set("back", "cursor=abc&limit=3&evil=1")
	if p := b.Post(viewsPath, empty); p.Header.Get("Location") != "/people" {
		t.Errorf("status %d to %s", p.Status, p.Header.Get("Location"))
	}
	for i := range views.MaxViews - 2 {
		wantDone(t, b.Post(viewsPath, saveForm(list, fmt.Sprint("View ", i))), "view-saved")
	}
	wantPage(t, b.Post(viewsPath, saveForm(list, "One more")), http.StatusBadRequest, "There are 50 views already")
	if n := len(saved(t, s, b)); n != views.MaxViews {
		t.Errorf("%d views", n)
	}
}

// Views of another member are neither shown, renamed nor deleted, and forms need their
// tokens.
func TestViewsOfOthers(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
	const evil = `"><script>alert(1)</script>`
	wantDone(t, victim.Post(viewsPath, saveForm(victim.Get("/people?q=ada"), evil)), "view-saved")
	for _, path := range []string{"/people", viewsPath} {
		if p := victim.Get(path); strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s runs stored text", path)
		}
		without(t, attacker.Get(path), "alert")
	}
	theirs := saved(t, s, victim)[0].ID
	token := saveForm(attacker.Get("/people?q=ada"), "x").Get("form_token")
	for _, id := range []string{theirs, "viw_x", "", "viw_xn306tv138", strings.ToUpper(theirs)} {
		form := url.Values{"form_token": {token}, "view": {id}, "name": {"stolen"}}
		wantPage(t, attacker.Post(viewsPath+"/rename", form), http.StatusNotFound)
		wantPage(t, attacker.Post(viewsPath+"/delete", form), http.StatusNotFound)
	}
	form := url.Values{"view": {theirs}, "name": {"stolen"}, "back": {"q=x"}}
	for _, path := range []string{viewsPath, viewsPath + "/rename", viewsPath + "/delete"} {
		if p := victim.Post(path, form); p.Status != http.StatusForbidden {
			t.Errorf("%s without its token: %d", path, p.Status)
		}
	}
	if all := saved(t, s, victim); len(all) != 1 || all[0].Name != evil {
		t.Errorf("%+v", all)
	}
}
