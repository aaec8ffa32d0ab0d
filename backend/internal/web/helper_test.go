package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// values returns a form from alternating names and values.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// signIn signs a browser in with the form.
func signIn(b *webtest.Browser, login, password, returnTo string) *webtest.Page {
	path := "/sign-in"
	if returnTo != "" {
		path += "?" + values("return_to", returnTo).Encode()
	}
	return b.Submit(b.Get(path), "/sign-in", values("login", login, "password", password))
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
