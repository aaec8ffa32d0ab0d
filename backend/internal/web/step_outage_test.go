package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// signsIn fails unless a member with an app can sign in with the password and the code.
func signsIn(t *testing.T, s *webtest.Site, what, username, password, code string) {
	t.Helper()
	b := s.Browser(t)
	sent := signIn(b, username, password, "")
	if sent.Header.Get("Location") != twoStepPath || isSignedIn(b) {
		t.Fatalf("%s: the password leads to %q", what, sent.Header.Get("Location"))
	}
	if sent = b.Submit(b.Follow(sent), twoStepPath, webtest.Values("code", code)); !isSignedIn(b) {
		t.Errorf("%s: the member cannot sign in: %d %s", what, sent.Status, sent.Text())
	}
}

// The store fails at any call of a fresh proof. Nothing is done without the proof, and the member
// can give it again, or sign in with a recovery code. Only if the answer to the last commit is lost,
// what the member proved for is done.
func TestConfirmInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for name, proof := range map[string]func(a *app) url.Values{
		"a password":       func(*app) url.Values { return webtest.Values("confirm_password", webtest.Password) },
		"a wrong password": func(*app) url.Values { return webtest.Values("confirm_password", "wrong password") },
		"a code":           func(a *app) url.Values { return webtest.Values("confirm_code", a.code(t)) },
		"a wrong code":     func(a *app) url.Values { return webtest.Values("confirm_code", other(a.code(t))) },
	} {
		made := false // although the answer to a commit was lost
		for n := 1; ; n++ {
			what, username := fmt.Sprintf("%s, call %d", name, n), fmt.Sprintf("member-%d-%d", len(name), n)
			b := s.SignedIn(t, username)
			a := enrol(t, s, b)
			stale(s)
			asked := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "x"))
			wantConfirm(t, what, asked)
			form := asked.Fill("/settings/mcp/tokens", proof(a))
			store.failAt(n)
			p := b.Post("/settings/mcp/tokens", form)
			failed, unsure := store.failed.Load(), store.unsure.Load()
			store.Set(nil)
			if made && failed {
				t.Errorf("%s: a token was made before the last call", what)
			}
			tokens, err := account.ListPersonalTokens(t.Context(), s.Store, b.Owner)
			if err != nil {
				t.Fatal(err)
			}
			if len(tokens) > 0 && (failed && !unsure || strings.Contains(name, "wrong")) {
				t.Errorf("%s: the token is made", what)
			}
			made = made || failed && len(tokens) > 0
			if failed && p.Status != http.StatusForbidden { // only the event of the wrong code was not stored
				wantOutage(t, what, p)
			}
			signsIn(t, s, what, username, webtest.Password, a.codes[0])
			if !failed {
				break
			}
		}
	}
}

// The database fails once at each statement of a password reset in turn. Afterwards the old or the new
// password signs in, together with the second factor. The link stays valid until a reset succeeds.
func TestResetInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for n := 1; ; n++ {
		what, username := fmt.Sprintf("call %d", n), fmt.Sprintf("member-%d", n)
		owner := s.SignedIn(t, username)
		a := enrol(t, s, owner)
		path, _, _ := links(t, s, owner.Owner)
		b := s.Browser(t)
		form := b.Get(path).Fill("/reset", chosenPassword())
		store.failAt(n)
		p := b.Post("/reset", form)
		failed := store.failed.Load()
		store.Set(nil)
		if isSignedIn(b) {
			t.Fatalf("%s: the reset signs in", what)
		}
		if failed {
			wantOutage(t, what, p)
		}
		password := newPassword
		if b.Get(path).Status == http.StatusOK { // the link still works, so nothing was reset
			password = webtest.Password
		}
		if !failed && password == webtest.Password {
			t.Errorf("%s: nothing failed, and the link still works", what)
		}
		signsIn(t, s, what, username, password, a.codes[0])
		if !failed {
			break
		}
	}
}

// The store fails at any call of "this was not me". Either all access has ended or the link still
// works.
func TestNotMeInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for n := 1; ; n++ {
		what := fmt.Sprintf("call %d", n)
		owner := s.SignedIn(t, fmt.Sprintf("member-%d", n))
		secret := storedNotMe(t, s, owner.Owner)
		reader := s.Browser(t)
		form := reader.Get(notMePath + "?link=" + secret).Form(notMePath)
		store.failAt(n)
		p := reader.Post(notMePath, form)
		failed := store.failed.Load()
		store.Set(nil)
		if failed {
			wantOutage(t, what, p)
		}
		works := reader.Get(notMePath+"?link="+secret).Status == http.StatusOK
		if works != isSignedIn(owner) || works && !failed { // a failure may come after the commit
			t.Errorf("%s: failed %t, the link works %t", what, failed, works)
		}
		if works {
			wantRedirect(t, reader.Post(notMePath, form), "/forgot?done=not-me-unsent")
		}
		if isSignedIn(owner) {
			t.Errorf("%s: the session goes on", what)
		}
		if !failed {
			break
		}
	}
}

// The page that asks for a proof limits the codes of an app as sign-in does, with the same budget.
// The code that set the app up cannot be used again.
func TestConfirmCodesAreLimited(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 5, Window: time.Hour} }})
	b := s.SignedIn(t, "maria")
	page := b.Get(factorsPath)
	a := &app{site: s, secret: webtest.TextOf(page.ByID("setup-key"))}
	setup := a.code(t)
	wantRedirect(t, b.Submit(page, factorsPath, webtest.Values("code", setup)), factorsPath+"?done=app-added")
	thief, step := passwordOnly(t, s, "maria")
	want(t, thief.Submit(step, twoStepPath, webtest.Values("code", setup)), http.StatusForbidden, "Each code works once")
	stale(s)
	asked := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "x"))
	refused := 0
	for range 8 {
		p := b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_code", other(a.code(t))))
		if p.Status == http.StatusTooManyRequests {
			refused++
			continue
		}
		wantConfirm(t, "wrong", p)
	}
	if refused != 4 { // the code at sign-in counts, too
		t.Errorf("%d of 8 codes were refused", refused)
	}
	want(t, b.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_code", a.code(t))), http.StatusTooManyRequests)
	again, step := passwordOnly(t, s, "maria")
	want(t, again.Submit(step, twoStepPath, webtest.Values("code", a.code(t))), http.StatusTooManyRequests)
}

// The link of each kind of email works once.
func TestLinksOfEmailsWorkOnce(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		reset, verify, finish := links(t, s, b.Owner)
		for _, c := range []struct {
			path, action string
			who          *webtest.Browser
			change       url.Values
		}{
			{verify, "/verify", s.Browser(t), nil}, {finish, "/verify", s.Browser(t), chosenPassword()},
			{reset, "/reset", s.Browser(t), chosenPassword()},
			{notMePath + "?link=" + storedNotMe(t, s, b.Owner), notMePath, s.Browser(t), nil},
		} {
			page := c.who.Get(c.path)
			want(t, page, http.StatusOK)
			form := page.Fill(c.action, c.change)
			if p := c.who.Post(c.action, form); p.Status != http.StatusSeeOther {
				t.Fatalf("%s: %d %s", c.action, p.Status, p.Text())
			}
			// Post it again: from the same browser, and from one that has its own form token.
			token := tokenOf(c.who.Get("/sign-in"))
			if c.who == b {
				token = tokenOf(b.Get("/settings/profile"))
			}
			for _, p := range []*webtest.Page{c.who.Get(c.path), c.who.Post(c.action, merge(form, webtest.Values("form_token", token)))} {
				if p.Status < http.StatusBadRequest {
					t.Errorf("%s works again: %d to %s %s", c.action, p.Status, p.Header.Get("Location"), p.Text())
				}
			}
		}
	})
}
