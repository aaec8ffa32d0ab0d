package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		s.Member(t, "maria")
		for _, login := range []string{"maria", "MARIA", " maria ", "maria@people.example", "Maria@People.example"} {
			b := s.Browser(t)
			wantRedirect(t, signIn(b, login, webtest.Password, ""), "/")
			want(t, b.Get("/settings/profile"), http.StatusOK, "Your profile")
			wantRedirect(t, b.Get("/sign-in"), "/")
		}
	})
}

func TestSignInComesBack(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	s.Member(t, "maria")
	b := s.Browser(t)
	wantRedirect(t, b.Get("/settings/mcp?done=x"), "/sign-in?return_to=%2Fsettings%2Fmcp%3Fdone%3Dx")
	wantRedirect(t, signIn(b, "maria", webtest.Password, "/settings/mcp?done=x"), "/settings/mcp?done=x")
}

// These get the same response: an unknown member, a wrong password (also of a suspended member), a
// member of the sandbox, and a member without a password. Each costs one hash, so that the response
// time is also the same.
func TestSignInAnswersAllAlike(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := webtest.Start(t, url, webtest.Options{})
		for _, who := range []string{"maria", "suspended", "demo-one", "blank-one"} {
			s.Member(t, who)
		}
		restrict(t, url)
		var checked []string
		s.Web.OnVerify(func(hash string) { checked = append(checked, hash) })
		b := s.Browser(t)
		shape := func(login, password string) string {
			checked = nil
			p := signIn(b, login, password, "")
			if len(checked) != 1 || costOf(checked[0]) != costOf(s.Hash(t)) {
				t.Errorf("%q was checked against %v", login, checked)
			}
			h := p.Header.Clone()
			h.Del("Date")
			h.Del("Content-Length")
			return fmt.Sprint(p.Status, h, strings.ReplaceAll(p.Body, login, "LOGIN"))
		}
		normal := shape("maria", "wrong password")
		if !strings.Contains(normal, "do not belong together") {
			t.Fatal(normal)
		}
		for _, c := range [][2]string{
			{"nobody", webtest.Password}, {"nobody@people.example", "x"}, {"suspended", "wrong"}, {"demo-one", webtest.Password},
			{"blank-one", ""}, {"blank-one", webtest.Password}, {"maria", ""}, {"maria@people.example", "wrong"},
		} {
			if got := shape(c[0], c[1]); got != normal {
				t.Errorf("%v:\n%s\nnot\n%s", c, got, normal)
			}
		}
		if isSignedIn(b) {
			t.Error("signed in")
		}
	})
}

// An attempt beyond the limit costs no hash.
func TestRefusedAttemptIsNotHashed(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 1, Window: time.Minute} }})
	s.Member(t, "maria")
	checked := 0
	s.Web.OnVerify(func(string) { checked++ })
	b := s.Browser(t)
	page := b.Get("/sign-in")
	form := webtest.Values("login", "maria", "password", webtest.Password+"?")
	want(t, b.Submit(page, "/sign-in", form), http.StatusForbidden)
	want(t, b.Submit(page, "/sign-in", form), http.StatusTooManyRequests)
	if checked != 1 {
		t.Errorf("%d hashes", checked)
	}
}

// restrict changes three members so that they cannot sign in.
func restrict(t *testing.T, databaseURL string) {
	t.Helper()
	statement(t, databaseURL, "UPDATE members SET suspended_at = created_at WHERE username = 'suspended'")
	statement(t, databaseURL, "UPDATE members SET password_hash = '' WHERE username = 'blank-one'")
	statement(t, databaseURL, "UPDATE tenant_states SET read_only = TRUE WHERE tenant_id = (SELECT id FROM members WHERE username = 'demo-one')")
}

// costOf returns the part of a hash that encodes its cost.
func costOf(hash string) string { return strings.Join(strings.Split(hash, "$")[:4], "$") }

func limited(policy *account.RatePolicy, address *string) webtest.Options {
	return webtest.Options{Web: func(c *web.Config) {
		c.Login = policy
		c.ClientAddress = func(*http.Request) string { return *address }
	}}
}

func TestLoginPolicy(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		address := "192.0.2.1"
		s := webtest.Start(t, url, limited(nil, &address)) // nil is the default: 10 in 300 s
		s.Member(t, "maria")
		b := s.Browser(t)
		for n := range 10 {
			p := signIn(b, "maria", "wrong password", "")
			if got := p.Header.Get("RateLimit-Remaining"); p.Status != http.StatusForbidden || got != fmt.Sprint(9-n) {
				t.Fatalf("attempt %d: %d, %s left", n, p.Status, got)
			}
		}
		p := signIn(b, "maria", webtest.Password, "")
		want(t, p, http.StatusTooManyRequests, "Too many attempts", "Try again in 5 minutes")
		for name, value := range map[string]string{
			"Retry-After": "300", "RateLimit": `"login";r=0;t=300`, "RateLimit-Policy": `"login";q=10;w=300`, "RateLimit-Limit": "10", "RateLimit-Reset": "300",
		} {
			if p.Header.Get(name) != value {
				t.Errorf("%s: %q", name, p.Header.Get(name))
			}
		}
		s.Clock.Advance(298*time.Second + 600*time.Millisecond) // Retry-After is rounded up
		p = signIn(b, "maria", webtest.Password, "")
		want(t, p, http.StatusTooManyRequests, "one minute")
		if p.Header.Get("Retry-After") != "2" || p.Header.Get("RateLimit-Reset") != "2" {
			t.Errorf("Retry-After: %q, RateLimit-Reset: %q", p.Header.Get("Retry-After"), p.Header.Get("RateLimit-Reset"))
		}
		s.Clock.Advance(1400 * time.Millisecond)
		wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
	})
}

func TestLoginPolicyByAddress(t *testing.T) {
	t.Parallel()
	for name, addresses := range map[string][3]string{
		"IPv4":           {"192.0.2.1", "192.0.2.1", "192.0.2.2"},
		"IPv4 in IPv6":   {"192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
		"IPv6 by its 64": {"2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := addresses[0]
			s := webtest.New(t, limited(&account.RatePolicy{Quota: 2, Window: time.Minute}, &address))
			s.Member(t, "maria")
			b := s.Browser(t)
			want(t, signIn(b, "somebody", "wrong", ""), http.StatusForbidden)
			want(t, signIn(b, "another", "wrong", ""), http.StatusForbidden)
			address = addresses[1]
			p := signIn(b, "maria", webtest.Password, "")
			want(t, p, http.StatusTooManyRequests)
			if p.Header.Get("Retry-After") != "60" {
				t.Errorf("Retry-After: %q", p.Header.Get("Retry-After"))
			}
			address = addresses[2]
			wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
		})
	}
}

// One address has ten attempts, for all members together.
func TestLoginPolicyByAddressIsTheDefault(t *testing.T) {
	t.Parallel()
	address := "192.0.2.1"
	s := webtest.New(t, limited(nil, &address))
	s.Member(t, "maria")
	b := s.Browser(t)
	page := b.Get("/sign-in")
	for n := range 10 {
		want(t, b.Submit(page, "/sign-in", webtest.Values("login", fmt.Sprint("guess-", n), "password", "x")), http.StatusForbidden)
	}
	p := b.Submit(page, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password))
	want(t, p, http.StatusTooManyRequests)
	if p.Header.Get("Retry-After") != "300" {
		t.Errorf("Retry-After: %q", p.Header.Get("Retry-After"))
	}
}

// A member has two names to sign in with and one limit; the responses do not reveal
// that both names belong to one member.
func TestLoginPolicyHoldsForBothNames(t *testing.T) {
	t.Parallel()
	n := 0
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.Login = &account.RatePolicy{Quota: 3, Window: time.Minute}
		c.ClientAddress = func(*http.Request) string { n++; return fmt.Sprintf("192.0.2.%d", n) }
	}})
	s.Member(t, "maria")
	b := s.Browser(t)
	for range 15 { // the attempts of five addresses
		want(t, signIn(b, "maria", "wrong", ""), http.StatusForbidden)
	}
	known := signIn(b, "maria@people.example", webtest.Password, "")
	unknown := signIn(b, "other@people.example", webtest.Password, "")
	if known.Status != unknown.Status || known.Text() != unknown.Text() {
		t.Errorf("%d %s\n%d %s", known.Status, known.Text(), unknown.Status, unknown.Text())
	}
	want(t, known, http.StatusForbidden, "do not belong together")
}

func TestSessionFixation(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	s.Member(t, "maria")
	attacker := s.SignedIn(t, "attacker")
	planted := attacker.Cookie("kith_session")
	for name, secret := range map[string]string{"a session of the attacker": planted, "a secret of the attacker": strings.Repeat("A", 43)} {
		victim := s.Browser(t)
		page := victim.Get("/sign-in")
		victim.SetCookie("kith_session", secret)
		wantRedirect(t, victim.Submit(page, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password)), "/")
		if victim.Cookie("kith_session") == secret {
			t.Errorf("%s: the secret did not change", name)
		}
		thief := s.Browser(t)
		thief.SetCookie("kith_session", secret)
		if isSignedIn(thief) {
			t.Errorf("%s is signed in", name)
		}
	}
}

func TestSignInAgainEndsTheSessionBefore(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	s.Member(t, "maria")
	b, left := s.Browser(t), s.Browser(t)
	page := b.Get("/sign-in")
	b.Submit(page, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password))
	left.SetCookie("kith_session", b.Cookie("kith_session"))
	b.SetCookie("kith_form", s.Browser(t).Cookie("kith_form"))
	again := s.Browser(t).Get("/sign-in")
	b.SetCookie("kith_form", again.Cookies[0].Value)
	b.Submit(again, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password))
	if isSignedIn(left) || !isSignedIn(b) {
		t.Error("the earlier session still works, or the new one does not")
	}
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	s.Member(t, "maria")
	b := s.Browser(t)
	signIn(b, "maria", webtest.Password, "")
	s.Clock.Advance(14*24*time.Hour - time.Second)
	if !isSignedIn(b) {
		t.Error("it ended early")
	}
	s.Clock.Advance(time.Second)
	if isSignedIn(b) {
		t.Error("the session still works")
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	left := s.Browser(t)
	left.SetCookie("kith_session", b.Cookie("kith_session"))
	p := b.Submit(b.Get("/settings/profile"), "/sign-out", nil)
	wantRedirect(t, p, "/sign-in?done=signed-out")
	want(t, b.Follow(p), http.StatusOK, "You are signed out.")
	if isSignedIn(left) || b.Cookie("kith_session") != "" {
		t.Error("the session still works")
	}
}

func TestSignOutEverywhere(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	second := s.BrowserOf(t, b.Owner)
	wantRedirect(t, b.Submit(b.Get("/settings/security"), "/settings/security/sign-out", nil), "/sign-in?done=signed-out-everywhere")
	if isSignedIn(b) || isSignedIn(second) || !isSignedIn(other) {
		t.Error("the wrong sessions ended")
	}
}

// TestOpenRedirect tries addresses that browsers treat as another site, and paths that are not
// allowed as a return path.
func TestOpenRedirect(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	s.Member(t, "maria")
	tricky := []string{
		"https://evil.example", "http://evil.example/settings/mcp", "//evil.example", "//evil.example/settings/mcp", "///evil.example",
		"/\\evil.example", "\\/evil.example", "\\\\evil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example", " //evil.example",
		"/%2F/evil.example", "/%2f%2fevil.example", "/%5Cevil.example", "/settings/..//evil.example", "/settings/../../evil.example",
		"/settings/%2e%2e/sign-out", "/settings//evil.example", "/settings/\\evil.example", "/settings/%5c", "/settings@evil.example",
		"javascript:alert(1)", "data:text/html,x", "settings/mcp", "evil.example", ".evil.example", "@evil.example", "/oauth/authorize@evil.example",
		"/oauth/authorize/../../..//evil.example", "/oauth/authorises", "/oauth/token", "/oauth/consent", "/sign-out", "/sign-in", "",
		"/settingsX", "/settings/mcp#x", "https:/evil.example", "https:evil.example", "/settings/mcp\r\nSet-Cookie: x=y", "/settings/" + strings.Repeat("a", 5000),
		"//settings/mcp", "/oauth/authorize\x00", "http://" + strings.TrimPrefix(s.URL, "http://") + "@evil.example/settings/mcp", "?/settings/mcp",
	}
	asked, b := s.Browser(t), s.Browser(t)
	page := b.Get("/sign-in")
	formSecret := b.Cookie("kith_form")
	for _, to := range tricky {
		where := "/sign-in?" + webtest.Values("return_to", to).Encode()
		if kept := asked.Get(where).Form("/sign-in").Get("return_to"); kept != "" {
			t.Errorf("the form keeps %q as %q", to, kept)
		}
		b.SetCookie("kith_form", formSecret)
		wantRedirect(t, b.Submit(page, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password, "return_to", to)), "/")
		wantRedirect(t, b.Get(where), "/")
	}
	for _, to := range tricky[:10] {
		wantRedirect(t, b.Submit(b.Get("/settings/account"), "/sign-out", webtest.Values("return_to", to)), "/sign-in?done=signed-out")
		signIn(b, "maria", webtest.Password, "")
	}
	for _, to := range []string{"/", "/people/new", "/settings", "/settings/mcp", "/settings/mcp?done=x", "/oauth/authorize?client_id=a&redirect_uri=https%3A%2F%2Fa.example%2Fcb&state=%2F%2F"} {
		b := s.Browser(t)
		wantRedirect(t, signIn(b, "maria", webtest.Password, to), to)
	}
}
