package web_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestHeadersOfEveryPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
	for name, p := range map[string]*webtest.Page{
		"profile": b.Get("/settings/profile"), "mcp": b.Get("/settings/mcp"), "activity": b.Get("/activity"), "no change": b.Get(webtest.UndoPath("x")),
		"security": b.Get("/settings/security"), "account": b.Get("/settings/account"), "refused": b.Post("/settings/account/delete", webtest.Values("x", "y")),
		"today": b.Get("/"), "people": b.Get("/people"), "connect": b.Get("/connect"), "zone": b.Get("/settings/time"),
		"new address": b.Get(storedChange(t, s, b.Owner, "new@people.example")),
	} {
		checkHeaders(t, name, p, membersPolicy)
	}
	pages := map[string]*webtest.Page{
		"sign-up": anonymous.Get("/sign-up"), "forgot": anonymous.Get("/forgot"), "reset": anonymous.Get("/reset?link=x"),
		"verify": anonymous.Get("/verify?link=x"), "redirect": anonymous.Get("/settings/profile"),
		"problem": b.Get("/oauth/authorize?client_id=x"), "export": b.Get("/settings/account/export"),
	}
	for name, p := range pages {
		checkHeaders(t, name, p, ownPolicy)
	}
	for name, p := range map[string]*webtest.Page{"sign-in": anonymous.Get("/sign-in"), "wrong": signIn(anonymous, "x", "y", "")} {
		checkHeaders(t, name, p, scriptPolicy)
	}
	empty := webtest.New(t, webtest.Options{})
	checkHeaders(t, "owner", empty.Browser(t).Get(ownerLink(t, empty)), scriptPolicy)
	c := s.Client(t, "Agent", "https://a.example/cb")
	checkHeaders(t, "consent", b.Get(authorizePath(c.ID, "https://a.example/cb")), strings.Replace(scriptPolicy, scripts, " https:"+scripts, 1))
}

const ownPolicy = "default-src 'none'; style-src 'self'; img-src 'self' https:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// Content security policies of pages that run our scripts: membersPolicy of pages with navigation, from
// which a browser can install the app, and scriptPolicy of the others.
const (
	membersPolicy = ownPolicy + scripts + "; worker-src 'self'; manifest-src 'self'"
	scriptPolicy  = ownPolicy + scripts + "; worker-src 'none'"
	scripts       = "; script-src 'self'; connect-src 'self'"
)

// checkHeaders fails unless a page has the headers of every page and contains nothing
// that the policy would forbid. The referrer policy sends nothing to other sites, as
// no-referrer would; setHeaders explains the difference.
func checkHeaders(t *testing.T, name string, p *webtest.Page, policy string) {
	t.Helper()
	for header, value := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": policy,
	} {
		if p.Header.Get(header) != value {
			t.Errorf("%s: %s is %q", name, header, p.Header.Get(header))
		}
	}
	body := p.Body
	if strings.Contains(policy, scripts) {
		body = webtest.OwnScript.ReplaceAllString(body, "")
	}
	for _, forbidden := range []string{"<script", "<style", " style=", " onclick", "javascript:"} {
		if strings.Contains(strings.ToLower(body), forbidden) {
			t.Errorf("%s contains %q", name, forbidden)
		}
	}
}

// A web client that opens the consent page in a separate window keeps its reference to that window,
// also through sign-in and sign-up. The settings pages are separated from the window that opened
// them.
func TestWindowsOfClientsComeBack(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
	c := s.Client(t, "Agent", "https://a.example/cb")
	path := authorizePath(c.ID, "https://a.example/cb")
	s.Member(t, "newby")
	signedIn := signIn(anonymous, "newby", webtest.Password, path)
	wantRedirect(t, signedIn, path)
	for name, p := range map[string]*webtest.Page{
		"to sign in": s.Browser(t).Get(path), "sign-in": s.Browser(t).Get("/sign-in"), "signed in": signedIn, "sign-up": s.Browser(t).Get("/sign-up"),
		"consent": b.Get(path), "problem": b.Get("/oauth/authorize"), "granted": b.Post("/oauth/consent", allow(b.Get(path))),
	} {
		if got := p.Header.Get("Cross-Origin-Opener-Policy"); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, path := range []string{"/settings/profile", "/settings/mcp", "/activity", "/settings/security", "/settings/account"} {
		if got := b.Get(path).Header.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]struct {
		options webtest.Options
		prefix  string
	}{
		"over https": {webtest.Options{TLS: true}, "__Host-"},
		"over http":  {webtest.Options{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := webtest.New(t, o.options)
			s.Member(t, "maria")
			b := s.Browser(t)
			got := map[string]int{}
			form := b.Get("/sign-in")
			in := b.Submit(form, "/sign-in", webtest.Values("login", "maria", "password", webtest.Password))
			if !isSignedIn(b) {
				t.Error("not signed in")
			}
			planted := s.Browser(t) // as another host of the domain could set it
			planted.SetCookie("kith_session", b.Cookie("kith_session"))
			if isSignedIn(planted) != (o.prefix == "") {
				t.Error("the cookie is accepted without its prefix, or not at all")
			}
			out := b.Submit(b.Get("/settings/profile"), "/sign-out", nil)
			for step, p := range []*webtest.Page{form, in, out} {
				for _, c := range p.Cookies {
					if c.Secure != o.options.TLS || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
						t.Errorf("cookie: %v", c)
					}
					got[string(rune('1'+step))+" "+c.Name] = c.MaxAge
				}
			}
			const day = int(24 * time.Hour / time.Second)
			if expected := map[string]int{
				"1 " + o.prefix + "kith_form": 0, "2 " + o.prefix + "kith_form": -1, "2 " + o.prefix + "kith_session": 14 * day,
				"2 " + o.prefix + "kith_device":  365 * day,
				"3 " + o.prefix + "kith_session": -1,
			}; !maps.Equal(got, expected) {
				t.Errorf("cookies and their lifetimes: %v", got)
			}
		})
	}
}
