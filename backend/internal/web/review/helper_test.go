package review_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// broken is text that is no UTF-8.
const broken = "\xff\xfe"

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

// tokenOf returns the token of the first form of a page that has one.
func tokenOf(p *webtest.Page) string {
	for _, n := range p.All("input") {
		if webtest.Attr(n, "name") == "form_token" {
			return webtest.Attr(n, "value")
		}
	}
	return ""
}
