package authserver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/authserver"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestDenial(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for _, decision := range []string{"deny", "", "ALLOW", "allow "} {
		page := authorize(b, a.ask())
		got := a.sentBack(t, decide(b, page, decision, nil), callback)
		if got.Get("error") != "access_denied" || got.Has("code") {
			t.Errorf("%q: %v", decision, got)
		}
		wantPage(t, decide(b, page, "allow", nil), http.StatusBadRequest, "This request is over")
	}
}

func TestUntickedScopes(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		ticked []string
		kept   string // empty: refused
	}{
		"all":                   {[]string{"connections", "timeline", "write"}, "connections timeline write"},
		"in another order":      {[]string{"write", "connections"}, "connections write"},
		"one":                   {[]string{"timeline"}, "timeline"},
		"none":                  {nil, ""},
		"more than asked":       {[]string{"connections", "timeline", "write", "account"}, ""},
		"another":               {[]string{"account"}, ""},
		"one that is not":       {[]string{"everything"}, ""},
		"one twice":             {[]string{"timeline", "timeline"}, ""},
		"an empty one":          {[]string{""}, ""},
		"two in one, one asked": {[]string{"timeline account"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := authorize(b, with(a.ask(), "scope", "connections timeline write"))
			answer := decide(b, page, "allow", url.Values{"scope": c.ticked})
			if c.kept == "" {
				wantPage(t, answer, http.StatusBadRequest, "Nothing was allowed")
				// The page waits for another answer.
				answer, c.kept = decide(b, page, "allow", url.Values{"scope": {"timeline"}}), "timeline"
			}
			got := a.exchange(t, a.sentBack(t, answer, callback).Get("code"))
			p := a.principal(t, got.AccessToken)
			if got.Scope != c.kept || p == nil || strings.Join(p.Credential.Scopes, " ") != c.kept {
				t.Errorf("%s, %+v", got.Body, p)
			}
		})
	}
}

func TestConsentBelongsToOneSession(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		a, victim, attacker := newAgent(t, s), s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
		elsewhere := s.BrowserOf(t, victim.Owner)
		signedOut := s.Browser(t)
		page := authorize(victim, a.ask())
		form := with(page.Form(authserver.PathConsent), "decision", "allow")
		forged := s.Browser(t)
		forged.SetCookie("kith_session", strings.Repeat("A", 43))
		for name, c := range map[string]struct {
			browser *webtest.Browser
			status  int
		}{
			"another member's browser":      {attacker, http.StatusBadRequest},
			"another browser of the member": {elsewhere, http.StatusBadRequest},
			"a signed-out browser":          {signedOut, http.StatusForbidden},
			"a made-up session":             {forged, http.StatusForbidden},
		} {
			for _, decision := range []string{"allow", "deny"} {
				if p := c.browser.Post(authserver.PathConsent, with(form, "decision", decision)); p.Status != c.status || p.Header.Get("Location") != "" {
					t.Errorf("%s, %s: %d to %q", name, decision, p.Status, p.Header.Get("Location"))
				}
			}
		}
		// It waits for its own member all the while.
		code := a.sentBack(t, victim.Post(authserver.PathConsent, form), callback).Get("code")
		if p := a.principal(t, a.exchange(t, code).AccessToken); p == nil || p.Tenant != victim.Owner {
			t.Errorf("the token is %+v's", p)
		}
	})
}

// The attack of design/oauth.md: an attacker begins, a victim signs in, and the
// attacker has the victim's code. Here the victim's browser never gets to see the
// attacker's request, and each request gives one code.
func TestCodeCannotBeInjectedIntoAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, attacker, victim := newAgent(t, s), s.SignedIn(t, "attacker"), s.SignedIn(t, "victim")
	planned := authorize(attacker, a.ask()).Form(authserver.PathConsent)
	lured := authorize(victim, a.ask())
	for name, form := range map[string]url.Values{
		"with the attacker's request": with(lured.Form(authserver.PathConsent), "request", planned.Get("request"), "decision", "allow"),
		"with a made-up request":      with(lured.Form(authserver.PathConsent), "request", token.Hash("x"), "decision", "allow"),
		"with the request's hash":     with(lured.Form(authserver.PathConsent), "request", grant.Hash(lured.Form(authserver.PathConsent).Get("request")), "decision", "allow"),
		"with no request":             without(with(lured.Form(authserver.PathConsent), "decision", "allow"), "request"),
	} {
		wantPage(t, victim.Post(authserver.PathConsent, form), http.StatusBadRequest, "This request is over")
		t.Log(name)
	}
	// PKCE: the attacker's code is of no use to the victim's client, nor the other way round.
	other := strings.Repeat("v", 43)
	code := a.code(t, attacker)
	wantError(t, a.exchange(t, code, "code_verifier", other), "invalid_grant")
	if p := a.principal(t, a.exchange(t, code).AccessToken); p == nil || p.Tenant != attacker.Owner {
		t.Errorf("the token is %+v's", p)
	}
}

func TestConsentEnds(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"with its answer", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			code := a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code")
			for _, decision := range []string{"allow", "deny"} {
				wantPage(t, decide(b, page, decision, nil), http.StatusBadRequest, "This request is over")
			}
			pair := a.exchange(t, code)
			wantTokens(t, pair)
			wantPage(t, decide(b, page, "allow", nil), http.StatusBadRequest, "This request is over")
			a.wantAlive(t, pair)
		}},
		{"after ten minutes", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			a.site.Clock.Advance(grant.RequestLifetime)
			wantPage(t, decide(b, page, "allow", nil), http.StatusBadRequest, "This request is over")
		}},
		{"with the session", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			if p := b.Submit(b.Get("/settings/security"), "/settings/security/sign-out", nil); p.Status != http.StatusSeeOther {
				t.Fatalf("%d %s", p.Status, p.Text())
			}
			wantPage(t, decide(b, page, "allow", nil), http.StatusForbidden, "You are signed out")
			wantPage(t, decide(a.site.BrowserOf(t, b.Owner), page, "allow", nil), http.StatusBadRequest, "This request is over")
		}},
		{"with the member", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			if err := a.site.Store.DeleteMember(t.Context(), b.Owner); err != nil {
				t.Fatal(err)
			}
			wantPage(t, decide(b, page, "allow", nil), http.StatusForbidden, "You are signed out")
		}},
	})
}

// Another site can neither make a browser answer nor read what it would answer.
func TestConsentFromAnotherSite(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	form := with(authorize(b, a.ask()).Form(authserver.PathConsent), "decision", "allow")
	for name, c := range map[string]struct{ site, origin string }{
		"a cross-site form":   {"cross-site", "https://evil.example"},
		"a form of a sibling": {"same-site", "https://evil.kith.example"},
		"an older browser":    {"", "https://evil.example"},
		"a hidden origin":     {"cross-site", "null"},
	} {
		r := b.Request(http.MethodPost, authserver.PathConsent, form)
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Sec-Fetch-Site", c.site)
		if c.site == "" {
			r.Header.Del("Sec-Fetch-Site")
		}
		if p := b.Do(r); p.Status != http.StatusForbidden || p.Header.Get("Location") != "" || len(p.Header.Values("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%s: %d to %q", name, p.Status, p.Header.Get("Location"))
		}
	}
	for name, r := range map[string]*http.Request{
		"by GET":           b.Request(http.MethodGet, authserver.PathConsent+"?"+form.Encode(), nil),
		"in the address":   b.Request(http.MethodPost, authserver.PathConsent+"?"+form.Encode(), url.Values{}),
		"too large a form": b.Request(http.MethodPost, authserver.PathConsent, with(form, "x", strings.Repeat("x", 70<<10))),
	} {
		if p := b.Do(r); p.Status/100 != 4 || p.Header.Get("Location") != "" {
			t.Errorf("%s: %d to %q", name, p.Status, p.Header.Get("Location"))
		}
	}
	a.sentBack(t, b.Post(authserver.PathConsent, form), callback)
}
