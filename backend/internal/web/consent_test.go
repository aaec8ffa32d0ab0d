package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// allow returns the form of a consent page, filled in to allow access.
func allow(p *webtest.Page) url.Values {
	return p.Fill("/oauth/consent", webtest.Values("decision", "allow"))
}

// wantCode fails unless an answer grants access.
func wantCode(t *testing.T, p *webtest.Page) {
	t.Helper()
	if to := p.Header.Get("Location"); p.Status != http.StatusSeeOther || !strings.HasPrefix(to, "https://a.example/cb?code=") {
		t.Fatalf("%d to %q:\n%s", p.Status, to, p.Text())
	}
}

// wantNoCode fails if a response grants access or redirects the browser.
func wantNoCode(t *testing.T, what string, p *webtest.Page, status int) {
	t.Helper()
	if p.Status != status || p.Header.Get("Location") != "" || p.Heading() == "" {
		t.Errorf("%s: %d to %q:\n%s", what, p.Status, p.Header.Get("Location"), p.Text())
	}
}

func TestCrossSiteConsent(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	b := s.SignedIn(t, "maria")
	c := s.Client(t, "Agent", "https://a.example/cb")
	form := allow(b.Get(authorizePath(c.ID, "https://a.example/cb")))
	for name, from := range map[string]struct{ site, origin string }{
		"a form of another site":   {"cross-site", "https://evil.example"},
		"a form of a sibling host": {"same-site", "https://evil.kith.example"},
		"an older browser":         {"", "https://evil.example"},
		"a hidden origin":          {"cross-site", "null"},
		"an older, hidden one":     {"", "null"},
	} {
		r := b.Request(http.MethodPost, "/oauth/consent", form)
		r.Header.Set("Origin", from.origin)
		r.Header.Set("Sec-Fetch-Site", from.site)
		if from.site == "" {
			r.Header.Del("Sec-Fetch-Site")
		}
		wantNoCode(t, name, b.Do(r), http.StatusForbidden)
	}
	wantCode(t, b.Post("/oauth/consent", form)) // the request was not used up
}

// A request for consent belongs to the session that it was shown to, and can be
// answered once.
func TestConsentBelongsToItsSession(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
	c := s.Client(t, "Agent", "https://a.example/cb")
	path := authorizePath(c.ID, "https://a.example/cb")
	shown, attackers := allow(victim.Get(path)), allow(attacker.Get(path))
	wantNoCode(t, "the attacker's request", victim.Post("/oauth/consent", attackers), http.StatusBadRequest)
	wantNoCode(t, "the victim's request", attacker.Post("/oauth/consent", shown), http.StatusBadRequest)
	wantNoCode(t, "another browser of the victim", s.BrowserOf(t, victim.Owner).Post("/oauth/consent", shown), http.StatusBadRequest)
	wantNoCode(t, "signed out", s.Browser(t).Post("/oauth/consent", shown), http.StatusForbidden)
	wantNoCode(t, "no request", victim.Post("/oauth/consent", webtest.Values("decision", "allow", "scope", "connections")), http.StatusBadRequest)
	wantNoCode(t, "more than was asked for", victim.Post("/oauth/consent", merge(shown, webtest.Values("scope", "everything"))), http.StatusUnprocessableEntity)
	allowed := victim.Post("/oauth/consent", shown)
	wantCode(t, allowed)
	if again := victim.Post("/oauth/consent", shown); again.Header.Get("Location") != allowed.Header.Get("Location") {
		t.Errorf("the same again leads to %q", again.Header.Get("Location"))
	}
	wantNoCode(t, "another answer", victim.Post("/oauth/consent", merge(shown, webtest.Values("decision", "deny"))), http.StatusBadRequest)
	wantNoCode(t, "the attacker, after it", attacker.Post("/oauth/consent", shown), http.StatusBadRequest)
}

// After a new sign-in, as the same or another member, consent is requested again.
func TestConsentEndsWithTheSession(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	s.Member(t, "other")
	c := s.Client(t, "Agent", "https://a.example/cb")
	path := authorizePath(c.ID, "https://a.example/cb")
	page := b.Get(path)
	left := b.Post("/sign-out", page.Forms("/sign-out")[1]) // "Use another account"
	wantRedirect(t, left, "/sign-in?"+webtest.Values("return_to", path).Encode())
	wantNoCode(t, "signed out", b.Post("/oauth/consent", allow(page)), http.StatusForbidden)
	wantRedirect(t, signIn(b, "other", webtest.Password, path), path)
	wantNoCode(t, "another member", b.Post("/oauth/consent", allow(page)), http.StatusBadRequest)
	want(t, b.Get(path), http.StatusOK, "Kith account other")
}
