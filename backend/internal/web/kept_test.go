package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// What was typed into a form survives the end of the session: the answer shows it, and after signing
// in it is sent from there. Passwords are not kept, and nothing is written before the member sends it.
func TestTypedTextSurvivesTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		ada, _ := webtest.Added(t, s, b.Owner, "Ada Stone")
		path := "/people/" + ada
		const note = "Rows on Tuesdays.\r\nAsk about <the boat>."
		before := len(webtest.Changes(t, s, b.Owner))
		for action, typed := range map[string]url.Values{
			path + "/note": {"body": {note}, "pinned": {"true"}}, path + "/edit": {"section": {"about"}, "bio": {note}, "seen.bio": {"x"}},
			"/settings/profile": {"bio": {note}, "name": {"Maria"}}, "/people/new": {"name": {"Bo Lind"}}, "/groups/save": {"name": {"Rowers"}},
			"/settings/security/password": {"new_email": {"me@people.example"}, "password": {webtest.Password}, "new_password": {webtest.Password}},
		} {
			p := s.Browser(t).Post(action, typed)
			want(t, p, http.StatusForbidden, "You are signed out", "Nothing was saved yet", "Sign in in a new tab")
			kept := p.Form(action)
			for name, values := range typed {
				if got := strings.ReplaceAll(kept.Get(name), "\n", "\r\n"); !strings.Contains(name, "password") && strings.ReplaceAll(got, "\r\r", "\r") != values[0] {
					t.Errorf("%s: %s is %q", action, name, kept.Get(name))
				}
			}
			if strings.Contains(p.Body, webtest.Password) {
				t.Errorf("%s: the page has the password", action)
			}
		}
		// The session ends while the note is typed, and another one begins in another tab.
		shown := b.Get(path)
		s.Clock.Advance(14*24*time.Hour + time.Second)
		ended := b.Submit(shown, path+"/note", webtest.Values("body", "Rows on Tuesdays."))
		want(t, ended, http.StatusForbidden, "You are signed out", "Rows on Tuesdays.")
		wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
		again := b.Submit(ended, path+"/note", nil)
		want(t, again, http.StatusForbidden, "This form is out of date", "Rows on Tuesdays.")
		if n := len(webtest.Changes(t, s, b.Owner)); n != before {
			t.Errorf("%d changes were made", n-before)
		}
		saved := b.Follow(b.Submit(again, path+"/note", nil))
		want(t, saved, http.StatusOK, "The note is added.", "Rows on Tuesdays.")
		// A button alone loses nothing, so it leads to sign in as before.
		wantRedirect(t, s.Browser(t).Post(path+"/act", webtest.Values("act", "star")), "/sign-in?return_to=%2Fpeople")
		cross := b.Request(http.MethodPost, path+"/note", webtest.Values("body", "planted"))
		cross.Header.Set("Sec-Fetch-Site", "cross-site")
		cross.Header.Set("Origin", "https://evil.example")
		if p := b.Do(cross); p.Status != http.StatusForbidden || p.Heading() != "This form came from another site" || strings.Contains(p.Body, "planted") {
			t.Errorf("a form of another site: %d %s", p.Status, p.Text())
		}
	})
}

// The link to the member's data is followed, not downloaded: when the sign-in is old, the browser shows
// the page that asks for a proof, which then leads back.
func TestOldSignInCanDownload(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	s.Clock.Advance(account.FreshFor + time.Second)
	for _, a := range b.Get("/settings/imports").All("a") {
		if webtest.TextOf(a) != "Download my data" {
			continue
		}
		if webtest.Has(a, "download") {
			t.Error("the browser saves the page that asks for a proof, or nothing")
		}
		asked := b.Get(webtest.Attr(a, "href"))
		want(t, asked, http.StatusForbidden, "Confirm that it is you")
		wantRedirect(t, b.Submit(asked, "/sign-in/confirm", webtest.Values("confirm_password", webtest.Password)), "/settings/imports?done=confirmed")
		if got := b.Get(webtest.Attr(a, "href")).Header.Get("Content-Type"); got != "application/zip" {
			t.Errorf("the file is %q", got)
		}
		return
	}
	t.Error("there is no link to the data")
}
