package web_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/passkey/passkeytest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const (
	passkeyPath  = "/sign-in/passkey"
	passkeysPath = "/settings/security/two-step/passkeys"
)

// optionsFor returns the options that a browser gets for an authenticator; page has the form's
// token.
func optionsFor(t *testing.T, b *webtest.Browser, page *webtest.Page, path string) string {
	t.Helper()
	p := b.Post(path, webtest.Values("form_token", tokenOf(page)))
	if p.Status != http.StatusOK || p.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d\n%s", path, p.Status, p.Text())
	}
	return p.Body
}

// authenticator returns an authenticator without a passkey, in a browser that shows the site.
func authenticator(t *testing.T, s *webtest.Site) *passkeytest.Authenticator {
	t.Helper()
	return passkeytest.New(t, s.URL, "localhost")
}

// addPasskey adds a passkey to the member of a browser, and returns it with the recovery codes that came
// with it.
func addPasskey(t *testing.T, s *webtest.Site, b *webtest.Browser, name string) (*passkeytest.Authenticator, []string) {
	t.Helper()
	a, page := authenticator(t, s), b.Get(factorsPath)
	answer := a.Create(t, optionsFor(t, b, page, passkeysPath+"/options"))
	sent := b.Submit(page, passkeysPath, webtest.Values("name", name, "passkey", answer))
	wantRedirect(t, sent, factorsPath+"?done=passkey-added")
	return a, codesOn(b.Follow(sent))
}

// signInAlone posts an answer on the sign-in page.
func signInAlone(b *webtest.Browser, page *webtest.Page, answer string) *webtest.Page {
	return b.Post(passkeyPath, merge(page.Form(passkeyPath), webtest.Values("passkey", answer)))
}

// alone signs in with a passkey alone, in a new browser.
func alone(t *testing.T, s *webtest.Site, a *passkeytest.Authenticator) (*webtest.Browser, *webtest.Page) {
	t.Helper()
	b := s.Browser(t)
	page := b.Get("/sign-in")
	return b, signInAlone(b, page, a.Get(t, optionsFor(t, b, page, passkeyPath+"/options")))
}

// second answers the page that asks for the second factor with a passkey.
func second(b *webtest.Browser, page *webtest.Page, answer string) *webtest.Page {
	return b.Post(twoStepPath, webtest.Values("form_token", tokenOf(page), "passkey", answer))
}

func TestPasskeys(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner := s.SignedIn(t, "maria")
		left := s.BrowserOf(t, owner.Owner)
		a, codes := addPasskey(t, s, owner, "Blue key")
		if len(codes) != 10 || isSignedIn(left) || !isSignedIn(owner) {
			t.Errorf("%d recovery codes; a session from before goes on: %v; this one: %v", len(codes), isSignedIn(left), isSignedIn(owner))
		}
		want(t, owner.Get(factorsPath), http.StatusOK, "Blue key", "10 codes are left")
		want(t, owner.Get("/settings/security"), http.StatusOK, "On: a password alone signs nobody in.", "Added the second factor “Blue key”")

		b := s.Browser(t)
		page := b.Get("/sign-in?return_to=%2Fsettings%2Fmcp")
		if login := webtest.Attr(page.ByID("login"), "autocomplete"); login != "username webauthn" {
			t.Errorf("autocomplete: %q", login)
		}
		options := optionsFor(t, b, page, passkeyPath+"/options")
		if strings.Contains(options, "allowCredentials") || !strings.Contains(options, `"userVerification":"required"`) || !strings.Contains(options, `"rpId":"localhost"`) {
			t.Errorf("to sign in: %s", options)
		}
		wantRedirect(t, signInAlone(b, page, a.Get(t, options)), "/settings/mcp")
		want(t, b.Get("/settings/security"), http.StatusOK, "this browser")

		half, page := passwordOnly(t, s, "maria")
		want(t, page, http.StatusOK, "Use your passkey", "Recovery code")
		if isSignedIn(half) {
			t.Fatal("the password alone signs in")
		}
		options = optionsFor(t, half, page, twoStepPath+"/options")
		if !strings.Contains(options, "allowCredentials") {
			t.Errorf("as the second factor: %s", options)
		}
		wantRedirect(t, second(half, page, a.Get(t, options)), "/")
		lost, page := passwordOnly(t, s, "maria")
		wantRedirect(t, lost.Post(twoStepPath, webtest.Values("form_token", tokenOf(page), "code", codes[0])), "/")

		other, more := addPasskey(t, s, owner, "Phone")
		if len(more) != 0 {
			t.Error("the second passkey makes new recovery codes")
		}
		for range 2 {
			wantRedirect(t, owner.Post(passkeysPath+"/remove", owner.Get(factorsPath).Forms(passkeysPath + "/remove")[0]), factorsPath+"?done=passkey-removed")
		}
		for _, gone := range []*passkeytest.Authenticator{a, other} {
			_, p := alone(t, s, gone)
			want(t, p, http.StatusForbidden, "This passkey does not work here.")
		}
		wantRedirect(t, signIn(s.Browser(t), "maria", webtest.Password, ""), "/")
		want(t, owner.Get("/settings/security"), http.StatusOK, "Off: the password alone signs in.", "Removed the second factor “passkey”")
	})
}

// Each of these answers is wrong in one way, and is refused.
func TestWrongPasskeys(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	a, _ := addPasskey(t, s, s.SignedIn(t, "maria"), "key")
	stranger, _ := addPasskey(t, s, s.SignedIn(t, "other"), "key")
	for name, change := range map[string]func(a *passkeytest.Authenticator){
		"another origin":            func(a *passkeytest.Authenticator) { a.Origin = "https://evil.example" },
		"another port":              func(a *passkeytest.Authenticator) { a.Origin = "http://localhost:1" },
		"a subdomain":               func(a *passkeytest.Authenticator) { a.Origin = strings.Replace(a.Origin, "://", "://evil.", 1) },
		"a passkey of other host":   func(a *passkeytest.Authenticator) { a.Host = "evil.example" },
		"without verification":      func(a *passkeytest.Authenticator) { a.Flags = passkeytest.Present },
		"without a person":          func(a *passkeytest.Authenticator) { a.Flags = passkeytest.Verified },
		"an unknown passkey":        func(a *passkeytest.Authenticator) { *a = *authenticator(t, s) },
		"without the member's name": func(a *passkeytest.Authenticator) { a.Forget() },
	} {
		wrong := a.Clone()
		change(wrong)
		b, p := alone(t, s, wrong)
		want(t, p, http.StatusForbidden, "This passkey does not work here.")
		if isSignedIn(b) {
			t.Fatalf("%s signs in", name)
		}
		if name == "without the member's name" { // after the password the member is known
			continue
		}
		half, page := passwordOnly(t, s, "maria")
		want(t, second(half, page, wrong.Get(t, optionsFor(t, half, page, twoStepPath+"/options"))), http.StatusForbidden, "This passkey does not work here.")
		if isSignedIn(half) {
			t.Fatalf("%s is a second factor", name)
		}
	}
	half, page := passwordOnly(t, s, "maria")
	options := optionsFor(t, half, page, twoStepPath+"/options")
	for name, answer := range map[string]string{"another member's": stranger.Get(t, options), "no answer": "{}", "no JSON": "x", "a forged origin": forged(t, a.Get(t, options))} {
		if p := second(half, page, answer); p.Status != http.StatusForbidden || isSignedIn(half) {
			t.Errorf("%s: %d", name, p.Status)
		}
	}
	want(t, half.Post(passkeyPath, webtest.Values("form_token", tokenOf(page))), http.StatusForbidden, "This passkey does not work here.")
	wantRedirect(t, second(half, page, a.Get(t, options)), "/")
}

// forged returns an answer that names another origin than the one that was signed.
func forged(t *testing.T, answer string) string {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(answer), &document); err != nil {
		t.Fatal(err)
	}
	other := passkeytest.New(t, "https://evil.example", "localhost")
	var theirs map[string]any
	if err := json.Unmarshal([]byte(other.Sign(t, passkeytest.AnsweredBy(t, answer))), &theirs); err != nil {
		t.Fatal(err)
	}
	document["response"].(map[string]any)["clientDataJSON"] = theirs["response"].(map[string]any)["clientDataJSON"] //nolint:forcetypeassert // of our own answers
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A challenge can be answered once, for its own purpose, in the browser that asked for it, for ten
// minutes.
func TestPasskeyChallenges(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner := s.SignedIn(t, "maria")
		a, _ := addPasskey(t, s, owner, "key")
		victim, thief := s.Browser(t), s.Browser(t)
		page, elsewhere := victim.Get("/sign-in"), thief.Get("/sign-in")
		options := optionsFor(t, victim, page, passkeyPath+"/options")
		late := func(what string, b *webtest.Browser, p *webtest.Page) {
			t.Helper()
			want(t, p, http.StatusForbidden, "That took too long.")
			if isSignedIn(b) {
				t.Fatalf("%s signs in", what)
			}
		}
		answer := a.Get(t, options)
		late("a challenge of another browser", thief, signInAlone(thief, elsewhere, answer))
		half, step := passwordOnly(t, s, "maria")
		late("a challenge of the sign-in page", half, second(half, step, answer))
		other, otherStep := passwordOnly(t, s, "maria")
		stepAnswer := a.Get(t, optionsFor(t, half, step, twoStepPath+"/options"))
		late("a challenge of another second step", other, second(other, otherStep, stepAnswer))
		late("a challenge of the second step", half, signInAlone(half, half.Get("/sign-in"), stepAnswer))
		late("an invented challenge", half, second(half, step, a.Sign(t, strings.Repeat("A", 43))))
		confirming := a.Get(t, optionsFor(t, owner, owner.Get("/settings/profile"), confirmPath+"/options"))
		late("a challenge of a session", victim, signInAlone(victim, page, confirming))

		answer = a.Get(t, optionsFor(t, victim, page, passkeyPath+"/options")) // its counter is the highest
		copied := merge(page.Form(passkeyPath), webtest.Values("passkey", answer))
		planted := s.Browser(t)
		planted.SetCookie("kith_form", victim.Cookie("kith_form"))
		wantRedirect(t, victim.Post(passkeyPath, copied), "/")
		late("a replayed answer", planted, planted.Post(passkeyPath, copied))

		stale(s)
		b := s.Browser(t)
		page = b.Get("/sign-in")
		answer = a.Get(t, optionsFor(t, b, page, passkeyPath+"/options"))
		s.Clock.Advance(account.PasskeyChallengeLifetime)
		late("an old challenge", b, signInAlone(b, page, answer))
	})
}

// A passkey whose counter does not grow may be a copy: it is refused, and the member sees that. The
// passkey with the higher counter still signs in, as does one that does not count at all.
func TestClonedPasskey(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner := s.SignedIn(t, "maria")
		a, _ := addPasskey(t, s, owner, "Blue key")
		clone := a.Clone()
		for range 3 {
			_, p := alone(t, s, a)
			wantRedirect(t, p, "/")
		}
		for range 2 {
			b, p := alone(t, s, clone)
			want(t, p, http.StatusForbidden, "there may be a copy of it")
			if isSignedIn(b) {
				t.Fatal("the copy signs in")
			}
		}
		half, page := passwordOnly(t, s, "maria")
		want(t, second(half, page, clone.Get(t, optionsFor(t, half, page, twoStepPath+"/options"))), http.StatusForbidden, "there may be a copy of it")
		want(t, owner.Get("/settings/security"), http.StatusOK, "Refused the passkey “Blue key”: there may be a copy of it", "This happened in your account")
		_, p := alone(t, s, a)
		wantRedirect(t, p, "/")

		uncounted := authenticator(t, s)
		uncounted.Count, uncounted.Still = 0, true
		page = owner.Get(factorsPath)
		answer := uncounted.Create(t, optionsFor(t, owner, page, passkeysPath+"/options"))
		wantRedirect(t, owner.Submit(page, passkeysPath, webtest.Values("name", "x", "passkey", answer)), factorsPath+"?done=passkey-added")
		for range 2 {
			_, p := alone(t, s, uncounted)
			wantRedirect(t, p, "/")
		}
	})
}

// A passkey is a fresh proof; another member's passkey is not.
func TestPasskeyConfirms(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	owner, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	a, _ := addPasskey(t, s, owner, "key")
	stranger, _ := addPasskey(t, s, other, "key")
	thief := s.Browser(t)
	thief.SetCookie("kith_session", owner.Cookie("kith_session"))
	stale(s)
	asked := owner.Submit(owner.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "laptop", "scope", "connections", "expires", "30"))
	wantConfirm(t, "token", asked)
	options := optionsFor(t, owner, asked, confirmPath+"/options")
	theirs := optionsFor(t, other, other.Get("/settings/profile"), confirmPath+"/options")
	for name, answer := range map[string]string{
		"another member's passkey": stranger.Get(t, options), "another member's challenge": a.Get(t, theirs), "no answer": "{}",
	} {
		wantConfirm(t, name, owner.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_passkey", answer)))
	}
	answer := a.Get(t, options)
	wantRedirect(t, owner.Submit(asked, "/settings/mcp/tokens", webtest.Values("confirm_passkey", answer)), "/settings/mcp/tokens")
	if isSignedIn(thief) {
		t.Error("the copy of the cookie goes on")
	}
	stale(s)
	again := owner.Get("/settings/account/export")
	wantConfirm(t, "export", again)
	wantConfirm(t, "a replayed answer", owner.Submit(again, confirmPath, webtest.Values("confirm_passkey", answer)))

	// After a fresh proof, the new passkey that waited for it is added.
	page := owner.Get(factorsPath)
	fresh := authenticator(t, s)
	asked = owner.Submit(page, passkeysPath, webtest.Values("name", "new", "passkey", fresh.Create(t, optionsFor(t, owner, page, passkeysPath+"/options"))))
	wantConfirm(t, "a new passkey", asked)
	proof := a.Get(t, optionsFor(t, owner, asked, confirmPath+"/options"))
	wantRedirect(t, owner.Submit(asked, passkeysPath, webtest.Values("confirm_passkey", proof)), factorsPath+"?done=passkey-added")
	_, p := alone(t, s, fresh)
	wantRedirect(t, p, "/")
}

// A wrong new passkey is not added.
func TestWrongNewPasskeys(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	owner, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
	page := owner.Get(factorsPath)
	options := optionsFor(t, owner, page, passkeysPath+"/options")
	theirs := optionsFor(t, other, other.Get(factorsPath), passkeysPath+"/options")
	evil, unverified := authenticator(t, s), authenticator(t, s)
	evil.Origin, unverified.Flags = "https://evil.example", passkeytest.Present
	known := authenticator(t, s)
	one := append(make([]byte, 31), 1)
	made := func(key any) string {
		a := authenticator(t, s)
		a.Key = key
		return a.Create(t, options)
	}
	for name, answer := range map[string]string{
		"another origin": evil.Create(t, options), "without verification": unverified.Create(t, options), "a challenge of another": authenticator(t, s).Create(t, theirs),
		"a point that is not on the curve":    made(passkeytest.PointKey(one, one)),
		"a short RSA key":                     made(passkeytest.RSAKey(bytes.Repeat([]byte{255}, 64), []byte{1, 0, 1})),
		"an even RSA key":                     made(passkeytest.RSAKey(bytes.Repeat([]byte{254}, 256), []byte{1, 0, 1})),
		"an RSA key with which anybody signs": made(passkeytest.RSAKey(bytes.Repeat([]byte{255}, 256), []byte{1})),
		"no answer":                           "{}", "nothing": "", "a sign-in": known.Sign(t, passkeytest.ChallengeOf(t, options)),
	} {
		p := owner.Submit(page, passkeysPath, webtest.Values("name", "x", "passkey", answer))
		if p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, p.Status)
		}
	}
	answer := known.Create(t, options)
	want(t, owner.Submit(page, passkeysPath, webtest.Values("name", "", "passkey", answer)), http.StatusUnprocessableEntity, "Use 1 to 100 characters.")
	wantRedirect(t, owner.Submit(page, passkeysPath, webtest.Values("name", "x", "passkey", answer)), factorsPath+"?done=passkey-added")
	// The session has a new secret, so the page is out of date. It shows what was typed, not the answer of the authenticator.
	late := owner.Submit(page, passkeysPath, webtest.Values("name", "Blue key", "passkey", answer))
	want(t, late, http.StatusForbidden, "This form is out of date", "Blue key")
	if strings.Contains(late.Text(), "clientDataJSON") {
		t.Errorf("the page shows the answer: %s", late.Text())
	}
	for _, again := range []*webtest.Page{late, owner.Get(factorsPath)} {
		want(t, owner.Submit(again, passkeysPath, webtest.Values("name", "x", "passkey", answer)), http.StatusUnprocessableEntity, "That took too long.")
	}
	// A passkey belongs to one member.
	page = other.Get(factorsPath)
	want(t, other.Submit(page, passkeysPath, webtest.Values("name", "x", "passkey", known.Create(t, theirs))), http.StatusUnprocessableEntity, "added already")
	want(t, other.Get("/settings/security"), http.StatusOK, "Off: the password alone signs in.")
}
