package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// A suspended member has no session, no token, no grant and no page; the tokens and
// grants work again afterwards. Nobody else notices.
func TestSuspendMember(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		bearer := storetest.Token(t, f.s, f.owner, "connections")
		other := storetest.Member(t, f.s, "other")
		others := storetest.Token(t, f.s, other, "connections")
		p := &profile.Profile{MemberID: f.owner, Name: "Shown", Visibility: profile.Public, Listed: true}
		if err := f.s.UpdateProfile(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		check := func(works bool) {
			t.Helper()
			if _, err := f.s.Authenticate(t.Context(), bearer); (err == nil) != works || !works && !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("the token: %v", err)
			}
			if pages, err := f.s.GetPublicProfiles(t.Context(), []string{f.name}); err != nil || len(pages) == 1 != works {
				t.Errorf("the page: %v, %v", pages, err)
			}
			if listed, err := f.s.ListPublicProfiles(t.Context(), nil, profile.Position{}, 10); err != nil || len(listed) == 1 != works {
				t.Errorf("the directory: %v, %v", listed, err)
			}
			if _, err := f.s.Authenticate(t.Context(), others); err != nil {
				t.Errorf("another member: %v", err)
			}
		}
		check(true)
		if owner, err := f.s.SuspendMember(t.Context(), f.name); err != nil || owner != f.owner {
			t.Fatal(owner, err)
		}
		check(false)
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a refresh: %v", err)
		}
		if _, err := f.s.GetLoginSession(t.Context(), f.session); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session: %v", err)
		}
		if _, err := f.s.SuspendMember(t.Context(), f.name); !fault.Is(err, fault.Conflict) {
			t.Errorf("twice: %v", err)
		}
		if owner, err := f.s.ResumeMember(t.Context(), f.name); err != nil || owner != f.owner {
			t.Fatal(owner, err)
		}
		check(true)
		if _, err := f.s.GetLoginSession(t.Context(), f.session); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session of before came back: %v", err)
		}
		if _, err := f.s.ResumeMember(t.Context(), f.name); !fault.Is(err, fault.Conflict) {
			t.Errorf("resumed twice: %v", err)
		}
		for _, do := range []error{second(f.s.SuspendMember(t.Context(), "nobody")), second(f.s.ResumeMember(t.Context(), "nobody"))} {
			if !fault.Is(do, fault.NotFound) {
				t.Errorf("nobody: %v", do)
			}
		}
	})
}

func second(_ tenant.ID, err error) error { return err }

// Revoking a client ends its grants and codes, and those of no other.
func TestRevokeClient(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		waiting := f.code(t, "waiting")
		bearer := storetest.Token(t, f.s, f.owner, "connections")
		clients, err := f.s.ListClients(t.Context())
		if err != nil || len(clients) != 1 || clients[0].ID != f.client || clients[0].Grants != 1 {
			t.Errorf("clients: %+v, %v", clients, err)
		}
		owners, err := f.s.RevokeClient(t.Context(), f.client)
		if err != nil || !slices.Equal(owners, []tenant.ID{f.owner}) {
			t.Fatal(owners, err)
		}
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a refresh: %v", err)
		}
		if _, err := f.s.RedeemCode(t.Context(), waiting, f.pair("2")); !fault.Is(err, fault.Conflict) {
			t.Errorf("a code that waited: %v", err)
		}
		if _, err := f.s.Authenticate(t.Context(), bearer); err != nil {
			t.Errorf("a personal token: %v", err)
		}
		if clients, err := f.s.ListClients(t.Context()); err != nil || len(clients) != 0 {
			t.Errorf("clients: %+v, %v", clients, err)
		}
		if _, err := f.s.RevokeClient(t.Context(), "cli_nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("no such client: %v", err)
		}
	})
}

func TestSecurityEventsAreSwept(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC()
		s := storetest.Open(t, url, func() time.Time { return now })
		maria := storetest.Member(t, s, "maria")
		event(t, s, maria)
		event(t, s, "")
		if events, err := s.ListSecurityEvents(t.Context(), maria, 10); err != nil || len(events) != 1 || events[0].Kind != securityevent.SignedIn {
			t.Errorf("got %+v, %v", events, err)
		}
		if r, err := s.Sweep(t.Context(), now.Add(90*24*time.Hour-time.Second)); err != nil || r.SecurityEvents != 0 {
			t.Errorf("early: %+v, %v", r, err)
		}
		if r, err := s.Sweep(t.Context(), now.Add(90*24*time.Hour)); err != nil || r.SecurityEvents != 2 {
			t.Errorf("after 90 days: %+v, %v", r, err)
		}
	})
}

func event(t *testing.T, s *store.Store, owner tenant.ID) {
	t.Helper()
	if err := s.CreateSecurityEvent(t.Context(), &securityevent.Event{TenantID: owner, Kind: securityevent.SignedIn, Subject: "s"}); err != nil {
		t.Fatal(err)
	}
}
