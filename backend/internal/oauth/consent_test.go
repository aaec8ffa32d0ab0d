package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
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
		if again := decide(b, page, decision, nil); again.Header.Get("Location") == "" || a.sentBack(t, again, callback).Get("error") != "access_denied" {
			t.Errorf("%q once more: %d", decision, again.Status)
		}
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
		"all":                     {[]string{"connections", "timeline", "write"}, "connections timeline write"},
		"in another order":        {[]string{"write", "connections"}, "connections write"},
		"areas alone":             {[]string{"connections", "timeline"}, "connections timeline write"},
		"one":                     {[]string{"timeline"}, "timeline write"},
		"writing alone":           {[]string{"write"}, ""},
		"none":                    {nil, ""},
		"more than asked":         {[]string{"connections", "timeline", "write", "account"}, ""},
		"another":                 {[]string{"account"}, ""},
		"one that does not exist": {[]string{"everything"}, ""},
		"one twice":               {[]string{"timeline", "timeline"}, ""},
		"an empty one":            {[]string{""}, ""},
		"two in one, one asked":   {[]string{"timeline account"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := authorize(b, with(a.ask(), "scope", "connections timeline write"))
			answer := decide(b, page, "allow", url.Values{"scope": c.ticked})
			if c.kept == "" {
				wantPage(t, answer, http.StatusUnprocessableEntity, "Nothing was allowed")
				// The page is shown again and can be answered.
				answer, c.kept = decide(b, answer, "allow", url.Values{"scope": {"timeline"}}), "timeline write"
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
		form := with(page.Form(oauth.PathConsent), "decision", "allow")
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
				if p := c.browser.Post(oauth.PathConsent, with(form, "decision", decision)); p.Status != c.status || p.Header.Get("Location") != "" {
					t.Errorf("%s, %s: %d to %q", name, decision, p.Status, p.Header.Get("Location"))
				}
			}
		}
		// Meanwhile the request still waits for its own member.
		code := a.sentBack(t, victim.Post(oauth.PathConsent, form), callback).Get("code")
		if p := a.principal(t, a.exchange(t, code).AccessToken); p == nil || p.Tenant != victim.Owner {
			t.Errorf("the token is %+v's", p)
		}
	})
}

// The attack of design/oauth.md: an attacker starts a request, a victim signs in, and
// the attacker gets the victim's code. Here the victim's browser never sees the
// attacker's request, and each request gives one code.
func TestCodeCannotBeInjectedIntoAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, attacker, victim := newAgent(t, s), s.SignedIn(t, "attacker"), s.SignedIn(t, "victim")
	planned := authorize(attacker, a.ask()).Form(oauth.PathConsent)
	lured := authorize(victim, a.ask())
	for name, form := range map[string]url.Values{
		"with the attacker's request": with(lured.Form(oauth.PathConsent), "request", planned.Get("request"), "decision", "allow"),
		"with a made-up request":      with(lured.Form(oauth.PathConsent), "request", account.HashSecret("x"), "decision", "allow"),
		"with the request's hash":     with(lured.Form(oauth.PathConsent), "request", oauth.Hash(lured.Form(oauth.PathConsent).Get("request")), "decision", "allow"),
		"with no request":             without(with(lured.Form(oauth.PathConsent), "decision", "allow"), "request"),
	} {
		wantPage(t, victim.Post(oauth.PathConsent, form), http.StatusBadRequest, "This request is over")
		t.Log(name)
	}
	// PKCE: the attacker's code does not work for the victim's client, nor the reverse.
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
			wantPage(t, decide(b, page, "deny", nil), http.StatusBadRequest, "This request is over")
			wantPage(t, decide(b, page, "allow", url.Values{"scope": {"timeline"}}), http.StatusBadRequest, "This request is over")
			wantPage(t, decide(b, page, "allow", url.Values{"scope": nil}), http.StatusBadRequest, "This request is over")
			pair := a.exchange(t, code)
			wantTokens(t, pair)
			wantPage(t, decide(b, page, "allow", nil), http.StatusBadRequest, "This request is over")
			a.wantAlive(t, pair)
		}},
		{"with the end of its code", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			a.sentBack(t, decide(b, page, "allow", nil), callback)
			a.site.Clock.Advance(oauth.CodeLifetime)
			wantPage(t, decide(b, page, "allow", nil), http.StatusBadRequest, "This request is over")
		}},
		{"after ten minutes", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			a.site.Clock.Advance(oauth.RequestLifetime)
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
			if err := account.DeleteMember(t.Context(), a.site.Store, b.Owner); err != nil {
				t.Fatal(err)
			}
			wantPage(t, decide(b, page, "allow", nil), http.StatusForbidden, "You are signed out")
		}},
	})
}

// A second click on the consent page also redirects to the client, with the same code.
// Other browsers get no code, and other answers are not accepted.
func TestTheSameAnswerTwice(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"one after the other", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			first := a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code")
			for range 3 {
				if again := a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code"); again != first {
					t.Errorf("another code: %s after %s", again, first)
				}
			}
			form := with(page.Form(oauth.PathConsent), "decision", "allow")
			elsewhere, other := a.site.BrowserOf(t, b.Owner), a.site.SignedIn(t, "other-"+string(b.Owner[len(b.Owner)-6:]))
			for name, visitor := range map[string]*webtest.Browser{"another session": elsewhere, "another member": other} {
				if p := visitor.Post(oauth.PathConsent, form); p.Status != http.StatusBadRequest || p.Header.Get("Location") != "" {
					t.Errorf("%s: %d to %q", name, p.Status, p.Header.Get("Location"))
				}
			}
			a.wantAlive(t, a.exchange(t, first))
			wantPage(t, decide(b, page, "allow", nil), http.StatusBadRequest, "This request is over")
		}},
		{"2 at once", func(t *testing.T, a agent, b *webtest.Browser) { a.answerAtOnce(t, b, 2) }},
		{"10 at once", func(t *testing.T, a agent, b *webtest.Browser) { a.answerAtOnce(t, b, 10) }},
	})
}

// answerAtOnce sends the same answer n times at once. Whichever redirect the browser
// follows, its code works, and there is only one.
func (a agent) answerAtOnce(t *testing.T, b *webtest.Browser, n int) {
	t.Helper()
	form := with(authorize(b, a.ask()).Form(oauth.PathConsent), "decision", "allow")
	cookie := b.CookieName("kith_session") + "=" + b.Cookie("kith_session")
	answers, err := together(n, func(int) (answer, error) {
		r, err := a.request(t.Context(), http.MethodPost, oauth.PathConsent, formMedia, form.Encode())
		if err != nil {
			return answer{}, err
		}
		r.Header.Set("Cookie", cookie)
		return send(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, got := range answers {
		to, err := url.Parse(got.Header.Get("Location"))
		if err != nil || got.Status != http.StatusSeeOther || !to.Query().Has("code") {
			t.Fatalf("no redirect: %d to %q %s", got.Status, got.Header.Get("Location"), got.Body)
		}
		codes[to.Query().Get("code")] = true
	}
	if len(codes) != 1 {
		t.Fatalf("%d codes from one consent", len(codes))
	}
	for code := range codes {
		wantTokens(t, a.exchange(t, code))
		wantError(t, a.exchange(t, code), "invalid_grant")
	}
}

// An invalid answer is explained beside the checkboxes, which keep their state. The page lets the
// member switch to another account and repeat the same request.
func TestMistakesOfTheConsentPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	for name, c := range map[string]struct {
		asked  string
		ticked []string
		words  string
	}{
		"nothing":        {"connections write", nil, "Tick at least one"},
		"nothing, twice": {"connections timeline", nil, "Tick at least one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query := with(a.ask(), "scope", c.asked, "resource", s.URL+"/mcp/v1")
			again := decide(b, authorize(b, query), "allow", url.Values{"scope": c.ticked})
			wantPage(t, again, http.StatusUnprocessableEntity, c.words)
			form := again.Form(oauth.PathConsent)
			if !slices.Equal(form["scope"], c.ticked) || again.ByID("scope-error") == nil || again.ByID("scope") == nil {
				t.Errorf("it shows %v", form)
			}
			if policy := again.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' https:") {
				t.Errorf("the policy %q blocks the redirect after the form", policy)
			}
			left := again.Forms("/sign-out")[1].Get("return_to")
			asked, err := url.Parse(left)
			if err != nil || asked.Path != oauth.PathAuthorize || asked.Query().Encode() != query.Encode() {
				t.Errorf("after a switch of the account, the request is %q", left)
			}
			p := decide(b, again, "allow", url.Values{"scope": strings.Fields(c.asked)})
			wantTokens(t, a.exchange(t, a.sentBack(t, p, callback).Get("code")))
		})
	}
}

// Another site can neither submit the consent form in the member's browser nor read it.
func TestConsentFromAnotherSite(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{TLS: true})
	a, b := newAgent(t, s), s.SignedIn(t, "maria")
	form := with(authorize(b, a.ask()).Form(oauth.PathConsent), "decision", "allow")
	for name, c := range map[string]struct{ site, origin string }{
		"a cross-site form":        {"cross-site", "https://evil.example"},
		"a form of a sibling host": {"same-site", "https://evil.kith.example"},
		"an older browser":         {"", "https://evil.example"},
		"a hidden origin":          {"cross-site", "null"},
	} {
		r := b.Request(http.MethodPost, oauth.PathConsent, form)
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Sec-Fetch-Site", c.site)
		if c.site == "" {
			r.Header.Del("Sec-Fetch-Site")
		}
		if p := b.Do(r); p.Status != http.StatusForbidden || p.Header.Get("Location") != "" || len(p.Header.Values("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%s: %d to %q", name, p.Status, p.Header.Get("Location"))
		}
	}
	byGet := b.Do(b.Request(http.MethodGet, oauth.PathConsent+"?"+form.Encode(), nil)) // a page that says where to begin
	if byGet.Status != http.StatusOK || byGet.Header.Get("Location") != "" || !strings.Contains(byGet.Body, "This page was answered") {
		t.Errorf("by GET: %d to %q", byGet.Status, byGet.Header.Get("Location"))
	}
	for name, r := range map[string]*http.Request{
		"in the address":   b.Request(http.MethodPost, oauth.PathConsent+"?"+form.Encode(), url.Values{}),
		"too large a form": b.Request(http.MethodPost, oauth.PathConsent, with(form, "x", strings.Repeat("x", 70<<10))),
	} {
		if p := b.Do(r); p.Status/100 != 4 || p.Header.Get("Location") != "" {
			t.Errorf("%s: %d to %q", name, p.Status, p.Header.Get("Location"))
		}
	}
	a.sentBack(t, b.Post(oauth.PathConsent, form), callback)
}
