package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/totp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const (
	twoStepPath = "/sign-in/two-step"
	factorsPath = "/settings/security/two-step"
)

// app is an app for one-time codes, with the recovery codes that came with it.
type app struct {
	site   *webtest.Site
	secret string
	codes  []string
}

// enrol turns one-time codes on for the member of a browser.
func enrol(t *testing.T, s *webtest.Site, b *webtest.Browser) *app {
	t.Helper()
	p := b.Get(factorsPath)
	a := &app{site: s, secret: webtest.TextOf(p.ByID("setup-key"))}
	sent := b.Submit(p, factorsPath, webtest.Values("code", a.code(t)))
	wantRedirect(t, sent, factorsPath+"?done=app-added")
	a.codes = codesOn(b.Follow(sent))
	if len(a.codes) != 10 {
		t.Fatalf("%d recovery codes", len(a.codes))
	}
	a.next()
	return a
}

// codesOn returns the recovery codes on a page.
func codesOn(p *webtest.Page) (codes []string) {
	if list := p.ByID("made-codes"); list != nil {
		codes = strings.Fields(webtest.TextOf(list))
	}
	return codes
}

// code returns the code that the app shows now.
func (a *app) code(t *testing.T) string { return a.codeIn(t, 0) }

// codeIn returns the code of a number of steps from now.
func (a *app) codeIn(t *testing.T, steps int64) string {
	t.Helper()
	code, err := totp.Code(a.secret, totp.StepOf(a.site.Clock.Now())+steps)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// next waits until the app shows the next code.
func (a *app) next() { a.site.Clock.Advance(30 * time.Second) }

// passwordOnly enters the password in a new browser, and returns it with the page that asks for the
// second factor.
func passwordOnly(t *testing.T, s *webtest.Site, username string) (*webtest.Browser, *webtest.Page) {
	t.Helper()
	b := s.Browser(t)
	sent := signIn(b, username, webtest.Password, "")
	wantRedirect(t, sent, twoStepPath)
	return b, b.Follow(sent)
}

// other returns a code that is not the given one.
func other(code string) string {
	if code == "000000" {
		return "000001"
	}
	return "000000"
}

func TestTwoStepSignIn(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner := s.SignedIn(t, "maria")
		left := s.BrowserOf(t, owner.Owner)
		a := enrol(t, s, owner)
		if isSignedIn(left) || !isSignedIn(owner) {
			t.Error("a session from before the second factor goes on, or this one ended")
		}
		want(t, owner.Get(factorsPath), http.StatusOK, "On since", "10 codes are left")
		if codesOn(owner.Get(factorsPath)) != nil {
			t.Error("the recovery codes are shown again")
		}
		b := s.Browser(t)
		wantRedirect(t, signIn(b, "maria", webtest.Password, "/settings/mcp"), twoStepPath)
		if isSignedIn(b) || b.Cookie("kith_session") != "" {
			t.Fatal("the password alone signs in")
		}
		page := b.Get(twoStepPath)
		code := a.code(t)
		for _, wrong := range []string{other(code), "", "abcd-efgh-ijkl-mnop", a.codeIn(t, -2), a.codeIn(t, 2), code + "0", a.secret} {
			p := b.Submit(page, twoStepPath, webtest.Values("code", wrong))
			want(t, p, http.StatusForbidden, "This code does not work.")
			if isSignedIn(b) {
				t.Fatalf("%q signs in", wrong)
			}
		}
		wantRedirect(t, b.Submit(page, twoStepPath, webtest.Values("code", code[:3]+" "+code[3:])), "/settings/mcp")
		if !isSignedIn(b) || b.Cookie("kith_step") != "" {
			t.Error("not signed in, or the step stays")
		}
		want(t, b.Get("/settings/security"), http.StatusOK, "On: a password alone signs nobody in.", "7 wrong second factors", "Added the second factor", "Confirmed with “app for one-time codes”")
		second, page := passwordOnly(t, s, "maria")
		want(t, second.Submit(page, twoStepPath, webtest.Values("code", code)), http.StatusForbidden, "Each code works once")
		want(t, second.Submit(page, twoStepPath, webtest.Values("code", a.codeIn(t, -1))), http.StatusForbidden)
		if isSignedIn(second) {
			t.Error("a code worked twice")
		}
	})
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner := s.SignedIn(t, "maria")
		a := enrol(t, s, owner)
		b, page := passwordOnly(t, s, "maria")
		typed := strings.ToUpper(strings.ReplaceAll(a.codes[3], "-", " "))
		wantRedirect(t, b.Submit(page, twoStepPath, webtest.Values("code", typed)), "/")
		want(t, b.Get("/settings/security"), http.StatusOK, "Used a recovery code")
		want(t, b.Get(factorsPath), http.StatusOK, "9 codes are left")
		second, page := passwordOnly(t, s, "maria")
		want(t, second.Submit(page, twoStepPath, webtest.Values("code", a.codes[3])), http.StatusForbidden, "does not work")

		// The recovery codes of another member do not work.
		stranger := enrol(t, s, s.SignedIn(t, "other"))
		want(t, second.Submit(page, twoStepPath, webtest.Values("code", stranger.codes[0])), http.StatusForbidden)

		sent := owner.Submit(owner.Get(factorsPath), factorsPath+"/codes", nil)
		wantRedirect(t, sent, factorsPath+"?done=codes-made")
		fresh := codesOn(owner.Follow(sent))
		want(t, second.Submit(page, twoStepPath, webtest.Values("code", a.codes[0])), http.StatusForbidden)
		wantRedirect(t, second.Submit(page, twoStepPath, webtest.Values("code", fresh[0])), "/")
	})
}

func TestTurningTwoStepOff(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner := s.SignedIn(t, "maria")
		a := enrol(t, s, owner)
		waiting, page := passwordOnly(t, s, "maria")
		sent := owner.Submit(owner.Get(factorsPath), factorsPath+"/off", nil)
		wantRedirect(t, sent, factorsPath+"?done=app-removed")
		want(t, owner.Follow(sent), http.StatusOK, "Scan this")
		wantRedirect(t, signIn(s.Browser(t), "maria", webtest.Password, ""), "/")
		for _, code := range []string{a.code(t), a.codes[0]} {
			want(t, waiting.Submit(page, twoStepPath, webtest.Values("code", code)), http.StatusForbidden)
		}
		again := enrol(t, s, owner)
		if again.secret == a.secret || again.codes[0] == a.codes[0] {
			t.Error("the secret or the codes are the same as before")
		}
	})
}

// The secret on the page can be set up only by the member and the session that the page was shown
// to.
func TestSetupIsBoundToTheSession(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, thief := s.SignedIn(t, "maria"), s.SignedIn(t, "thief")
	planted := thief.Get(factorsPath)
	known := &app{site: s, secret: webtest.TextOf(planted.ByID("setup-key"))}
	for _, sealed := range []string{planted.Form(factorsPath).Get("setup"), "", "x", "1.00000000.AAAA"} {
		p := b.Submit(b.Get(factorsPath), factorsPath, webtest.Values("setup", sealed, "code", known.code(t)))
		if p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusServiceUnavailable {
			t.Errorf("%q: %d", sealed, p.Status)
		}
	}
	page := b.Get(factorsPath)
	secret := webtest.TextOf(page.ByID("setup-key"))
	p := b.Submit(page, factorsPath, webtest.Values("code", "12 34 5"))
	want(t, p, http.StatusUnprocessableEntity, "This is not the code")
	if got := webtest.TextOf(p.ByID("setup-key")); got != secret {
		t.Error("a wrong code changes the secret, so that the person would have to scan again")
	}
	drawn := slices.DeleteFunc(p.All("svg"), func(svg *html.Node) bool { return webtest.Has(svg, "aria-hidden") })
	if len(drawn) != 1 || webtest.Attr(drawn[0], "role") != "img" || strings.Contains(p.Body, "<img src=\"data:") {
		t.Error("the QR code is not part of the page")
	}
	wantRedirect(t, signIn(s.Browser(t), "maria", webtest.Password, ""), "/")
}

// A browser that has only entered the password is not signed in.
func TestHalfSignedInGrantsNothing(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	enrol(t, s, s.SignedIn(t, "maria"))
	b, _ := passwordOnly(t, s, "maria")
	step := b.Cookie("kith_step")
	thief := s.Browser(t)
	thief.SetCookie("kith_session", step)
	for _, who := range []*webtest.Browser{b, thief} {
		for _, path := range []string{"/settings/profile", "/settings/security", "/settings/account/export", factorsPath, "/people", "/activity"} {
			if p := who.Get(path); p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Header.Get("Location"), "/sign-in?") {
				t.Errorf("%s: %d %s", path, p.Status, p.Header.Get("Location"))
			}
		}
		client := s.Client(t, "Agent", "https://a.example/cb")
		if p := who.Get(authorizePath(client.ID, "https://a.example/cb")); !strings.HasPrefix(p.Header.Get("Location"), "/sign-in?") {
			t.Errorf("authorize: %d %s", p.Status, p.Header.Get("Location"))
		}
	}
	for action, page := range posts() {
		if forMembers(page) && b.Post(action, webtest.Values("form_token", tokenOf(b.Get("/sign-in")))).Status == http.StatusOK {
			t.Errorf("%s answers a browser that is half signed in", action)
		}
	}
}

// Secrets that an attacker planted before the second factor are worthless after it.
func TestSessionFixationAtSecondFactor(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a := enrol(t, s, s.SignedIn(t, "maria"))
	mallory := s.SignedIn(t, "mallory")
	enrol(t, s, mallory)
	planted := mallory.Cookie("kith_session")
	victim, page := passwordOnly(t, s, "maria")
	victim.SetCookie("kith_session", planted)
	step := victim.Cookie("kith_step")
	wantRedirect(t, victim.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), "/")
	session := victim.Cookie("kith_session")
	if session == planted || session == step {
		t.Error("the session has a secret from before")
	}
	for name, secret := range map[string]string{"kith_session": planted, "kith_step": step} {
		thief := s.Browser(t)
		thief.SetCookie(name, secret)
		if isSignedIn(thief) {
			t.Errorf("%s is signed in", name)
		}
		if p := thief.Get(twoStepPath); p.Status == http.StatusOK {
			t.Errorf("with %s the second step goes on", name)
		}
	}
	// The planted step belongs to another member: the victim's code does not complete it.
	a.next()
	mallorys, _ := passwordOnly(t, s, "mallory")
	victim, page = passwordOnly(t, s, "maria")
	victim.SetCookie("kith_step", mallorys.Cookie("kith_step"))
	want(t, victim.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusForbidden)
	if isSignedIn(victim) {
		t.Error("signed in as somebody else")
	}
}

// The second step works in one browser, for ten minutes, and only until the password changes.
func TestSecondStepEnds(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	owner := s.SignedIn(t, "maria")
	a := enrol(t, s, owner)
	late, page := passwordOnly(t, s, "maria")
	s.Clock.Advance(10 * time.Minute)
	want(t, late.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusForbidden, "Sign in again")
	b, page := passwordOnly(t, s, "maria")
	elsewhere := s.Browser(t)
	want(t, elsewhere.Post(twoStepPath, merge(page.Form(twoStepPath), webtest.Values("code", a.code(t), "form_token", tokenOf(elsewhere.Get("/sign-in"))))), http.StatusForbidden, "Sign in again")
	m, err := account.GetMemberByID(t.Context(), s.Store, owner.Owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.SetPassword(t.Context(), s.Store, m.Access(), s.Hash(t)); err != nil {
		t.Fatal(err)
	}
	want(t, b.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusForbidden, "Sign in again")
	b, page = passwordOnly(t, s, "maria")
	if err := account.RevokeEverything(t.Context(), s.Store, owner.Owner); err != nil {
		t.Fatal(err)
	}
	want(t, b.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusForbidden, "Sign in again")
	b, page = passwordOnly(t, s, "maria")
	if _, err := account.SuspendMember(t.Context(), s.Store, "maria"); err != nil {
		t.Fatal(err)
	}
	want(t, b.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusForbidden, "Sign in again")
	if isSignedIn(b) || isSignedIn(late) || isSignedIn(elsewhere) {
		t.Error("signed in")
	}
}

// A reset of the password neither removes nor skips the second factor.
func TestResetKeepsSecondFactor(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	owner := s.SignedIn(t, "maria")
	a := enrol(t, s, owner)
	reset, _, _ := links(t, s, owner.Owner)
	b := s.Browser(t)
	wantRedirect(t, b.Submit(b.Get(reset), "/reset", webtest.Values("new_password", newPassword, "repeat_password", newPassword)), "/sign-in?done=reset")
	sent := signIn(b, "maria", newPassword, "")
	wantRedirect(t, sent, twoStepPath)
	if isSignedIn(b) {
		t.Fatal("the new password alone signs in")
	}
	wantRedirect(t, b.Submit(b.Follow(sent), twoStepPath, webtest.Values("code", a.code(t))), "/")
}

// A provider replaces the password only. An identity is linked after the second factor.
func TestProviderWantsSecondFactor(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, _ string) {
		s.linked(t, "maria")
		b := s.Browser(t)
		wantRedirect(t, s.signInThere(t, b, ""), "/")
		a := enrol(t, s.Site, b)
		second := s.Browser(t)
		sent := s.signInThere(t, second, "/settings/mcp?x=y")
		wantRedirect(t, sent, twoStepPath)
		if isSignedIn(second) {
			t.Fatal("the provider alone signs in")
		}
		wantRedirect(t, second.Submit(second.Follow(sent), twoStepPath, webtest.Values("code", a.code(t))), "/settings/mcp?x=y")

		lena := s.SignedIn(t, "lena")
		a = enrol(t, s.Site, lena)
		s.op.Be(person("lena"))
		third := s.Browser(t)
		sent = s.prove(t, third, webtest.Password)
		wantRedirect(t, sent, twoStepPath)
		if p := lena.Get("/settings/security"); strings.Contains(p.Text(), "Connected sign-ins") {
			t.Fatal("it is linked after the password alone")
		}
		wantRedirect(t, third.Submit(third.Follow(sent), twoStepPath, webtest.Values("code", a.code(t))), "/settings/profile?done=provider-linked")
		want(t, third.Get("/settings/security"), http.StatusOK, "Connected sign-ins")
	})
}

// The attempts at codes are limited, from any number of addresses. Spending that budget does not
// block a recovery code or a device that signed in before.
func TestCodesAreLimited(t *testing.T) {
	t.Parallel()
	n := 0
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.Login = &account.RatePolicy{Quota: 5, Window: 5 * time.Minute}
		c.ClientAddress = func(*http.Request) string { n++; return fmt.Sprintf("192.0.%d.%d", n/250, n%250) }
	}})
	s.Member(t, "maria")
	known := s.Browser(t)
	wantRedirect(t, signIn(known, "maria", webtest.Password, ""), "/")
	a := enrol(t, s, known)
	known.Submit(known.Get("/settings/security"), "/sign-out", nil)
	thief, page := passwordOnly(t, s, "maria")
	for range 5 {
		want(t, thief.Submit(page, twoStepPath, webtest.Values("code", other(a.code(t)))), http.StatusForbidden, "does not work")
	}
	want(t, thief.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusTooManyRequests, "Too many attempts")
	again, page := passwordOnly(t, s, "maria")
	want(t, again.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusTooManyRequests)
	if isSignedIn(thief) || isSignedIn(again) {
		t.Fatal("signed in")
	}
	wantRedirect(t, again.Submit(page, twoStepPath, webtest.Values("code", a.codes[0])), "/")
	sent := signIn(known, "maria", webtest.Password, "")
	wantRedirect(t, sent, twoStepPath)
	wantRedirect(t, known.Submit(known.Follow(sent), twoStepPath, webtest.Values("code", a.code(t))), "/")

	// The attempts in a day are limited, too, however slow they are.
	refused := 0
	for range 25 {
		s.Clock.Advance(5 * time.Minute)
		thief, page := passwordOnly(t, s, "maria")
		for range 5 {
			if p := thief.Submit(page, twoStepPath, webtest.Values("code", other(a.code(t)))); p.Status == http.StatusTooManyRequests {
				refused++
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d of 125 codes were refused", refused)
	}
}

// Without the key no member can set up an app, and a member who has one signs in with a recovery
// code.
func TestWithoutSecretKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
		t.Fatal(err)
	}
	s := webtest.Start(t, path, webtest.Options{})
	a := enrol(t, s, s.SignedIn(t, "maria"))
	s = webtest.Start(t, path, webtest.Options{Web: func(c *web.Config) { c.Secrets = nil }})
	other := s.SignedIn(t, "other")
	want(t, other.Get(factorsPath), http.StatusOK, "not available here")
	want(t, other.Post(factorsPath, webtest.Values("form_token", tokenOf(other.Get("/settings/profile")), "code", "123456")), http.StatusNotFound)
	b, page := passwordOnly(t, s, "maria")
	want(t, b.Submit(page, twoStepPath, webtest.Values("code", a.code(t))), http.StatusServiceUnavailable, "a recovery code works")
	wantRedirect(t, b.Submit(page, twoStepPath, webtest.Values("code", a.codes[0])), "/")
}

// The database holds neither the secret nor a recovery code.
func TestSecondFactorsAreNotReadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
		t.Fatal(err)
	}
	s := webtest.Start(t, path, webtest.Options{})
	a := enrol(t, s, s.SignedIn(t, "maria"))
	b, _ := passwordOnly(t, s, "maria")
	kept := databaseFiles(t, path)
	for name, secret := range map[string]string{
		"secret": a.secret, "recovery code": a.codes[0], "bare recovery code": strings.ReplaceAll(a.codes[0], "-", ""), "step": b.Cookie("kith_step"),
	} {
		if len(secret) < 16 || bytes.Contains(kept, []byte(secret)) {
			t.Errorf("the %s %q is in the database", name, secret)
		}
	}
}

// The store fails at any call of the second step. Nobody is signed in without both factors, and a
// person with a recovery code can sign in when the store is back.
func TestSecondStepInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for name, code := range map[string]func(t *testing.T, a *app) string{
		"a wrong code": func(t *testing.T, a *app) string { return other(a.code(t)) }, "a code": func(t *testing.T, a *app) string { return a.code(t) },
		"a recovery code": func(_ *testing.T, a *app) string { return a.codes[0] }, "a wrong recovery code": func(*testing.T, *app) string { return "aaaa-bbbb" },
	} {
		for n := 1; ; n++ {
			username := fmt.Sprintf("member-%d-%d", len(name), n)
			a := enrol(t, s, s.SignedIn(t, username))
			b := s.Browser(t)
			page := b.Get("/sign-in")
			form := page.Fill("/sign-in", webtest.Values("login", username, "password", webtest.Password))
			store.failAt(n)
			p := b.Post("/sign-in", form)
			failed := store.failed.Load()
			store.Set(nil)
			if isSignedIn(b) {
				t.Fatalf("call %d: the password alone signs in", n)
			}
			if failed {
				wantOutage(t, fmt.Sprintf("the password, call %d", n), p)
				p = signIn(b, username, webtest.Password, "")
			}
			step := b.Follow(p).Fill(twoStepPath, webtest.Values("code", code(t, a)))
			store.failAt(n)
			p = b.Post(twoStepPath, step)
			failedAgain := store.failed.Load()
			store.Set(nil)
			if failedAgain && p.Status != http.StatusForbidden { // only the event of the wrong code was not stored
				wantOutage(t, fmt.Sprintf("%s, call %d", name, n), p)
			}
			if signedIn := isSignedIn(b); signedIn && (failedAgain || strings.Contains(name, "wrong")) {
				t.Errorf("%s, call %d: signed in", name, n)
			}
			last, page := passwordOnly(t, s, username)
			wantRedirect(t, last.Submit(page, twoStepPath, webtest.Values("code", a.codes[9])), "/")
			if !failed && !failedAgain {
				break
			}
		}
	}
}

// The store fails at any call of a change of the factors. The member has either the old ones or the
// new ones, and can sign in.
func TestSettingUpInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for _, action := range []string{factorsPath, factorsPath + "/codes", factorsPath + "/off"} {
		for n := 1; ; n++ {
			username := fmt.Sprintf("member-%d-%d", len(action), n)
			b := s.SignedIn(t, username)
			var a *app
			var form url.Values
			if action == factorsPath {
				p := b.Get(factorsPath)
				a = &app{site: s, secret: webtest.TextOf(p.ByID("setup-key"))}
				form = p.Fill(action, webtest.Values("code", a.code(t)))
			} else {
				a = enrol(t, s, b)
				form = b.Get(factorsPath).Form(action)
			}
			store.failAt(n)
			p := b.Post(action, form)
			failed := store.failed.Load()
			store.Set(nil)
			if failed {
				wantOutage(t, fmt.Sprintf("%s, call %d", action, n), p)
			}
			a.next()
			visitor := s.Browser(t)
			sent := signIn(visitor, username, webtest.Password, "")
			if sent.Header.Get("Location") == twoStepPath {
				sent = visitor.Submit(visitor.Follow(sent), twoStepPath, webtest.Values("code", a.code(t)))
			}
			wantRedirect(t, sent, "/")
			if !failed {
				break
			}
		}
	}
}
