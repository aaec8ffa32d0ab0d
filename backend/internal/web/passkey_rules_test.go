package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestPasskeyOfSuspendedMember(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, _ := addPasskey(t, s, s.SignedIn(t, "maria"), "key")
	if _, err := account.SuspendMember(t.Context(), s.Store, "maria"); err != nil {
		t.Fatal(err)
	}
	b, p := alone(t, s, a)
	want(t, p, http.StatusForbidden, "Your account is suspended")
	if isSignedIn(b) {
		t.Error("signed in")
	}
}

// A passkey is a second factor where one must be set up, and an operator removes it with the others.
func TestPasskeyIsASecondFactor(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.RequireSecondFactor = func(string) bool { return true } }})
	b := s.SignedIn(t, "maria")
	wantRedirect(t, b.Get("/settings/profile"), factorsPath)
	a, codes := addPasskey(t, s, b, "key")
	want(t, b.Get("/settings/profile"), http.StatusOK)
	if err := account.DeleteSecondFactors(t.Context(), s.Store, b.Owner); err != nil {
		t.Fatal(err)
	}
	_, p := alone(t, s, a)
	want(t, p, http.StatusForbidden)
	sent := signIn(s.Browser(t), "maria", webtest.Password, "")
	wantRedirect(t, sent, "/")
	if f, err := account.GetSecondFactors(t.Context(), s.Store, b.Owner); err != nil || f.On() || f.RecoveryCodes != 0 || len(codes) != 10 {
		t.Errorf("%+v %v", f, err)
	}
}

// "This was not me" removes the passkeys that were added since, and no older one.
func TestNotMeRemovesNewPasskeys(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		mine, _ := addPasskey(t, s, b, "mine")
		s.Clock.Advance(9 * time.Minute)
		s.Clock.Advance(9 * time.Minute)
		b = s.BrowserOf(t, b.Owner)
		theirs, _ := addPasskey(t, s, b, "a thief's")
		secret, err := account.CreateNotMeLink(t.Context(), s.Store, b.Owner, "maria@people.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := account.UseNotMeLink(t.Context(), s.Store, account.HashSecret(secret)); err != nil {
			t.Fatal(err)
		}
		_, p := alone(t, s, theirs)
		want(t, p, http.StatusForbidden)
		_, p = alone(t, s, mine)
		wantRedirect(t, p, "/")
	})
}

// Each IP address may request a limited number of challenges and give a limited number of wrong
// answers. Correct answers do not count.
func TestPasskeysAreLimited(t *testing.T) {
	t.Parallel()
	address := "192.0.2.1"
	s := webtest.New(t, limited(&account.RatePolicy{Quota: 2, Window: time.Minute}, &address))
	a, _ := addPasskey(t, s, s.SignedIn(t, "maria"), "key")
	b := s.Browser(t)
	page := b.Get("/sign-in")
	for range 2 {
		want(t, signInAlone(b, page, "x"), http.StatusForbidden)
	}
	want(t, signInAlone(b, page, "x"), http.StatusTooManyRequests, "Too many attempts")
	for range 19 {
		optionsFor(t, b, page, passkeyPath+"/options")
	}
	_, p := alone(t, s, a)
	wantRedirect(t, p, "/")
	want(t, b.Post(passkeyPath+"/options", webtest.Values("form_token", tokenOf(page))), http.StatusTooManyRequests)
}

// At an IP address there are no passkeys, and no page offers one.
func TestNoPasskeysAtIPAddress(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.BaseURL = strings.Replace(c.BaseURL, "localhost", "127.0.0.1", 1) }})
	b, anonymous := s.SignedIn(t, "maria"), s.Browser(t)
	page := anonymous.Get("/sign-in")
	checkHeaders(t, "sign-in", page, ownPolicy)
	if strings.Contains(page.Body, "passkey") {
		t.Error("the sign-in page offers passkeys")
	}
	want(t, b.Get(factorsPath), http.StatusOK, "Passkeys are not available here")
	for _, path := range []string{passkeyPath, passkeyPath + "/options"} {
		want(t, anonymous.Post(path, webtest.Values("form_token", tokenOf(page))), http.StatusNotFound, "Passkeys are not available here")
	}
	for _, path := range []string{passkeysPath, passkeysPath + "/options", confirmPath + "/options"} {
		want(t, b.Post(path, webtest.Values("form_token", tokenOf(b.Get("/settings/profile")), "name", "x")), http.StatusNotFound)
	}
}
