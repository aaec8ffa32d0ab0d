package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// attemptRows counts the rows of attempts.
func attemptRows(t *testing.T, databaseURL string) int {
	t.Helper()
	var n int
	if err := dbtest.OpenSQL(t, databaseURL).QueryRow("SELECT count(*) FROM login_attempts").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// An attacker at one address spends only their own quota: neither the member's budget
// nor more rows.
func TestAttackerCannotLockAMemberOut(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		address := "192.0.2.1"
		s := webtest.Start(t, url, limited(nil, &address))
		s.Member(t, "maria")
		device := s.Browser(t)
		wantRedirect(t, signIn(device, "maria", webtest.Password, ""), "/")
		device.Submit(device.Get("/settings/security"), "/sign-out", nil)

		address = "192.0.2.66"
		attacker := s.Browser(t)
		page := attacker.Get("/sign-in")
		refused := 0
		for n := range 1000 {
			if attacker.Submit(page, "/sign-in", webtest.Values("login", "maria", "password", fmt.Sprint("guess ", n))).Status == http.StatusTooManyRequests {
				refused++
			}
		}
		rows := attemptRows(t, url)
		if refused != 990 || rows != 4 { // the victim's address, the attacker's, the name and the member
			t.Errorf("%d were refused, %d rows", refused, rows)
		}
		for n := range 100 {
			want(t, attacker.Submit(page, "/sign-in", webtest.Values("login", fmt.Sprint("name-", n), "password", "x")), http.StatusTooManyRequests)
		}
		if n := attemptRows(t, url); n != rows {
			t.Errorf("refused attempts wrote %d rows", n-rows)
		}
		// The member's device works even at the attacker's address.
		wantRedirect(t, signIn(device, "maria", webtest.Password, ""), "/")
		address = "192.0.2.3"
		fresh := s.Browser(t)
		want(t, signIn(fresh, "maria", "mistyped", ""), http.StatusForbidden)
		wantRedirect(t, signIn(fresh, "maria", webtest.Password, ""), "/")
	})
}

// closeAccount spends the member's whole budget for unknown devices.
func closeAccount(t *testing.T, s *webtest.Site, address *string, login string) {
	t.Helper()
	before := *address
	for n := range 5 {
		*address = fmt.Sprintf("198.51.100.%d", n)
		b := s.Browser(t)
		page := b.Get("/sign-in")
		for range 10 {
			b.Submit(page, "/sign-in", webtest.Values("login", login, "password", "wrong"))
		}
	}
	*address = "203.0.113.1"
	want(t, signIn(s.Browser(t), login, "wrong", ""), http.StatusTooManyRequests)
	*address = before
}

func TestKnownDeviceKeepsItsOwnBudget(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		address := "192.0.2.1"
		s := webtest.Start(t, url, limited(nil, &address))
		s.Member(t, "maria")
		s.Member(t, "mallory")
		device, foreign := s.Browser(t), s.Browser(t)
		signIn(device, "maria", webtest.Password, "")
		signIn(foreign, "mallory", webtest.Password, "")
		known := device.Cookie("kith_device")
		closeAccount(t, s, &address, "maria")

		address = "192.0.2.2"
		try := func(cookie, password string) *webtest.Page {
			b := s.Browser(t)
			if cookie != "" {
				b.SetCookie(b.CookieName("kith_device"), cookie)
			}
			return signIn(b, "maria", password, "")
		}
		parts := strings.Split(known, ".")
		for name, cookie := range map[string]string{
			"no cookie": "", "another member's": foreign.Cookie("kith_device"), "no MAC": parts[0] + "." + parts[1],
			"another name": strings.Repeat("A", 43) + "." + parts[1] + "." + parts[2], "a longer life": parts[0] + ".9999999999." + parts[2],
		} {
			if p := try(cookie, webtest.Password); p.Status != http.StatusTooManyRequests {
				t.Errorf("%s: %d", name, p.Status)
			}
		}
		for range 9 {
			want(t, try(known, "wrong"), http.StatusForbidden)
		}
		wantRedirect(t, try(known, webtest.Password), "/")
		want(t, try(known, webtest.Password), http.StatusTooManyRequests) // a stolen device cannot continue to guess
	})
}

func TestKnownDevicesEnd(t *testing.T) {
	t.Parallel()
	address := "192.0.2.1"
	s := webtest.New(t, limited(nil, &address))
	s.Member(t, "maria")
	b := s.Browser(t)
	signIn(b, "maria", webtest.Password, "")
	first := b.Cookie("kith_device")
	closed := func(cookie string) bool {
		closeAccount(t, s, &address, "maria")
		device := s.Browser(t)
		device.SetCookie(device.CookieName("kith_device"), cookie)
		refused := signIn(device, "maria", "wrong", "").Status == http.StatusTooManyRequests
		s.Clock.Advance(time.Hour)
		return refused
	}
	if closed(first) {
		t.Error("the device is not known")
	}
	s.Clock.Advance(365*24*time.Hour - time.Hour)
	if !closed(first) {
		t.Error("the device is known after a year")
	}
	signIn(b, "maria", webtest.Password, "")
	second := b.Cookie("kith_device")
	change := webtest.Values("password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword)
	wantRedirect(t, b.Submit(b.Get("/settings/security"), "/settings/security/password", change), "/settings/security?done=password-changed")
	if !closed(second) {
		t.Error("the device is known after the password changed")
	}
	if closed(b.Cookie("kith_device")) {
		t.Error("the browser that changed the password is not known")
	}
}

// Attempts at the sign-in page and attempts in the settings are counted separately.
func TestOwnPasswordHasItsOwnBudget(t *testing.T) {
	t.Parallel()
	address := "192.0.2.1"
	s := webtest.New(t, limited(&account.RatePolicy{Quota: 10, Window: 5 * time.Minute}, &address))
	b := s.SignedIn(t, "maria")
	closeAccount(t, s, &address, "maria")
	page := b.Get("/settings/security")
	change := webtest.Values("password", "wrong", "new_password", newPassword, "repeat_password", newPassword)
	for range 10 {
		want(t, b.Submit(page, "/settings/security/password", change), http.StatusUnprocessableEntity, "This is not your password.")
	}
	want(t, b.Submit(page, "/settings/security/password", change), http.StatusTooManyRequests)
	s.Clock.Advance(5 * time.Minute)
	for range 10 {
		b.Submit(page, "/settings/security/password", change)
	}
	wantRedirect(t, signIn(s.Browser(t), "maria", webtest.Password, ""), "/")
}

// An attempt is counted on the address, the name and the account, or on none of them.
func TestAnAttemptIsCountedOnAllOrNone(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		address := "192.0.2.1"
		s := webtest.Start(t, url, limited(nil, &address))
		s.Member(t, "maria")
		b := s.Browser(t)
		page := b.Get("/sign-in")
		counted := func(login string) string {
			b.Submit(page, "/sign-in", webtest.Values("login", login, "password", "wrong"))
			return attemptCounts(t, url)
		}
		if got := counted("maria"); got != "[1 1 1]" {
			t.Errorf("the first attempt: %s", got)
		}
		for range 9 {
			counted("maria")
		}
		full := attemptCounts(t, url)
		if full != "[10 10 10]" {
			t.Errorf("ten attempts: %s", full)
		}
		for _, login := range []string{"maria", "maria@people.example", "nobody"} { // the address is full
			if got := counted(login); got != full {
				t.Errorf("%s, refused: %s", login, got)
			}
		}
		closeAccount(t, s, &address, "maria")
		address = "192.0.2.2"
		full = attemptCounts(t, url)
		if got := counted("maria"); got != full { // the name is full
			t.Errorf("refused for the name: %s, not %s", got, full)
		}
	})
}

// If counting on the account fails in the database, the other two counts are unchanged.
func TestAFailedAttemptIsCountedOnNone(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		address := "192.0.2.1"
		s := webtest.Start(t, url, limited(nil, &address))
		s.Member(t, "maria")
		fail := "CREATE TRIGGER broken BEFORE INSERT ON login_attempts WHEN (SELECT count(*) FROM login_attempts) = 2 BEGIN SELECT RAISE(ABORT, 'injected failure'); END"
		if strings.HasPrefix(url, "postgres") {
			statement(t, url, `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF (SELECT count(*) FROM login_attempts) = 2 THEN RAISE EXCEPTION 'injected failure'; END IF; RETURN NEW; END $$`)
			fail = "CREATE TRIGGER broken BEFORE INSERT ON login_attempts FOR EACH ROW EXECUTE FUNCTION broken()"
		}
		statement(t, url, fail)
		want(t, signIn(s.Browser(t), "maria", webtest.Password, ""), http.StatusInternalServerError)
		if got := attemptCounts(t, url); got != "[]" {
			t.Errorf("counted %s", got)
		}
	})
}

// attemptCounts returns the counts of all subjects.
func attemptCounts(t *testing.T, databaseURL string) string {
	t.Helper()
	rows, err := dbtest.OpenSQL(t, databaseURL).Query("SELECT count FROM login_attempts ORDER BY count, subject")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	counts := []int{}
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(counts)
}

// Whoever has a mailed link can have only a few passwords hashed and usernames tried with it: attempts are
// counted on the address and on the link before anything is read, and a wrong link counts as well.
func TestMailedLinksAreLimited(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		address := "192.0.2.1"
		s := webtest.Start(t, url, limited(&account.RatePolicy{Quota: 3, Window: time.Minute}, &address))
		m := s.Member(t, "taken")
		reset, _, finish := links(t, s, m)
		b := s.Browser(t)
		finishPage, resetPage := b.Get(finish), b.Get(reset)
		for range 3 {
			want(t, b.Submit(finishPage, "/verify", merge(chosenPassword(), webtest.Values("username", "taken"))),
				http.StatusUnprocessableEntity, "Somebody has this username already.")
			want(t, b.Submit(resetPage, "/reset", nil), http.StatusUnprocessableEntity)
		}
		counts := attemptCounts(t, url)
		for _, try := range []string{"taken", "free"} { // both are refused alike
			page := b.Submit(finishPage, "/verify", merge(chosenPassword(), webtest.Values("username", try)))
			want(t, page, http.StatusTooManyRequests, "Too many attempts")
			if page.Header.Get("Retry-After") == "" {
				t.Error("the answer does not tell when to try again")
			}
		}
		want(t, b.Submit(resetPage, "/reset", chosenPassword()), http.StatusTooManyRequests)
		want(t, b.Submit(finishPage, "/verify", webtest.Values("link", "of nobody")), http.StatusTooManyRequests)
		address = "192.0.2.2" // the link is counted wherever it is used
		want(t, b.Submit(finishPage, "/verify", merge(chosenPassword(), webtest.Values("username", "free"))), http.StatusTooManyRequests)
		want(t, b.Submit(resetPage, "/reset", chosenPassword()), http.StatusTooManyRequests)
		if got := attemptCounts(t, url); got != counts {
			t.Errorf("refused attempts were counted: %s, then %s", counts, got)
		}
		s.Clock.Advance(time.Minute)
		wantRedirect(t, b.Submit(resetPage, "/reset", chosenPassword()), "/sign-in?done=reset")
		wantRedirect(t, b.Submit(finishPage, "/verify", merge(chosenPassword(), webtest.Values("username", "free"))), "/settings/profile?done=welcome")
	})
}
