package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const issuer = "https://login.example"

// wentAway stores an attempt of the browser "b" that waits for the provider.
func wentAway(t *testing.T, s *db.DB, hash string) *signin.Attempt {
	t.Helper()
	a := &signin.Attempt{
		Hash: hash, BrowserHash: "b", Issuer: issuer, RedirectURI: "https://kith.example/cb", Nonce: "nonce", Verifier: "verifier", ReturnTo: "/settings/mcp",
	}
	if err := signin.CreateProviderAttempt(t.Context(), s, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// answered stores an attempt of the browser "b" that waits for the password.
func answered(t *testing.T, s *db.DB, hash, subject, username string) *signin.Attempt {
	t.Helper()
	a := &signin.Attempt{Hash: hash, BrowserHash: "b", Issuer: issuer, Subject: subject, Email: username + "@people.example"}
	if err := signin.CreateProviderAttempt(t.Context(), s, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// linked links an identity to a member.
func linked(t *testing.T, s *db.DB, owner tenant.ID, subject string) {
	t.Helper()
	hash := "link-" + subject
	answered(t, s, hash, subject, "x")
	if err := signin.LinkIdentity(t.Context(), s, hash, "b", account.Access{Owner: owner, Epoch: dbtest.Epoch(t, s, owner)}); err != nil {
		t.Fatal(err)
	}
}

func TestProviderAttempts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		first, second := wentAway(t, s, "first"), answered(t, s, "second", "sub", "maria")
		for name, c := range map[string]struct{ hash, browser string }{
			"another browser": {"first", "c"}, "no browser": {"first", ""}, "unknown": {"x", "b"}, "one that waits for the password": {"second", "b"},
		} {
			if a, err := signin.UseProviderAttempt(t.Context(), s, c.hash, c.browser); !fault.Is(err, fault.NotFound) || a != nil {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		}
		for name, c := range map[string]struct{ hash, browser string }{
			"another browser": {"second", "c"}, "unknown": {"x", "b"}, "one that waits for the provider": {"first", "b"},
		} {
			if a, err := signin.GetProviderAttempt(t.Context(), s, c.hash, c.browser); !fault.Is(err, fault.NotFound) || a != nil {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
			if err := signin.LinkIdentity(t.Context(), s, c.hash, c.browser, account.Access{Owner: "mem_x"}); !fault.Is(err, fault.NotFound) {
				t.Errorf("link %s: %v", name, err)
			}
		}
		for range 2 {
			got, err := signin.GetProviderAttempt(t.Context(), s, "second", "b")
			if diff := cmp.Diff(second, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		got, err := signin.UseProviderAttempt(t.Context(), s, "first", "b")
		if diff := cmp.Diff(first, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if _, err := signin.UseProviderAttempt(t.Context(), s, "first", "b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestProviderAttemptsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := dbtest.Open(t, url, func() time.Time { return now })
		maria := dbtest.Member(t, s, "maria")
		wentAway(t, s, "asked")
		answered(t, s, "answered", "sub", "maria")
		now = now.Add(10 * time.Minute)
		if _, err := signin.UseProviderAttempt(t.Context(), s, "asked", "b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("asked: %v", err)
		}
		if _, err := signin.GetProviderAttempt(t.Context(), s, "answered", "b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("answered: %v", err)
		}
		if err := signin.LinkIdentity(t.Context(), s, "answered", "b", account.Access{Owner: maria}); !fault.Is(err, fault.NotFound) {
			t.Errorf("link: %v", err)
		}
	})
}

// Of several concurrent answers to one attempt, one is accepted.
func TestProviderAttemptIsUsedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		wentAway(t, s, "asked")
		oneWins(t, together(20, func(int) error {
			_, err := signin.UseProviderAttempt(t.Context(), s, "asked", "b")
			return err
		}), fault.NotFound)
	})
}

func TestLinkIdentity(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		maria, other, suspended, demo := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other"), dbtest.Member(t, s, "suspended"), dbtest.Member(t, s, "demo-one")
		suspend(t, url, suspended)
		readOnly(t, url, demo)
		linked(t, s, maria, "m")
		for name, c := range map[string]struct {
			subject string
			owner   tenant.ID
			code    fault.Code
		}{
			"again":                  {"m", maria, ""},
			"another's identity":     {"m", other, fault.Conflict},
			"another identity":       {"m2", maria, fault.Conflict},
			"a suspended member":     {"s", suspended, fault.NotFound},
			"a member of the demo":   {"d", demo, fault.NotFound},
			"nobody":                 {"n", "mem_x", fault.NotFound},
			"another case's subject": {"M", other, ""},
		} {
			answered(t, s, name, c.subject, "x")
			if err := signin.LinkIdentity(t.Context(), s, name, "b", account.Access{Owner: c.owner}); c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := signin.LinkIdentity(t.Context(), s, "again", "b", account.Access{Owner: maria}); !fault.Is(err, fault.NotFound) {
			t.Errorf("an attempt for the second time: %v", err)
		}
		links, err := signin.ListIdentities(t.Context(), s, maria)
		if err != nil || len(links) != 1 || links[0].Subject != "m" || links[0].Issuer != issuer || links[0].MemberID != maria || links[0].LastUsedAt.IsZero() {
			t.Errorf("linked: %+v, %v", links, err)
		}
	})
}

// With concurrent links, an identity has one member, and a member one identity.
func TestLinkIdentityAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		same, one := dbtest.Member(t, s, "same"), dbtest.Member(t, s, "one")
		var members []tenant.ID
		for n := range 10 {
			answered(t, s, fmt.Sprint("same-", n), "same", "same")
			answered(t, s, fmt.Sprint("many-", n), fmt.Sprint("one-", n), "one")
			answered(t, s, fmt.Sprint("shared-", n), "shared", "x")
			members = append(members, dbtest.Member(t, s, fmt.Sprint("member-", n)))
		}
		for n, err := range together(10, func(n int) error {
			return signin.LinkIdentity(t.Context(), s, fmt.Sprint("same-", n), "b", account.Access{Owner: same})
		}) {
			if err != nil {
				t.Errorf("tab %d: %v", n, err)
			}
		}
		oneWins(t, together(10, func(n int) error {
			return signin.LinkIdentity(t.Context(), s, fmt.Sprint("many-", n), "b", account.Access{Owner: one})
		}), fault.Conflict)
		oneWins(t, together(10, func(n int) error {
			return signin.LinkIdentity(t.Context(), s, fmt.Sprint("shared-", n), "b", account.Access{Owner: members[n]})
		}), fault.Conflict)
	})
}

func TestUseIdentity(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		s := dbtest.Open(t, url, func() time.Time { return now })
		maria, suspended, demo := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "suspended"), dbtest.Member(t, s, "demo-one")
		linked(t, s, maria, "m")
		linked(t, s, suspended, "s")
		linked(t, s, demo, "d")
		suspend(t, url, suspended)
		readOnly(t, url, demo)
		begun := now
		now = now.Add(time.Hour)
		link, err := signin.UseIdentity(t.Context(), s, issuer, "m")
		if err != nil || link.MemberID != maria || !link.CreatedAt.Equal(begun) || !link.LastUsedAt.Equal(now) {
			t.Errorf("got %+v, %v", link, err)
		}
		for name, c := range map[string]struct{ issuer, subject string }{
			"a suspended member": {issuer, "s"}, "a member of the demo": {issuer, "d"}, "another subject": {issuer, "M"}, "no subject": {issuer, ""},
			"another issuer": {issuer + "/", "m"},
		} {
			if link, err := signin.UseIdentity(t.Context(), s, c.issuer, c.subject); !fault.Is(err, fault.NotFound) || link != nil {
				t.Errorf("%s: %+v, %v", name, link, err)
			}
		}
		if err := signin.DeleteIdentities(t.Context(), s, maria); err != nil {
			t.Fatal(err)
		}
		if _, err := signin.UseIdentity(t.Context(), s, issuer, "m"); !fault.Is(err, fault.NotFound) {
			t.Errorf("unlinked: %v", err)
		}
		if links, err := signin.ListIdentities(t.Context(), s, suspended); err != nil || len(links) != 1 {
			t.Errorf("another's link is gone: %v, %v", links, err)
		}
	})
}
