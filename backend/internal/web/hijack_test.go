package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// Data typed by an attacker with another person's address gives no access to the
// account that the address's owner creates with the mailed link.
func TestSignUpWithSomebodysAddress(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		attacker := s.Browser(t)
		page := attacker.Get("/sign-up")
		if form := page.Form("/sign-up"); form.Has("new_password") || form.Has("password") {
			t.Errorf("the form asks for a password: %v", form)
		}
		known := webtest.Values("username", "victim", "email", "victim@people.example", "password", webtest.Password,
			"new_password", webtest.Password, "repeat_password", webtest.Password)
		want(t, attacker.Submit(page, "/sign-up", known), http.StatusOK, "Check your email")
		victim := s.Browser(t)
		finish := victim.Get(p.link(t, s, "victim@people.example", finishSubject))
		want(t, victim.Submit(finish, "/verify", nil), http.StatusUnprocessableEntity, "Use 10 to 256 characters.")
		want(t, victim.Submit(finish, "/verify", webtest.Values("new_password", "the victim one", "repeat_password", "the victim one")),
			http.StatusUnprocessableEntity, "username")
		wantRedirect(t, victim.Submit(finish, "/verify", chosenPassword()), "/settings/profile?done=welcome")
		if !isSignedIn(victim) {
			t.Error("the person who chose the password is not signed in")
		}
		want(t, signIn(attacker, "victim", webtest.Password, ""), http.StatusForbidden)
		if isSignedIn(attacker) {
			t.Error("the attacker is signed in")
		}
	})
}

// The password is chosen after the address is verified.
func TestPasswordIsChosenAfterTheProof(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		s := webtest.Start(t, databaseURL, webtest.Options{})
		_, _, finish := links(t, s, s.Member(t, "maria"))
		statement(t, databaseURL, "UPDATE sign_ups SET username = 'victim'")
		b := s.Browser(t)
		wantRedirect(t, b.Submit(b.Get(finish), "/verify", chosenPassword()), "/settings/profile?done=welcome")
		want(t, signIn(s.Browser(t), "victim", webtest.Password, ""), http.StatusForbidden)
		wantRedirect(t, signIn(s.Browser(t), "victim", newPassword, ""), "/")
	})
}

// A password reset ends all access that existed before, of every kind.
func TestResetEndsEveryWayIn(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		attacker, bystander := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		bearer := webtest.TextOf(makeToken(t, attacker, webtest.Values("name", "script")).ByID("made-token"))
		access := grantOf(t, s, attacker)
		others := webtest.TextOf(makeToken(t, bystander, webtest.Values("name", "script")).ByID("made-token"))
		c := s.Client(t, "Waiting", "https://a.example/cb")
		waiting := allow(attacker.Get(authorizePath(c.ID, "https://a.example/cb")))

		b := s.Browser(t)
		forgot := b.Get("/forgot")
		want(t, forgot, http.StatusOK, "ends the access of your agents and personal tokens")
		b.Submit(forgot, "/forgot", webtest.Values("login", "maria"))
		page := b.Get(p.link(t, s, "maria@people.example", resetSubject))
		want(t, page, http.StatusOK, "every agent, personal token and connected sign-in loses its access")
		answer := b.Submit(page, "/reset", chosenPassword())
		wantRedirect(t, answer, "/sign-in?done=reset")
		want(t, b.Follow(answer), http.StatusOK, "No agent or personal token works any more")
		text, _ := p.Next(t).Parts(t)
		if !strings.Contains(text, "no agent or personal token works any more") {
			t.Errorf("the email says %q", text)
		}
		for name, dead := range map[string]string{"personal token": bearer, "access token": access} {
			if _, err := oauth.Authenticate(t.Context(), s.Store, dead); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("the %s works: %v", name, err)
			}
		}
		if isSignedIn(attacker) {
			t.Error("the session still works")
		}
		if consent := attacker.Post("/oauth/consent", waiting); strings.Contains(consent.Header.Get("Location"), "code=") {
			t.Error("an earlier consent page still gives a code")
		}
		if _, err := oauth.Authenticate(t.Context(), s.Store, others); err != nil || !isSignedIn(bystander) {
			t.Errorf("another member lost access: %v", err)
		}
	})
}

// Changing a known password keeps agents and tokens, and the page says so.
func TestPasswordChangeKeepsAgents(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	access := grantOf(t, s, b)
	page := b.Get("/settings/security")
	want(t, page, http.StatusOK, "Agents and tokens go on working.")
	change := merge(chosenPassword(), webtest.Values("password", webtest.Password))
	wantRedirect(t, b.Submit(page, "/settings/security/password", change), "/settings/security?done=password-changed")
	if _, err := oauth.Authenticate(t.Context(), s.Store, access); err != nil {
		t.Errorf("the agent lost its access: %v", err)
	}
}
