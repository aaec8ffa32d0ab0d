package web_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/oauth/signin/signintest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// elsewhere is a site with an identity provider called Example.
type elsewhere struct {
	*webtest.Site

	op *signintest.Server
}

// person returns the identity of a member of the site at the provider.
func person(username string) signintest.Person {
	return signintest.Person{Subject: "sub-" + username, Email: username + "@people.example", Verified: true}
}

func withProvider(t *testing.T, more ...func(c *web.Config)) (*signintest.Server, webtest.Options) {
	t.Helper()
	op := signintest.Start(t)
	p, err := signin.New(op.Config())
	if err != nil {
		t.Fatal(err)
	}
	return op, webtest.Options{Web: func(c *web.Config) {
		c.Provider = p
		for _, change := range more {
			change(c)
		}
	}}
}

func newElsewhere(t *testing.T, more ...func(c *web.Config)) elsewhere {
	t.Helper()
	op, options := withProvider(t, more...)
	return elsewhere{webtest.New(t, options), op}
}

func eachElsewhere(t *testing.T, test func(t *testing.T, s elsewhere, databaseURL string)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		op, options := withProvider(t)
		test(t, elsewhere{webtest.Start(t, databaseURL, options), op}, databaseURL)
	})
}

// leave presses the button on the sign-in page and returns where it redirects to.
func (s elsewhere) leave(t *testing.T, b *webtest.Browser, returnTo string) string {
	t.Helper()
	p := b.Submit(b.Get("/sign-in?"+webtest.Values("return_to", returnTo).Encode()), "/sign-in/provider", nil)
	to := p.Header.Get("Location")
	if p.Status != http.StatusSeeOther || !strings.HasPrefix(to, s.op.URL+"/authorize?") {
		t.Fatalf("%d redirects to %q:\n%s", p.Status, to, p.Text())
	}
	return to
}

// answer makes the provider respond and returns the path that it sends the browser back
// to.
func (s elsewhere) answer(t *testing.T, address string) string {
	t.Helper()
	path, ok := strings.CutPrefix(s.op.SignIn(t, address).String(), s.URL)
	if !ok || !strings.HasPrefix(path, "/sign-in/provider/callback?") {
		t.Fatalf("the provider redirects to %s", path)
	}
	return path
}

// arrive loads a page as a browser that comes from another site.
func arrive(b *webtest.Browser, path string) *webtest.Page {
	r := b.Request(http.MethodGet, path, nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	return b.Do(r)
}

// signInThere goes to the provider and back.
func (s elsewhere) signInThere(t *testing.T, b *webtest.Browser, returnTo string) *webtest.Page {
	t.Helper()
	return arrive(b, s.answer(t, s.leave(t, b, returnTo)))
}

// linked creates a member who has linked their identity.
func (s elsewhere) linked(t *testing.T, username string) {
	t.Helper()
	s.Member(t, username)
	s.op.Be(person(username))
	b := s.Browser(t)
	wantRedirect(t, s.prove(t, b, webtest.Password), "/settings/profile?done=provider-linked")
}

// prove goes to the provider and answers the password question.
func (s elsewhere) prove(t *testing.T, b *webtest.Browser, password string) *webtest.Page {
	t.Helper()
	p := b.Follow(s.signInThere(t, b, ""))
	want(t, p, http.StatusOK, "One more step")
	return b.Submit(p, "/sign-in/provider/link", webtest.Values("password", password))
}

// wantMember fails unless the browser is signed in as the member.
func wantMember(t *testing.T, b *webtest.Browser, username string) {
	t.Helper()
	p := b.Get("/settings/security")
	if names := p.All("bdi"); p.Status != http.StatusOK || webtest.TextOf(names[0]) != username {
		t.Errorf("%d, not signed in as %s:\n%s", p.Status, username, p.Body)
	}
}

const overWords = "Signing in with Example has to end in the browser where it began, once, within 10 minutes. Begin again."

func TestSignInElsewhere(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, _ string) {
		s.linked(t, "maria")
		b := s.Browser(t)
		page := b.Get("/sign-in")
		want(t, page, http.StatusOK, "Sign in with Example")
		checkHeaders(t, "sign-in", page, strings.Replace(scriptPolicy, scripts, " https: "+s.op.URL+scripts, 1))
		checkHeaders(t, "wrong sign-in", signIn(b, "x", "y", ""), strings.Replace(scriptPolicy, scripts, " https: "+s.op.URL+scripts, 1))
		wantRedirect(t, s.signInThere(t, b, "/settings/mcp?x=y"), "/settings/mcp?x=y")
		wantMember(t, b, "maria")
		want(t, b.Get("/settings/security"), http.StatusOK, "Connected sign-ins", "Example", "last used on "+s.Clock.Now().Format("2 January 2006"))
		wantRedirect(t, b.Submit(b.Get("/settings/security"), "/sign-out", nil), "/sign-in?done=signed-out")
		wantRedirect(t, s.signInThere(t, b, "https://evil.example"), "/")
	})
}

// After linking, the identity's email address no longer matters.
func TestIdentityIsTheSubject(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.linked(t, "maria")
	s.Member(t, "victim")
	for name, p := range map[string]signintest.Person{
		"another's address":     {Subject: "sub-maria", Email: "victim@people.example", Verified: true},
		"an unverified address": {Subject: "sub-maria", Email: "maria@people.example"},
		"no address":            {Subject: "sub-maria"},
	} {
		s.op.Be(p)
		b := s.Browser(t)
		wantRedirect(t, s.signInThere(t, b, ""), "/")
		wantMember(t, b, "maria")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	for name, p := range map[string]signintest.Person{
		"another subject": {Subject: "sub-other", Email: "maria@people.example", Verified: true},
		"its own case":    {Subject: "SUB-MARIA", Email: "maria@people.example", Verified: true},
	} {
		s.op.Be(p)
		b := s.Browser(t)
		want(t, b.Follow(s.signInThere(t, b, "")), http.StatusOK, "One more step")
		if isSignedIn(b) {
			t.Errorf("%s is signed in", name)
		}
	}
}

func TestSessionBegunElsewhereIsNew(t *testing.T) {
	t.Parallel()
	op, options := withProvider(t)
	options.TLS = true
	s := elsewhere{webtest.New(t, options), op}
	s.linked(t, "maria")
	attacker, victim := s.SignedIn(t, "attacker"), s.Browser(t)
	planted := attacker.Cookie("kith_session")
	p := victim.Submit(victim.Get("/sign-in"), "/sign-in/provider", nil)
	for _, c := range p.Cookies {
		if c.Name != "__Host-kith_provider" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 600 {
			t.Errorf("cookie: %v", c)
		}
	}
	victim.SetCookie("__Host-kith_session", planted)
	wantRedirect(t, arrive(victim, s.answer(t, p.Header.Get("Location"))), "/")
	wantMember(t, victim, "maria")
	if got := victim.Cookie("kith_session"); got == planted || got == "" || isSignedIn(attacker) {
		t.Error("the attacker's session still works, or is now the victim's")
	}
}

func TestTwoTabsAtOnce(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, _ string) {
		s.linked(t, "maria")
		b := s.Browser(t)
		first, second := s.leave(t, b, "/settings/mcp"), s.leave(t, b, "/settings/account")
		one, two := s.answer(t, second), s.answer(t, first)
		wantRedirect(t, arrive(b, one), "/settings/account")
		wantRedirect(t, arrive(b, two), "/settings/mcp")
		if !isSignedIn(b) {
			t.Error("not signed in")
		}
		want(t, arrive(b, one), http.StatusBadRequest, overWords)
	})
}

// A response in another browser, a repeated, a late and an unknown response get the
// same page, and sign no one in.
func TestAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, _ string) {
		s.linked(t, "attacker")
		attacker := s.Browser(t)
		bare, busy := s.Browser(t), s.Browser(t)
		own := s.leave(t, busy, "")
		path := s.answer(t, s.leave(t, attacker, ""))
		for name, victim := range map[string]*webtest.Browser{"a browser without a cookie": bare, "a browser with its own attempt": busy} {
			p := arrive(victim, path) // login CSRF
			want(t, p, http.StatusBadRequest, "This sign-in did not work", overWords)
			if isSignedIn(victim) || p.Header.Get("Location") != "" {
				t.Errorf("%s is signed in", name)
			}
		}
		planted := s.Browser(t)
		planted.SetCookie("kith_provider", "")
		want(t, arrive(planted, path), http.StatusBadRequest, overWords)
		wantRedirect(t, arrive(attacker, path), "/")
		attacker.Submit(attacker.Get("/settings/profile"), "/sign-out", nil)
		want(t, arrive(attacker, path), http.StatusBadRequest, overWords) // a replay
		mine := s.answer(t, own)
		for name, change := range map[string]func(q url.Values){
			"another state": func(q url.Values) { q.Set("state", strings.Repeat("x", 43)) },
			"no state":      func(q url.Values) { q.Del("state") },
		} {
			u, err := url.Parse(mine)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			change(q)
			if p := arrive(busy, u.Path+"?"+q.Encode()); p.Status != http.StatusBadRequest || !strings.Contains(p.Text(), overWords) {
				t.Errorf("%s: %d %s", name, p.Status, p.Text())
			}
		}
		s.Clock.Advance(10*time.Minute - time.Second)
		wantRedirect(t, arrive(busy, mine), "/")
		late := s.Browser(t)
		path = s.answer(t, s.leave(t, late, ""))
		s.Clock.Advance(10 * time.Minute)
		want(t, arrive(late, path), http.StatusBadRequest, overWords)
		if isSignedIn(late) || isSignedIn(attacker) {
			t.Error("signed in")
		}
	})
}

func TestLyingProvider(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.linked(t, "maria")
	claim := func(name string, value any) signintest.Lies {
		return signintest.Lies{Claims: func(claims map[string]any) { claims[name] = value }}
	}
	for name, lies := range map[string]signintest.Lies{
		"another nonce":        claim("nonce", "x"),
		"a wrong audience":     claim("aud", "another"),
		"an expired token":     claim("exp", time.Now().Add(-time.Minute).Unix()),
		"another issuer":       {Answer: func(q url.Values) { q.Set("iss", "https://evil.example") }},
		"the member said no":   {Answer: func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }},
		"words of its own":     {Answer: func(q url.Values) { q.Set("error", "<script>"); q.Set("error_description", "Call 555 0100") }},
		"an unknown signature": {Token: signintest.Resign},
	} {
		s.op.Lie(lies)
		b := s.Browser(t)
		path := s.answer(t, s.leave(t, b, "/settings/mcp"))
		p := arrive(b, path)
		if p.Status != http.StatusForbidden || !strings.Contains(p.Text(), "Signing in with Example did not work. Try again, or sign in with your password.") {
			t.Errorf("%s: %d %s", name, p.Status, p.Text())
		}
		if strings.Contains(p.Body, "555") || !strings.Contains(p.Body, `href="/sign-in?return_to=%2Fsettings%2Fmcp"`) {
			t.Errorf("%s: wrong page: %s", name, p.Body)
		}
		s.op.Lie(signintest.Lies{})
		want(t, arrive(b, path), http.StatusBadRequest, overWords) // used up
		if isSignedIn(b) {
			t.Errorf("%s: signed in", name)
		}
	}
}

// The site starts, and signs in by password, while the provider is down.
func TestProviderOutage(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.linked(t, "maria")
	b := s.Browser(t)
	path := s.answer(t, s.leave(t, b, ""))
	s.op.Stop()
	checkOutage(t, arrive(b, path))
	down := newElsewhere(t)
	down.op.Stop()
	down.Member(t, "maria")
	b = down.Browser(t)
	page := b.Get("/sign-in")
	want(t, page, http.StatusOK, "Sign in with Example")
	checkOutage(t, b.Submit(page, "/sign-in/provider", nil))
	wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
}

func checkOutage(t *testing.T, p *webtest.Page) {
	t.Helper()
	want(t, p, http.StatusServiceUnavailable, "Example cannot be reached right now. Try again in a moment, or sign in with your password.")
	if p.Header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After: %q", p.Header.Get("Retry-After"))
	}
}

func TestWithoutProvider(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.Browser(t)
	page := b.Get("/sign-in")
	if strings.Contains(page.Body, "provider") {
		t.Error("the sign-in page offers a provider")
	}
	form := webtest.Values("form_token", tokenOf(page))
	for _, p := range []*webtest.Page{
		b.Post("/sign-in/provider", form), b.Get("/sign-in/provider/callback?state=x"), b.Get("/sign-in/provider/link?link=x"), b.Post("/sign-in/provider/link", form),
	} {
		want(t, p, http.StatusNotFound, "There is no other way to sign in here")
	}
	if strings.Contains(s.SignedIn(t, "maria").Get("/settings/security").Text(), "elsewhere") {
		t.Error("the security page shows a provider")
	}
}

// Unfinished sign-ins cannot fill the store.
func TestLeavingIsLimited(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t, func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 2, Window: time.Minute} })
	s.Member(t, "maria")
	b := s.Browser(t)
	for range 2 {
		s.leave(t, b, "")
	}
	want(t, b.Submit(b.Get("/sign-in"), "/sign-in/provider", nil), http.StatusTooManyRequests, "Too many attempts")
	wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
}

func (s elsewhere) memberID(t *testing.T, username string) tenant.ID {
	t.Helper()
	m, err := account.FindMember(t.Context(), s.Store, username)
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// newDatabase returns the path of a new, migrated SQLite database.
func newDatabase(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kith.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
		t.Fatal(err)
	}
	return path
}
