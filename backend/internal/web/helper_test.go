package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// signIn signs a browser in with the form.
func signIn(b *webtest.Browser, login, password, returnTo string) *webtest.Page {
	path := "/sign-in"
	if returnTo != "" {
		path += "?" + webtest.Values("return_to", returnTo).Encode()
	}
	return b.Submit(b.Get(path), "/sign-in", webtest.Values("login", login, "password", password))
}

// isSignedIn reports whether the browser can load a settings page.
func isSignedIn(b *webtest.Browser) bool { return b.Get("/settings/security").Status == http.StatusOK }

func want(t *testing.T, p *webtest.Page, status int, words ...string) {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, not %d:\n%s", p.Status, status, p.Text())
	}
	for _, w := range words {
		if !strings.Contains(p.Text(), w) {
			t.Errorf("no %q in:\n%s", w, p.Text())
		}
	}
}

func wantRedirect(t *testing.T, p *webtest.Page, to string) {
	t.Helper()
	if p.Status != http.StatusSeeOther || p.Header.Get("Location") != to {
		t.Fatalf("status %d to %q, not to %q:\n%s", p.Status, p.Header.Get("Location"), to, p.Text())
	}
}

// statement runs SQL directly on the database.
func statement(t *testing.T, databaseURL, sql string) {
	t.Helper()
	if _, err := dbtest.OpenSQL(t, databaseURL).Exec(sql); err != nil {
		t.Fatal(err)
	}
}

// wantAtFields checks that each field shows its error, linked from the summary and marked
// for screen readers, and keeps what was typed.
func wantAtFields(t *testing.T, p *webtest.Page, action string, typed map[string]string) {
	t.Helper()
	links := map[string]bool{}
	for _, a := range p.All("a") {
		links[webtest.Attr(a, "href")] = true
	}
	for name, value := range typed {
		input, problem := p.ByID(name), p.ByID(name+"-error")
		if input == nil || problem == nil {
			t.Errorf("%s: there is no field, or no error at it", name)
			continue
		}
		if webtest.Attr(input, "aria-invalid") != "true" || !strings.Contains(webtest.Attr(input, "aria-describedby"), name+"-error") {
			t.Errorf("%s is not marked", name)
		}
		if !links["#"+name] {
			t.Errorf("the summary does not lead to %s", name)
		}
		if got := p.Form(action).Get(name); got != value {
			t.Errorf("%s contains %q, not the %q that was typed", name, got, value)
		}
	}
	if title := webtest.TextOf(p.All("title")[0]); !strings.HasPrefix(title, "Error: ") {
		t.Errorf("title: %s", title)
	}
}
