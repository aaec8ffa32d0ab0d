package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/provider"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const issuer = "https://login.example"

// wentAway keeps an attempt of the browser "b" that waits for the provider.
func wentAway(t *testing.T, s *store.Store, hash string) *provider.Attempt {
	t.Helper()
	a := &provider.Attempt{
		Hash: hash, BrowserHash: "b", Issuer: issuer, RedirectURI: "https://kith.example/cb", Nonce: "nonce", Verifier: "verifier", ReturnTo: "/settings/mcp",
	}
	if err := s.CreateProviderAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return a
}

// answered keeps an attempt of the browser "b" that waits for the password.
func answered(t *testing.T, s *store.Store, hash, subject, username string) *provider.Attempt {
	t.Helper()
	a := &provider.Attempt{Hash: hash, BrowserHash: "b", Issuer: issuer, Subject: subject, Email: username + "@people.example"}
	if err := s.CreateProviderAttempt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return a
}

// linked links an identity to a member.
func linked(t *testing.T, s *store.Store, owner tenant.ID, subject string) {
	t.Helper()
	hash := "link-" + subject
	answered(t, s, hash, subject, "x")
	if err := s.LinkIdentity(t.Context(), hash, "b", owner); err != nil {
		t.Fatal(err)
	}
}

func TestProviderAttempts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first, second := wentAway(t, s, "first"), answered(t, s, "second", "sub", "maria")
		for name, c := range map[string]struct{ hash, browser string }{
			"another browser": {"first", "c"}, "no browser": {"first", ""}, "unknown": {"x", "b"}, "one that waits for the password": {"second", "b"},
		} {
			if a, err := s.UseProviderAttempt(t.Context(), c.hash, c.browser); !fault.Is(err, fault.NotFound) || a != nil {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
		}
		for name, c := range map[string]struct{ hash, browser string }{
			"another browser": {"second", "c"}, "unknown": {"x", "b"}, "one that waits for the provider": {"first", "b"},
		} {
			if a, err := s.GetProviderAttempt(t.Context(), c.hash, c.browser); !fault.Is(err, fault.NotFound) || a != nil {
				t.Errorf("%s: %+v, %v", name, a, err)
			}
			if err := s.LinkIdentity(t.Context(), c.hash, c.browser, "mem_x"); !fault.Is(err, fault.NotFound) {
				t.Errorf("link %s: %v", name, err)
			}
		}
		for range 2 {
			got, err := s.GetProviderAttempt(t.Context(), "second", "b")
			if diff := cmp.Diff(second, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		got, err := s.UseProviderAttempt(t.Context(), "first", "b")
		if diff := cmp.Diff(first, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if _, err := s.UseProviderAttempt(t.Context(), "first", "b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestProviderAttemptsEnd(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := storetest.Open(t, url, func() time.Time { return now })
		maria := storetest.Member(t, s, "maria")
		wentAway(t, s, "asked")
		answered(t, s, "answered", "sub", "maria")
		now = now.Add(10 * time.Minute)
		if _, err := s.UseProviderAttempt(t.Context(), "asked", "b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("asked: %v", err)
		}
		if _, err := s.GetProviderAttempt(t.Context(), "answered", "b"); !fault.Is(err, fault.NotFound) {
			t.Errorf("answered: %v", err)
		}
		if err := s.LinkIdentity(t.Context(), "answered", "b", maria); !fault.Is(err, fault.NotFound) {
			t.Errorf("link: %v", err)
		}
	})
}

// Of the answers to one attempt that arrive at once, one counts.
func TestProviderAttemptIsUsedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		wentAway(t, s, "asked")
		oneWins(t, together(20, func(int) error {
			_, err := s.UseProviderAttempt(t.Context(), "asked", "b")
			return err
		}), fault.NotFound)
	})
}

func TestLinkIdentity(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, time.Now)
		maria, other, suspended, demo := storetest.Member(t, s, "maria"), storetest.Member(t, s, "other"), storetest.Member(t, s, "suspended"), storetest.Member(t, s, "demo-one")
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
			if err := s.LinkIdentity(t.Context(), name, "b", c.owner); c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.LinkIdentity(t.Context(), "again", "b", maria); !fault.Is(err, fault.NotFound) {
			t.Errorf("an attempt for the second time: %v", err)
		}
		links, err := s.ListIdentities(t.Context(), maria)
		if err != nil || len(links) != 1 || links[0].Subject != "m" || links[0].Issuer != issuer || links[0].MemberID != maria || links[0].LastUsedAt.IsZero() {
			t.Errorf("linked: %+v, %v", links, err)
		}
	})
}

// Who comes at once: an identity has one member, and a member one identity.
func TestLinkIdentityAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		same, one := storetest.Member(t, s, "same"), storetest.Member(t, s, "one")
		var members []tenant.ID
		for n := range 10 {
			answered(t, s, fmt.Sprint("same-", n), "same", "same")
			answered(t, s, fmt.Sprint("many-", n), fmt.Sprint("one-", n), "one")
			answered(t, s, fmt.Sprint("shared-", n), "shared", "x")
			members = append(members, storetest.Member(t, s, fmt.Sprint("member-", n)))
		}
		for n, err := range together(10, func(n int) error { return s.LinkIdentity(t.Context(), fmt.Sprint("same-", n), "b", same) }) {
			if err != nil {
				t.Errorf("tab %d: %v", n, err)
			}
		}
		oneWins(t, together(10, func(n int) error { return s.LinkIdentity(t.Context(), fmt.Sprint("many-", n), "b", one) }), fault.Conflict)
		oneWins(t, together(10, func(n int) error { return s.LinkIdentity(t.Context(), fmt.Sprint("shared-", n), "b", members[n]) }), fault.Conflict)
	})
}

func TestUseIdentity(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		s := storetest.Open(t, url, func() time.Time { return now })
		maria, suspended, demo := storetest.Member(t, s, "maria"), storetest.Member(t, s, "suspended"), storetest.Member(t, s, "demo-one")
		linked(t, s, maria, "m")
		linked(t, s, suspended, "s")
		linked(t, s, demo, "d")
		suspend(t, url, suspended)
		readOnly(t, url, demo)
		begun := now
		now = now.Add(time.Hour)
		link, err := s.UseIdentity(t.Context(), issuer, "m")
		if err != nil || link.MemberID != maria || !link.CreatedAt.Equal(begun) || !link.LastUsedAt.Equal(now) {
			t.Errorf("got %+v, %v", link, err)
		}
		for name, c := range map[string]struct{ issuer, subject string }{
			"a suspended member": {issuer, "s"}, "a member of the demo": {issuer, "d"}, "another subject": {issuer, "M"}, "no subject": {issuer, ""},
			"another issuer": {issuer + "/", "m"},
		} {
			if link, err := s.UseIdentity(t.Context(), c.issuer, c.subject); !fault.Is(err, fault.NotFound) || link != nil {
				t.Errorf("%s: %+v, %v", name, link, err)
			}
		}
		if err := s.DeleteIdentities(t.Context(), maria); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UseIdentity(t.Context(), issuer, "m"); !fault.Is(err, fault.NotFound) {
			t.Errorf("unlinked: %v", err)
		}
		if links, err := s.ListIdentities(t.Context(), suspended); err != nil || len(links) != 1 {
			t.Errorf("another's link is gone: %v, %v", links, err)
		}
	})
}
