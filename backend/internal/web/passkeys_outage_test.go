package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account/passkey/passkeytest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// The store fails at any call of a sign-in with a passkey, alone or after the password. No session
// begins without both factors, the answer counts once, and the member can sign in when the store is
// back.
func TestPasskeysInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for name, flow := range map[string]func(t *testing.T, b *webtest.Browser, a *passkeytest.Authenticator, username string) *http.Request{
		"the options": func(_ *testing.T, b *webtest.Browser, _ *passkeytest.Authenticator, _ string) *http.Request {
			return b.Request(http.MethodPost, passkeyPath+"/options", webtest.Values("form_token", tokenOf(b.Get("/sign-in"))))
		},
		"alone": func(t *testing.T, b *webtest.Browser, a *passkeytest.Authenticator, _ string) *http.Request {
			page := b.Get("/sign-in")
			answer := a.Get(t, optionsFor(t, b, page, passkeyPath+"/options"))
			return b.Request(http.MethodPost, passkeyPath, page.Fill(passkeyPath, webtest.Values("passkey", answer)))
		},
		"after the password": func(t *testing.T, b *webtest.Browser, a *passkeytest.Authenticator, username string) *http.Request {
			page := b.Follow(signIn(b, username, webtest.Password, ""))
			answer := a.Get(t, optionsFor(t, b, page, twoStepPath+"/options"))
			return b.Request(http.MethodPost, twoStepPath, webtest.Values("form_token", tokenOf(page), "passkey", answer))
		},
		"a forged one": func(t *testing.T, b *webtest.Browser, a *passkeytest.Authenticator, username string) *http.Request {
			page := b.Follow(signIn(b, username, webtest.Password, ""))
			wrong := a.Clone()
			wrong.Origin = "https://evil.example"
			answer := wrong.Get(t, optionsFor(t, b, page, twoStepPath+"/options"))
			return b.Request(http.MethodPost, twoStepPath, webtest.Values("form_token", tokenOf(page), "passkey", answer))
		},
	} {
		for n := 1; ; n++ {
			username := fmt.Sprintf("member-%d-%d", len(name), n)
			a, codes := addPasskey(t, s, s.SignedIn(t, username), "key")
			b := s.Browser(t)
			r := flow(t, b, a, username)
			store.failAt(n)
			p := b.Do(r)
			failed := store.failed.Load()
			store.Set(nil)
			what := fmt.Sprintf("%s, call %d", name, n)
			if failed {
				wantOutage(t, what, p)
			}
			if signedIn := isSignedIn(b); signedIn != (!failed && (name == "alone" || name == "after the password")) {
				t.Errorf("%s: signed in: %v", what, signedIn)
			}
			_, p = alone(t, s, a)
			wantRedirect(t, p, "/")
			last, page := passwordOnly(t, s, username)
			wantRedirect(t, last.Post(twoStepPath, webtest.Values("form_token", tokenOf(page), "code", codes[9])), "/")
			if !failed {
				break
			}
		}
	}
}

// The store fails at any call of adding or removing a passkey. The passkey is either stored or not,
// and the member can sign in with the password and the factors that are stored.
func TestChangingPasskeysInOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	for _, action := range []string{passkeysPath, passkeysPath + "/remove"} {
		for n := 1; ; n++ {
			username := fmt.Sprintf("member-%d-%d", len(action), n)
			b := s.SignedIn(t, username)
			a := authenticator(t, s)
			page := b.Get(factorsPath)
			form := page.Fill(passkeysPath, webtest.Values("passkey", a.Create(t, optionsFor(t, b, page, passkeysPath+"/options"))))
			if action != passkeysPath {
				b.Post(passkeysPath, form)
				form = b.Get(factorsPath).Form(action)
			}
			store.failAt(n)
			p := b.Post(action, form)
			failed := store.failed.Load()
			store.Set(nil)
			what := fmt.Sprintf("%s, call %d", action, n)
			if failed {
				wantOutage(t, what, p)
			}
			visitor := s.Browser(t)
			sent := signIn(visitor, username, webtest.Password, "")
			if has := sent.Header.Get("Location") == twoStepPath; has {
				page := visitor.Follow(sent)
				sent = second(visitor, page, a.Get(t, optionsFor(t, visitor, page, twoStepPath+"/options")))
			} else if _, p := alone(t, s, a); p.Status != http.StatusForbidden {
				t.Errorf("%s: the passkey is not asked for, but signs in: %d", what, p.Status)
			}
			wantRedirect(t, sent, "/")
			if !failed {
				break
			}
		}
	}
}
