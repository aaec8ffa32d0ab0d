package web_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const confirmPath = "/sign-in/confirm"

// stale advances the clock until no session is fresh any more.
func stale(s *webtest.Site) { s.Clock.Advance(account.FreshFor + time.Second) }

// wantConfirm fails unless the page asks the member to reauthenticate.
func wantConfirm(t *testing.T, what string, p *webtest.Page) {
	t.Helper()
	if p.Status != http.StatusForbidden || p.Heading() != "Confirm that it is you" {
		t.Errorf("%s: %d %s\n%s", what, p.Status, p.Header.Get("Location"), p.Text())
	}
}

// The routes that need a fresh proof are exactly those listed here, and all of them exist.
func TestFreshRoutesAreComplete(t *testing.T) {
	t.Parallel()
	want := []string{
		"GET /settings/account/export", "GET /settings/exports/{job}", "POST /people/bin/delete", "POST /settings/account/delete", "POST /settings/agents/widen", "POST /settings/devices", "POST /settings/devices/feeds", "POST /settings/devices/login", "POST /settings/mcp/tokens",
		"POST /settings/security/email", "POST /settings/security/email/confirm", "POST /settings/security/password",
		"POST /settings/security/provider/unlink", "POST /settings/security/two-step", "POST /settings/security/two-step/codes",
		"POST /settings/security/two-step/off", "POST /settings/security/two-step/passkeys", "POST /settings/security/two-step/passkeys/remove",
	}
	fresh := web.FreshRoutes()
	if got := slices.Sorted(maps.Keys(fresh)); !slices.Equal(got, want) {
		t.Errorf("fresh: %q", got)
	}
	for pattern := range fresh {
		if !slices.Contains(web.Routes(), pattern) {
			t.Errorf("there is no route %s", pattern)
		}
	}
}

// kept returns what an attacker could change, as text.
func kept(t *testing.T, s *webtest.Site, b *webtest.Browser) string {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s.Store, b.Owner)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := account.ListPersonalTokens(t.Context(), s.Store, b.Owner)
	if err != nil {
		t.Fatal(err)
	}
	factors, err := account.GetSecondFactors(t.Context(), s.Store, b.Owner)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString(m.Email + m.PasswordHash)
	if factors.On() {
		out.WriteString(" on")
	}
	return out.String() + strings.Repeat("t", len(tokens)) + strings.Repeat("c", factors.RecoveryCodes) + strings.Repeat("b", len(webtest.Changes(t, s, b.Owner)))
}

// A session that is not fresh can change none of that, whatever is posted: the form of the page, a
// direct POST, wrong passwords, or empty fields for reauthentication.
func TestStaleSessionDoesNothing(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	enrol(t, s, b)
	somebody, _ := webtest.Added(t, s, b.Owner, "Grace Hopper")
	deletion := webtest.Deleted(t, s, b.Owner, somebody)
	stale(s)
	token, before := tokenOf(b.Get("/settings/profile")), kept(t, s, b)
	for pattern, own := range web.FreshRoutes() {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "{job}", "job_00000000000000000000000000")
		if method == http.MethodGet {
			wantConfirm(t, pattern, b.Get(path))
			continue
		}
		for name, fields := range map[string]url.Values{
			"direct":           nil,
			"empty":            webtest.Values("confirm_password", "", "confirm_code", ""),
			"a wrong password": webtest.Values("confirm_password", "wrong password"),
			"a wrong code":     webtest.Values("confirm_code", "000000"),
			"a recovery code":  webtest.Values("confirm_code", "aaaa-bbbb-cccc-dddd"),
			"own password":     webtest.Values(own, "wrong password"),
		} {
			if own == "" && name == "own password" {
				continue
			}
			form := merge(webtest.Values("form_token", token, "name", "x", "scope", "connections", "expires", "90", "username", "maria",
				"new_email", "thief@people.example", "new_password", newPassword, "repeat_password", newPassword, "change", deletion, "code", "000000"), fields)
			p := b.Post(path, form)
			wantConfirm(t, pattern+" with "+name, p)
			if strings.Contains(p.Body, newPassword) || strings.Contains(p.Body, "wrong password") {
				t.Errorf("%s with %s: the page contains a password", pattern, name)
			}
		}
	}
	if after := kept(t, s, b); after != before {
		t.Errorf("something was done:\n%s\n%s", before, after)
	}
	if p := b.Post("/settings/mcp/tokens", webtest.Values("confirm_password", webtest.Password, "name", "x")); p.Status != http.StatusForbidden || !strings.Contains(p.Text(), "out of date") {
		t.Errorf("a form without a token: %d", p.Status)
	}
	if !isSignedIn(b) {
		t.Error("the session ended")
	}
}

// After reauthentication the form is sent with what was typed. The session has a new secret, so that
// a stolen copy of the cookie does not work.
func TestConfirmGoesOn(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		thief := s.Browser(t)
		thief.SetCookie("kith_session", b.Cookie("kith_session"))
		page := b.Get("/settings/mcp/tokens")
		stale(s)
		asked := b.Submit(page, "/settings/mcp/tokens", webtest.Values("name", `my "script" <b>`, "scope", "connections", "expires", "30"))
		wantConfirm(t, "token", asked)
		wrong := b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_password", "wrong password"))
		wantConfirm(t, "wrong", wrong)
		want(t, wrong, http.StatusForbidden, "This is not your password.")
		sent := b.Submit(wrong, "/settings/mcp/tokens", webtest.Values("confirm_password", webtest.Password))
		wantRedirect(t, sent, "/settings/mcp/tokens")
		want(t, b.Follow(sent), http.StatusOK, `The token “my "script" <b>” is made.`)
		if isSignedIn(thief) || !isSignedIn(b) {
			t.Error("a copy of the cookie works, or the member is signed out")
		}
		s.Clock.Advance(account.FreshFor - time.Second)
		makeToken(t, b, webtest.Values("name", "second"))
		s.Clock.Advance(2 * time.Second)
		wantConfirm(t, "later", b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "third")))
	})
}

// A member can confirm with a code of their authenticator app, and each code works once. A recovery
// code is not accepted.
func TestConfirmByCode(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	a := enrol(t, s, b)
	stale(s)
	asked := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "x"))
	want(t, asked, http.StatusForbidden, "Or a code of your app")
	want(t, b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_code", a.codes[0])), http.StatusForbidden, "does not work")
	code := a.code(t)
	wantRedirect(t, b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_code", code)), "/settings/mcp/tokens")
	want(t, b.Get(factorsPath), http.StatusOK, "10 codes are left")
	want(t, b.Get("/settings/security"), http.StatusOK, "Confirmed with “app for one-time codes”")
	second := s.BrowserOf(t, b.Owner)
	s.Clock.Advance(account.FreshFor + time.Second)
	wantConfirm(t, "a used code", second.Submit(second.Get(factorsPath), factorsPath+"/off", webtest.Values("confirm_code", code)))
}

// A form that asks for the password anyway counts as a fresh proof, so the member types it once.
func TestOwnPasswordConfirms(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	checked := 0
	s.Web.OnVerify(func(string) { checked++ })
	stale(s)
	change := webtest.Values("password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword)
	wantRedirect(t, b.Submit(b.Get("/settings/security"), "/settings/security/password", change), "/settings/security?done=password-changed")
	if checked != 1 {
		t.Errorf("the password was checked %d times", checked)
	}
	stale(s)
	asked := b.Submit(b.Get("/settings/account"), "/settings/account/delete", webtest.Values("username", "maria", "password", "wrong"))
	wantConfirm(t, "delete", asked)
	p := b.Submit(asked, "/settings/account/delete", webtest.Values("confirm_password", newPassword))
	want(t, p, http.StatusOK, "Your account is deleted")
}

// Reauthentication for a download redirects back to the page with the download.
func TestConfirmBeforeExport(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	want(t, b.Get("/settings/account/export"), http.StatusOK)
	stale(s)
	asked := b.Get("/settings/account/export")
	wantConfirm(t, "export", asked)
	sent := b.Submit(asked, confirmPath, webtest.Values("confirm_password", webtest.Password))
	wantRedirect(t, sent, "/settings/imports?done=confirmed")
	want(t, b.Follow(sent), http.StatusOK, "for 10 minutes you are not asked again")
	if p := b.Get("/settings/account/export"); p.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("%d %s", p.Status, p.Header.Get("Content-Type"))
	}
	for _, to := range []string{"https://evil.example", "//evil.example", "/sign-out"} {
		page := b.Get(confirmPath + "?" + webtest.Values("return_to", to).Encode())
		wantRedirect(t, b.Submit(page, confirmPath, webtest.Values("confirm_password", webtest.Password, "return_to", to)), "/?done=confirmed")
	}
	if p := s.Browser(t).Get(confirmPath); p.Status != http.StatusSeeOther {
		t.Errorf("a stranger: %d", p.Status)
	}
}

// A member who has just signed in is not asked to reauthenticate. Wrong passwords on that page are
// limited as at sign-in.
func TestConfirmIsLimited(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 3, Window: time.Minute} }})
	b := s.SignedIn(t, "maria")
	makeToken(t, b, webtest.Values("name", "x"))
	stale(s)
	asked := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "y"))
	for range 3 {
		wantConfirm(t, "wrong", b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_password", "wrong password")))
	}
	want(t, b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_password", webtest.Password)), http.StatusTooManyRequests)
}

// The consent page and its form need a fresh session. A client can ask for reauthentication with
// max_age and prompt.
func TestConfirmBeforeConsent(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		client := s.Client(t, "Agent", "https://a.example/cb")
		path := func(more ...string) string { return authorizePath(client.ID, "https://a.example/cb", more...) }
		s.Clock.Advance(5 * time.Minute)
		page := b.Get(path())
		want(t, page, http.StatusOK, "Allow access")
		s.Clock.Advance(6 * time.Minute) // the request waits for ten
		late := b.Post("/oauth/consent", allow(page))
		if to := late.Header.Get("Location"); late.Status != http.StatusSeeOther || !strings.HasPrefix(to, confirmPath+"?return_to=%2Foauth%2Fauthorize%3F") {
			t.Fatalf("the answer: %d %s", late.Status, to)
		}
		for name, query := range map[string]string{
			"changes": path(), "reading": path("scope", "connections"), "max_age": path("scope", "connections", "max_age", "60"), "max_age 0": path("scope", "connections", "max_age", "0"),
			"prompt": path("scope", "connections", "prompt", "login"), "prompt with others": path("scope", "connections", "prompt", "consent login"),
		} {
			b := s.BrowserOf(t, b.Owner)
			if s.Clock.Advance(2 * time.Minute); !strings.Contains(query, "max_age") && !strings.Contains(query, "prompt") {
				stale(s)
			}
			sent := b.Get(query)
			if !strings.HasPrefix(sent.Header.Get("Location"), confirmPath+"?") {
				t.Errorf("%s: %d %s", name, sent.Status, sent.Header.Get("Location"))
				continue
			}
			asked := b.Follow(sent)
			want(t, asked, http.StatusOK, "Confirm that it is you")
			if asked.Header.Get("Cross-Origin-Opener-Policy") != "" {
				t.Errorf("%s: the page is separated from the client's window", name)
			}
			back := b.Submit(asked, confirmPath, webtest.Values("confirm_password", webtest.Password))
			want(t, b.Follow(back), http.StatusOK, "Allow access")
		}
		b = s.BrowserOf(t, b.Owner)
		wantCode(t, b.Post("/oauth/consent", allow(b.Get(path()))))
		want(t, b.Get(path("max_age", "3600")), http.StatusOK, "Allow access")
		want(t, b.Get(path("max_age", "")), http.StatusOK, "Allow access") // a parameter without a value counts as omitted
		for _, wrong := range []string{"-1", "x", " ", "99999999999"} {
			if p := b.Get(path("max_age", wrong)); !strings.Contains(p.Header.Get("Location"), "error=invalid_request") {
				t.Errorf("max_age %q: %d %s", wrong, p.Status, p.Header.Get("Location"))
			}
		}
		// A member who signs in for the request is not asked again.
		visitor := s.Browser(t)
		sent := visitor.Get(path("prompt", "login", "max_age", "0"))
		back, err := url.Parse(sent.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		signedIn := signIn(visitor, "maria", webtest.Password, back.Query().Get("return_to"))
		want(t, visitor.Follow(signedIn), http.StatusOK, "Allow access")
		// Denying access needs no fresh session.
		page = b.Get(path())
		s.Clock.Advance(9 * time.Minute)
		if p := b.Post("/oauth/consent", page.Fill("/oauth/consent", webtest.Values("decision", "deny"))); !strings.Contains(p.Header.Get("Location"), "error=access_denied") {
			t.Errorf("refusing: %d %s", p.Status, p.Header.Get("Location"))
		}
	})
}

// A member who must have a second factor has to set one up before anything else. Their tokens still
// work.
func TestRequiredSecondFactor(t *testing.T) {
	t.Parallel()
	required := false
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.RequireSecondFactor = func(plan string) bool { return required && plan == account.PlanFree }
	}})
	b := s.SignedIn(t, "maria")
	bearer := webtest.TextOf(makeToken(t, b, webtest.Values("name", "x")).ByID("made-token"))
	client := s.Client(t, "Agent", "https://a.example/cb")
	consent := b.Get(authorizePath(client.ID, "https://a.example/cb"))
	required = true
	for _, path := range []string{"/", "/people", "/settings/profile", "/settings/security", "/settings/account/export", authorizePath(client.ID, "https://a.example/cb")} {
		wantRedirect(t, b.Get(path), factorsPath)
	}
	wantRedirect(t, b.Post("/oauth/consent", allow(consent)), factorsPath)
	token := tokenOf(b.Get(factorsPath))
	wantRedirect(t, b.Post("/settings/mcp/tokens", webtest.Values("form_token", token, "name", "y", "scope", "connections", "expires", "90")), factorsPath)
	if _, err := oauth.Authenticate(t.Context(), s.Store, bearer); err != nil {
		t.Errorf("the token: %v", err)
	}
	stale(s)
	asked := b.Submit(b.Get(factorsPath), factorsPath, webtest.Values("code", "000000"))
	wantConfirm(t, "setting up", asked)
	want(t, b.Submit(asked, factorsPath, webtest.Values("confirm_password", webtest.Password)), http.StatusUnprocessableEntity, "This is not the code")
	enrol(t, s, b)
	for _, path := range []string{"/people", "/settings/profile"} {
		want(t, b.Get(path), http.StatusOK)
	}
	out := s.SignedIn(t, "other")
	wantRedirect(t, out.Submit(out.Get(factorsPath), "/sign-out", nil), "/sign-in?done=signed-out")
}
