package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/oauth/signin/signintest"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func TestLinkByPassword(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, _ string) {
		s.Member(t, "maria")
		s.op.Be(signintest.Person{Subject: "m-1", Email: "Maria@People.example", Verified: true})
		b := s.Browser(t)
		answer := s.signInThere(t, b, "/settings/mcp")
		page := b.Follow(answer)
		want(t, page, http.StatusOK, "Example says that you are maria@people.example", "Password of your Kith account", "No account here yet?")
		want(t, b.Follow(answer), http.StatusOK, "One more step") // a reload
		for _, wrong := range []string{"wrong password", ""} {
			p := b.Submit(page, "/sign-in/provider/link", webtest.Values("password", wrong))
			want(t, p, http.StatusForbidden, "This is not the password of an account with that address.")
			if isSignedIn(b) {
				t.Error("signed in")
			}
		}
		wantRedirect(t, b.Submit(page, "/sign-in/provider/link", webtest.Values("password", webtest.Password)), "/settings/mcp")
		if !isSignedIn(b) {
			t.Error("not signed in")
		}
		b.Submit(b.Get("/settings/security"), "/sign-out", nil)
		form := merge(page.Form("/sign-in/provider/link"), webtest.Values("password", webtest.Password, "form_token", tokenOf(b.Get("/sign-in"))))
		want(t, b.Post("/sign-in/provider/link", form), http.StatusBadRequest, overWords)
		wantRedirect(t, s.signInThere(t, b, ""), "/")
	})
}

var linkSecret = regexp.MustCompile(`name="link" value="[^"]*"`)

// An unknown address, a wrong password and members who may not sign in get the same
// response, at the same cost, with the same limits.
func TestLinkAnswersAllAlike(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, databaseURL string) {
		for _, who := range []string{"maria", "suspended", "demo-one", "blank-one"} {
			s.Member(t, who)
		}
		restrict(t, databaseURL)
		var checked int
		var mu sync.Mutex
		s.Web.OnVerify(func(string) {
			mu.Lock()
			defer mu.Unlock()
			checked++
		})
		shape := func(username, password string) string {
			s.op.Be(person(username))
			b := s.Browser(t)
			b.Get("/sign-in")
			shown := b.Follow(s.signInThere(t, b, ""))
			p := b.Submit(shown, "/sign-in/provider/link", webtest.Values("password", password))
			if p.Status != http.StatusForbidden || isSignedIn(b) {
				t.Errorf("%s: %d", username, p.Status)
			}
			form := regexp.MustCompile(`name="form_token" value="[^"]*"`)
			text := strings.ReplaceAll(shown.Body+p.Body, username+"@", "SOMEBODY@")
			return form.ReplaceAllString(linkSecret.ReplaceAllString(text, ""), "")
		}
		normal := shape("maria", "wrong password")
		others := map[string]string{"nobody": webtest.Password, "suspended": "wrong", "demo-one": webtest.Password, "blank-one": ""}
		for username, password := range others {
			if got := shape(username, password); got != normal {
				t.Errorf("%s:\n%s\nnot\n%s", username, got, normal)
			}
		}
		if checked != 1+len(others) {
			t.Errorf("%d passwords were checked", checked)
		}
	})
}

// A member who is linked and then suspended cannot sign in.
func TestSuspendedMemberElsewhere(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, databaseURL string) {
		s.linked(t, "maria")
		b := s.Browser(t)
		wantRedirect(t, s.signInThere(t, b, ""), "/")
		statement(t, databaseURL, "UPDATE members SET suspended_at = created_at WHERE username = 'maria'")
		if isSignedIn(b) {
			t.Error("the session still works")
		}
		b = s.Browser(t)
		want(t, s.prove(t, b, webtest.Password), http.StatusForbidden, "Your account is suspended")
		if isSignedIn(b) {
			t.Error("signed in")
		}
		statement(t, databaseURL, "UPDATE members SET suspended_at = NULL WHERE username = 'maria'")
		wantRedirect(t, s.signInThere(t, b, ""), "/")
	})
}

func TestUnverifiedAddress(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.Member(t, "maria")
	for name, p := range map[string]signintest.Person{
		"of a member":   {Subject: "x", Email: "maria@people.example"},
		"of no member":  {Subject: "x", Email: "nobody@people.example"},
		"none":          {Subject: "x", Verified: true},
		"no address":    {Subject: "x", Email: "maria", Verified: true},
		"two addresses": {Subject: "x", Email: "maria@people.example, evil@evil.example", Verified: true},
		"a named one":   {Subject: "x", Email: "Maria <maria@people.example>", Verified: true},
	} {
		s.op.Be(p)
		b := s.Browser(t)
		got := s.signInThere(t, b, "/settings/mcp")
		if got.Status != http.StatusForbidden || !strings.Contains(got.Text(), "Example has not confirmed your e-mail address") ||
			!strings.Contains(got.Body, `href="/sign-in?return_to=%2Fsettings%2Fmcp"`) {
			t.Errorf("%s: %d %s", name, got.Status, got.Text())
		}
	}
}

// The password question belongs to the browser that came back, for another ten minutes,
// and only its secret gives access to it.
func TestQuestionBelongsToItsBrowser(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.Member(t, "victim")
	s.op.Be(person("victim"))
	attacker, victim, second := s.Browser(t), s.Browser(t), s.Browser(t)
	answer := s.signInThere(t, attacker, "")
	page := attacker.Follow(answer)
	s.leave(t, victim, "")
	path := answer.Header.Get("Location")
	for name, b := range map[string]*webtest.Browser{"a browser with its own attempt": victim, "a browser without": second} {
		if p := b.Get(path); p.Status != http.StatusBadRequest || !strings.Contains(p.Text(), overWords) {
			t.Errorf("%s sees %d %s", name, p.Status, p.Text())
		}
		form := merge(page.Form("/sign-in/provider/link"), webtest.Values("password", webtest.Password, "form_token", tokenOf(b.Get("/sign-in"))))
		want(t, b.Post("/sign-in/provider/link", form), http.StatusBadRequest, overWords)
		if isSignedIn(b) {
			t.Errorf("%s is signed in", name)
		}
	}
	u, err := url.Parse(s.leave(t, attacker, ""))
	if err != nil {
		t.Fatal(err)
	}
	state := u.Query().Get("state")
	for _, secret := range []string{"", "x", state} {
		want(t, attacker.Get("/sign-in/provider/link?"+webtest.Values("link", secret).Encode()), http.StatusBadRequest, overWords)
	}
	secret := page.Form("/sign-in/provider/link").Get("link")
	want(t, arrive(attacker, "/sign-in/provider/callback?"+webtest.Values("state", secret, "code", "x").Encode()), http.StatusBadRequest, overWords)
	s.Clock.Advance(10*time.Minute - time.Second)
	want(t, attacker.Get(path), http.StatusOK, "One more step")
	s.Clock.Advance(time.Second)
	want(t, attacker.Get(path), http.StatusBadRequest, overWords)
	want(t, attacker.Submit(page, "/sign-in/provider/link", webtest.Values("password", webtest.Password)), http.StatusBadRequest, overWords)
	if isSignedIn(attacker) {
		t.Error("signed in")
	}
}

func TestLinkIsLimited(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t, func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 3, Window: time.Minute} })
	s.Member(t, "maria")
	s.op.Be(person("maria"))
	b := s.Browser(t)
	page := b.Follow(s.signInThere(t, b, ""))
	want(t, signIn(s.Browser(t), "maria@people.example", "wrong", ""), http.StatusForbidden) // counted together
	for range 2 {
		want(t, b.Submit(page, "/sign-in/provider/link", webtest.Values("password", "wrong")), http.StatusForbidden)
	}
	p := b.Submit(page, "/sign-in/provider/link", webtest.Values("password", webtest.Password))
	want(t, p, http.StatusTooManyRequests, "Too many attempts")
	if p.Header.Get("Retry-After") != "60" || isSignedIn(b) {
		t.Errorf("Retry-After: %q", p.Header.Get("Retry-After"))
	}
	s.Clock.Advance(time.Minute)
	wantRedirect(t, b.Submit(page, "/sign-in/provider/link", webtest.Values("password", webtest.Password)), "/settings/profile?done=provider-linked")
}

func TestOneMemberOneIdentity(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, databaseURL string) {
		s.linked(t, "maria")
		s.op.Be(signintest.Person{Subject: "second", Email: "maria@people.example", Verified: true})
		b := s.Browser(t)
		want(t, s.prove(t, b, "wrong password"), http.StatusForbidden) // reveals nothing before the password
		want(t, s.prove(t, b, webtest.Password), http.StatusConflict, "This cannot be connected")
		s.Member(t, "other")
		statement(t, databaseURL, "UPDATE members SET suspended_at = created_at WHERE username = 'maria'")
		s.op.Be(signintest.Person{Subject: "sub-maria", Email: "other@people.example", Verified: true})
		want(t, s.prove(t, b, webtest.Password), http.StatusConflict, "This cannot be connected")
		if isSignedIn(b) {
			t.Error("signed in")
		}
	})
}

// Two tabs both ask for the password: the second finds the identity already linked.
func TestTwoTabsLinkAtOnce(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.Member(t, "maria")
	s.op.Be(person("maria"))
	b := s.Browser(t)
	first, second := s.leave(t, b, "/settings/mcp"), s.leave(t, b, "/settings/account")
	one, two := arrive(b, s.answer(t, first)), arrive(b, s.answer(t, second))
	wantRedirect(t, b.Submit(b.Follow(one), "/sign-in/provider/link", webtest.Values("password", webtest.Password)), "/settings/mcp")
	wantRedirect(t, b.Submit(b.Follow(two), "/sign-in/provider/link", webtest.Values("password", webtest.Password)), "/settings/account")
	links, err := signin.ListIdentities(t.Context(), s.Store, s.memberID(t, "maria"))
	if err != nil || len(links) != 1 {
		t.Errorf("linked: %v, %v", links, err)
	}
}

func TestUnlink(t *testing.T) {
	t.Parallel()
	eachElsewhere(t, func(t *testing.T, s elsewhere, _ string) {
		s.linked(t, "other")
		s.linked(t, "maria")
		b := s.Browser(t)
		s.signInThere(t, b, "")
		page := b.Get("/settings/security")
		for _, wrong := range []url.Values{webtest.Values("unlink_password", "wrong"), webtest.Values("unlink_password", "", "password", webtest.Password)} {
			p := b.Submit(page, "/settings/security/provider/unlink", wrong)
			want(t, p, http.StatusUnprocessableEntity, "This is not your password.", "Connected sign-ins")
			if p.ByID("unlink_password-error") == nil || p.ByID("password-error") != nil {
				t.Error("the wrong field is marked")
			}
		}
		answer := b.Submit(page, "/settings/security/provider/unlink", webtest.Values("unlink_password", webtest.Password))
		wantRedirect(t, answer, "/settings/security?done=provider-unlinked")
		p := b.Follow(answer)
		want(t, p, http.StatusOK, "Your identity provider is disconnected. Sign in with your password.")
		if strings.Contains(p.Text(), "elsewhere") {
			t.Error("the identity is still shown")
		}
		anonymous := s.Browser(t)
		want(t, anonymous.Follow(s.signInThere(t, anonymous, "")), http.StatusOK, "One more step")
		s.op.Be(person("other"))
		wantRedirect(t, s.signInThere(t, s.Browser(t), ""), "/")
	})
}

// An identity linked at a provider that is no longer configured is shown with the
// provider's address, and can be unlinked.
func TestFormerProvider(t *testing.T) {
	t.Parallel()
	op, options := withProvider(t)
	path := newDatabase(t)
	before := elsewhere{webtest.Start(t, path, options), op}
	before.linked(t, "maria")
	after := webtest.Start(t, path, webtest.Options{})
	b := after.BrowserOf(t, before.memberID(t, "maria"))
	page := b.Get("/settings/security")
	want(t, page, http.StatusOK, op.URL)
	wantRedirect(t, b.Submit(page, "/settings/security/provider/unlink", webtest.Values("unlink_password", webtest.Password)), "/settings/security?done=provider-unlinked")
}

func TestExportHoldsIdentities(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.linked(t, "maria")
	b := s.Browser(t)
	s.signInThere(t, b, "")
	var file struct {
		Identities []struct {
			Issuer, Subject string
			CreatedAt       time.Time `json:"created_at"`
			LastUsedAt      time.Time `json:"last_used_at"`
		} `json:"linked_identities"`
	}
	if err := json.Unmarshal([]byte(unzip(t, b.Get("/settings/account/export").Body)["account.json"]), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Identities) != 1 || file.Identities[0].Issuer != s.op.URL || file.Identities[0].Subject != "sub-maria" ||
		!file.Identities[0].CreatedAt.Equal(s.Clock.Now()) || !file.Identities[0].LastUsedAt.Equal(s.Clock.Now()) {
		t.Errorf("got %+v", file)
	}
}

func TestMemberIsToldOfLink(t *testing.T) {
	t.Parallel()
	server := smtptest.Start(t, smtptest.Options{})
	mailer, err := mail.New(mail.Config{URL: "smtp://" + server.Addr + "?from=Kith%20<kith@kith.example>"})
	if err != nil {
		t.Fatal(err)
	}
	mailer.Start(t.Context())
	t.Cleanup(func() { mailer.Stop(context.Background()) })
	s := newElsewhere(t, func(c *web.Config) { c.Mailer = mailer })
	s.linked(t, "maria")
	email := server.Next(t)
	if email.Header.Get("Subject") == newDeviceSubject {
		email = server.Next(t)
	}
	text, html := email.Parts(t)
	if email.To != "maria@people.example" || email.Header.Get("Subject") != "Your Kith account is connected with Example" ||
		!strings.Contains(text, s.URL+notMePath+"?link=") || !strings.Contains(html, "with Example") {
		t.Errorf("to %s, %q:\n%s", email.To, email.Header.Get("Subject"), text)
	}
}

func TestProviderPagesForEverybody(t *testing.T) {
	t.Parallel()
	s := newElsewhere(t)
	s.linked(t, "maria")
	b, other := s.Browser(t), s.Browser(t)
	s.signInThere(t, b, "")
	s.op.Be(person("nobody"))
	asked := other.Follow(s.signInThere(t, other, ""))
	for name, p := range map[string]*webtest.Page{
		"sign-in": s.Browser(t).Get("/sign-in"), "security": b.Get("/settings/security"), "link": asked, "over": b.Get("/sign-in/provider/callback"),
		"wrong link":     other.Submit(asked, "/sign-in/provider/link", webtest.Values("password", "x")),
		"wrong security": b.Submit(b.Get("/settings/security"), "/settings/security/provider/unlink", nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkLandmarks(t, p)
			checkNames(t, p)
			checkReferences(t, p)
		})
	}
}
