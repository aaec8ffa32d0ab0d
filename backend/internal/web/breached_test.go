package web_test

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// stolen is the password that the list of breachedSite has.
const stolen = "harbour lantern oak"

// breachedSite returns a site that refuses a breached password, and what it logs.
func breachedSite(t *testing.T, change func(c *web.Config)) (*webtest.Site, *bytes.Buffer) {
	t.Helper()
	path, log := filepath.Join(t.TempDir(), "hashes.txt"), &bytes.Buffer{}
	if err := os.WriteFile(path, fmt.Appendf(nil, "%X:7\n", sha1.Sum([]byte(stolen))), 0o600); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	passwords, err := password.NewPolicy(password.PolicyConfig{File: path, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	return webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.Passwords, c.Logger = passwords, logger
		if change != nil {
			change(c)
		}
	}}), log
}

// wantStolen checks that a form refuses the password at its field.
func wantStolen(t *testing.T, what string, p *webtest.Page) {
	t.Helper()
	field := p.ByID("new_password-error")
	if p.Status != http.StatusUnprocessableEntity || field == nil || !strings.Contains(webtest.TextOf(field), "stolen") {
		t.Errorf("%s: %d\n%s", what, p.Status, p.Text())
	}
}

// A breached password is refused wherever one is chosen; another one is taken.
func TestBreachedPasswords(t *testing.T) {
	t.Parallel()
	s, log := breachedSite(t, nil)
	chosen := webtest.Values("new_password", stolen, "repeat_password", stolen)

	visitor := s.Browser(t)
	signUp := merge(webtest.Values("username", "newby", "email", "newby@people.example"), chosen)
	wantStolen(t, "sign-up", visitor.Submit(visitor.Get("/sign-up"), "/sign-up", signUp))

	b := s.SignedIn(t, "maria")
	change := merge(webtest.Values("password", webtest.Password), chosen)
	wantStolen(t, "password change", b.Submit(b.Get("/settings/security"), "/settings/security/password", change))
	good := webtest.Values("password", webtest.Password, "new_password", "quiet copper bridge", "repeat_password", "quiet copper bridge")
	wantRedirect(t, b.Submit(b.Get("/settings/security"), "/settings/security/password", good), "/settings/security?done=password-changed")

	m, err := account.GetMember(t.Context(), s.Store, "maria")
	if err != nil {
		t.Fatal(err)
	}
	link := &account.MailLink{MemberID: m.ID, Purpose: account.PurposeReset, Email: m.Email, Hash: account.HashSecret("reset-secret")}
	if err := account.CreateMailLink(t.Context(), s.Store, link); err != nil {
		t.Fatal(err)
	}
	wantStolen(t, "reset", visitor.Submit(visitor.Get("/reset?link=reset-secret"), "/reset", chosen))

	first, firstLog := breachedSite(t, nil)
	owner := first.Browser(t)
	form := merge(webtest.Values("username", "ada", "name", "Ada", "email", "ada@people.example"), chosen)
	wantStolen(t, "owner", owner.Submit(owner.Get(ownerLink(t, first)), "/owner", form))

	if text := log.String() + firstLog.String(); strings.Contains(text, stolen) || strings.Contains(text, fmt.Sprintf("%X", sha1.Sum([]byte(stolen)))[:5]) {
		t.Errorf("the log tells the password:\n%s", text)
	}
}

// When the cost of hashing was raised, the next sign-in hashes the password again, and those after it
// do not. Sessions and tokens stay valid, and the browser stays a known device.
func TestCostIsRaisedAtSignIn(t *testing.T) {
	t.Parallel()
	raised := password.Cost{MemoryKiB: 16, Passes: 1}
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.PasswordCost = raised
		c.Login = &account.RatePolicy{Quota: 2, Window: account.DefaultLogin().Window}
	}})
	hash := func() string {
		m, err := account.GetMember(t.Context(), s.Store, "maria")
		if err != nil {
			t.Fatal(err)
		}
		return m.PasswordHash
	}
	elsewhere := s.SignedIn(t, "maria")
	before := hash()
	if !raised.CostsMoreThan(before) {
		t.Fatalf("the hash is %s", before)
	}
	b := s.Browser(t)
	if signIn(b, "maria", "wrong", ""); hash() != before {
		t.Error("a wrong password was hashed")
	}
	wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
	after := hash()
	if after == before || raised.CostsMoreThan(after) || !password.Verify(after, webtest.Password) {
		t.Errorf("the hash became %s", after)
	}
	if !isSignedIn(elsewhere) || !isSignedIn(b) {
		t.Error("a session ended")
	}
	// A known device has a budget of its own: that of the address is spent.
	b.SetCookie(b.CookieName("kith_session"), "")
	wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
	if hash() != after {
		t.Error("the password was hashed again")
	}
	if p := signIn(s.Browser(t), "maria", webtest.Password, ""); p.Status != http.StatusTooManyRequests {
		t.Errorf("an unknown device: %d", p.Status)
	}
}
