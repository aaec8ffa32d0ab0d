package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const (
	endForm       = "/settings/security/sessions/end"
	endOthersForm = "/settings/security/sessions/end-others"
	seenForm      = "/settings/security/seen"
	notMePath     = "/not-me"
	objectPath    = "/not-me/object"

	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	safari  = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)

// signInWith signs in a browser that sends the User-Agent userAgent.
func signInWith(b *webtest.Browser, login, userAgent string) *webtest.Page {
	form := b.Get("/sign-in").Fill("/sign-in", webtest.Values("login", login, "password", webtest.Password))
	r := b.Request(http.MethodPost, "/sign-in", form)
	r.Header.Set("User-Agent", userAgent)
	return b.Do(r)
}

// sessionsOf returns the ids of a member's sessions, the last used first.
func sessionsOf(t *testing.T, s *webtest.Site, b *webtest.Browser) []string {
	t.Helper()
	login, err := account.GetLoginSession(t.Context(), s.Store, account.HashSecret(b.Cookie("kith_session")))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := account.ListLoginSessions(t.Context(), s.Store, login.MemberID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

func TestSessions(t *testing.T) {
	t.Parallel()
	address := "203.0.113.77"
	webtest.Each(t, webtest.Options{Web: func(c *web.Config) { c.ClientAddress = func(*http.Request) string { return address } }}, func(t *testing.T, s *webtest.Site) {
		s.Member(t, "maria")
		laptop, phone := s.Browser(t), s.Browser(t)
		wantRedirect(t, signInWith(laptop, "maria", firefox), "/")
		s.Clock.Advance(time.Hour)
		wantRedirect(t, signInWith(phone, "maria", safari), "/")
		page := laptop.Get(securityPage)
		want(t, page, http.StatusOK, "Firefox on Linux this browser", "Safari on iPhone", "from 203.0.113.0/24", "In use now.")
		if strings.Contains(page.Body, address) || strings.Contains(page.Body, "rv:140") {
			t.Error("the page shows the full address, or the header")
		}
		answer := laptop.Submit(page, endForm, nil) // the page has one such form: the other browser's
		wantRedirect(t, answer, securityPage+"?done=session-ended")
		want(t, laptop.Follow(answer), http.StatusOK, "That browser is signed out", "Ended the session of another browser")
		wantRedirect(t, phone.Get(securityPage), "/sign-in?return_to=%2Fsettings%2Fsecurity")
		want(t, laptop.Submit(page, endForm, nil), http.StatusNotFound, "There is nothing here")
		for range 2 {
			wantRedirect(t, signInWith(s.Browser(t), "maria", safari), "/")
		}
		if n := len(sessionsOf(t, s, laptop)); n != 3 {
			t.Fatalf("%d sessions", n)
		}
		answer = laptop.Submit(laptop.Get(securityPage), endOthersForm, nil)
		wantRedirect(t, answer, securityPage+"?done=sessions-ended")
		if n := len(sessionsOf(t, s, laptop)); n != 1 || !isSignedIn(laptop) {
			t.Errorf("%d sessions are left", n)
		}
	})
}

func TestEndingSessionsIsTheMembersOnly(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		maria, thief := s.SignedIn(t, "maria"), s.SignedIn(t, "thief")
		s.BrowserOf(t, maria.Owner)
		s.BrowserOf(t, thief.Owner)
		victims := sessionsOf(t, s, maria)
		form := thief.Get(securityPage).Form(endForm)
		for _, id := range append(victims, "", "ses_x", "%", "' OR ''='") {
			form.Set("id", id)
			want(t, thief.Post(endForm, form), http.StatusNotFound, "There is nothing here")
		}
		for _, path := range []string{endForm, endOthersForm, seenForm} {
			own := webtest.Values("id", sessionsOf(t, s, thief)[0], "seen", "99")
			want(t, thief.Post(path, own), http.StatusForbidden, "This form is out of date")
			own.Set("form_token", maria.Get(securityPage).Form(endOthersForm).Get("form_token"))
			want(t, thief.Post(path, own), http.StatusForbidden, "This form is out of date")
			wantRedirect(t, thief.Get(path), securityPage) // and nothing ends
		}
		if left := sessionsOf(t, s, maria); len(left) != 2 || !isSignedIn(maria) {
			t.Errorf("left %v", left)
		}
		if left := sessionsOf(t, s, thief); len(left) != 2 {
			t.Errorf("of the thief: %v", left)
		}
	})
}

// A session ends when it is not used for a time, and its use is recorded every few minutes at most.
func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	var s *webtest.Site
	var mu sync.Mutex
	writes := 0
	s = webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.SessionIdle = time.Hour
		c.Used = func(id string, at time.Time) {
			mu.Lock()
			defer mu.Unlock()
			writes++
			if err := account.MarkSessionUsed(t.Context(), s.Store, id, at); err != nil {
				t.Error(err)
			}
		}
	}})
	b := s.SignedIn(t, "maria")
	for range 50 {
		s.Clock.Advance(2 * time.Minute)
		if !isSignedIn(b) {
			t.Fatal("a session that is used has ended")
		}
	}
	if writes > 20 || writes < 10 {
		t.Errorf("100 minutes of use are %d writes", writes)
	}
	s.Clock.Advance(time.Hour)
	if isSignedIn(b) {
		t.Error("an idle session goes on")
	}
	if p := b.Get("/oauth/authorize"); p.Status == http.StatusOK {
		t.Error("an idle session may consent")
	}
}

func TestSecurityEventsHavePages(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b, other := s.SignedIn(t, "maria"), s.SignedIn(t, "other")
		for n := range 120 {
			e := account.SecurityEvent{TenantID: b.Owner, Kind: account.AgentPaused, Subject: "m", Device: fmt.Sprintf("device %d", n+1)}
			if err := account.CreateSecurityEvent(t.Context(), s.Store, &e); err != nil {
				t.Fatal(err)
			}
		}
		path, newest := securityPage, 120
		for _, rows := range []int{50, 50, 20} {
			page := b.Get(path)
			want(t, page, http.StatusOK, fmt.Sprintf("device %d ", newest), fmt.Sprintf("device %d ", newest-rows+1))
			if got := strings.Count(page.Text(), "Paused an agent"); got != rows {
				t.Fatalf("%s: %d rows, not %d", path, got, rows)
			}
			newest -= rows
			path = ""
			for _, a := range page.All("a") {
				if webtest.TextOf(a) == "Older" {
					path = strings.TrimSuffix(webtest.Attr(a, "href"), "#events-title")
				}
			}
		}
		if path != "" {
			t.Errorf("the last page leads to %s", path)
		}
		for _, before := range []string{"-1", "x", "99999999999999999999", "0"} {
			want(t, b.Get(securityPage+"?before="+before), http.StatusOK, "device 120")
		}
		if text := other.Get(securityPage + "?before=1000").Text(); strings.Contains(text, "device") && strings.Contains(text, "Paused") {
			t.Errorf("another member reads them: %s", text)
		}
	})
}

// Without mail, the next page in each browser shows what happened in another one, until the member
// dismisses it in that browser.
func TestNoticesOnPages(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		const title = "This happened in your account"
		laptop := s.SignedIn(t, "maria")
		if text := laptop.Get("/people").Text(); strings.Contains(text, title) {
			t.Fatalf("told of nothing: %s", text)
		}
		thief := s.Browser(t)
		thief.UserAgent = safari
		wantRedirect(t, signIn(thief, "maria", webtest.Password, ""), "/")
		makeToken(t, thief, webtest.Values("name", "thiefs"))
		for range 2 { // it stays until it is dismissed
			want(t, laptop.Get("/people"), http.StatusOK, title, "Signed in on a new device", "Made a personal token", "Safari on iPhone")
		}
		if text := thief.Get("/people").Text(); strings.Contains(text, title) {
			t.Errorf("the browser that did it is told: %s", text)
		}
		answer := laptop.Submit(laptop.Get("/people?q=x"), seenForm, nil)
		wantRedirect(t, answer, "/people?q=x")
		if text := laptop.Follow(answer).Text(); strings.Contains(text, title) {
			t.Errorf("it is told again: %s", text)
		}
		want(t, s.BrowserOf(t, laptop.Owner).Get("/people"), http.StatusOK, title)
		form := laptop.Get(securityPage).Form(endOthersForm)
		form.Set("seen", "x")
		want(t, laptop.Post(seenForm, form), http.StatusBadRequest)
		form.Set("seen", "1")
		form.Set("return_to", "https://evil.example/")
		wantRedirect(t, laptop.Post(seenForm, form), "/")
	})
}

// Events caused by a copy of the cookie are not shown as this browser's: they belong to the same
// session, but to another device.
func TestCopiedCookieIsTold(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		owner, thief := s.Browser(t), s.Browser(t)
		owner.UserAgent, thief.UserAgent = firefox, safari
		s.Member(t, "maria")
		wantRedirect(t, signIn(owner, "maria", webtest.Password, ""), "/")
		makeToken(t, owner, webtest.Values("name", "mine"))
		if text := owner.Get("/people").Text(); strings.Contains(text, "This happened") {
			t.Fatalf("told of the own token: %s", text)
		}
		thief.SetCookie("kith_session", owner.Cookie("kith_session"))
		makeToken(t, thief, webtest.Values("name", "thiefs"))
		want(t, owner.Get("/people"), http.StatusOK, "This happened in your account", "Made a personal token", "Safari on iPhone")
		page := owner.Get(securityPage)
		want(t, page, http.StatusOK, "Made the personal token “mine” this browser")
		if strings.Contains(page.Text(), "Made the personal token “thiefs” this browser") {
			t.Error("the thief's token is shown as the owner's")
		}
		wantRedirect(t, owner.Submit(page, endOthersForm, nil), securityPage+"?done=sessions-ended")
		if isSignedIn(thief) || !isSignedIn(owner) {
			t.Error("the copy goes on, or the owner is signed out")
		}
	})
}

// A member who is suspended is told so if they know the password, and only then.
func TestSuspendedMemberIsTold(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		if _, err := account.SuspendMember(t.Context(), s.Store, "maria"); err != nil {
			t.Fatal(err)
		}
		if isSignedIn(b) {
			t.Error("the session goes on")
		}
		want(t, signIn(s.Browser(t), "maria", webtest.Password, ""), http.StatusForbidden, "Your account is suspended")
		p := signIn(s.Browser(t), "maria", "another password", "")
		if want(t, p, http.StatusForbidden, "do not belong together"); strings.Contains(p.Text(), "suspended") {
			t.Error("a stranger learns that the member is suspended")
		}
		m, err := account.GetMember(t.Context(), s.Store, "maria")
		if err != nil {
			t.Fatal(err)
		}
		if err := account.CreateSecurityEvent(t.Context(), s.Store, &account.SecurityEvent{TenantID: m.ID, Kind: account.AccountMoved}); err != nil {
			t.Fatal(err)
		}
		want(t, signIn(s.Browser(t), "maria", webtest.Password, ""), http.StatusForbidden, "Your account has moved")
	})
}
