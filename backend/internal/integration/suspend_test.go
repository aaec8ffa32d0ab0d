package integration_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// A suspended member has no session, no token, no grant and no page; the tokens and
// grants work again afterwards. Other members are not affected.
func TestSuspendMember(t *testing.T) {
	t.Parallel()
	eachFlow(t, func(t *testing.T, f flow) {
		f.redeem(t, f.code(t, "code"), "0")
		bearer := dbtest.Token(t, f.s, f.owner, "connections")
		other := dbtest.Member(t, f.s, "other")
		others := dbtest.Token(t, f.s, other, "connections")
		p := &account.Profile{MemberID: f.owner, Name: "Shown", Visibility: account.Public, Listed: true}
		if err := account.UpdateProfile(t.Context(), f.s, p); err != nil {
			t.Fatal(err)
		}
		check := func(works bool) {
			t.Helper()
			for name, token := range map[string]string{"the token": bearer, "the agent": oauth.PrefixAccessToken + f.name + "0"} {
				_, err := oauth.Authenticate(t.Context(), f.s, token)
				if (err == nil) != works || !works && (!fault.Is(err, fault.Unauthenticated) || !strings.Contains(err.Error(), "suspended")) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if pages, err := account.GetPublicProfiles(t.Context(), f.s, []string{f.name}); err != nil || len(pages) == 1 != works {
				t.Errorf("the page: %v, %v", pages, err)
			}
			if listed, err := account.ListPublicProfiles(t.Context(), f.s, nil, account.Position{}, 10); err != nil || len(listed) == 1 != works {
				t.Errorf("the directory: %v, %v", listed, err)
			}
			if _, err := oauth.Authenticate(t.Context(), f.s, others); err != nil {
				t.Errorf("another member: %v", err)
			}
		}
		check(true)
		if owner, err := account.SuspendMember(t.Context(), f.s, f.name); err != nil || owner != f.owner {
			t.Fatal(owner, err)
		}
		check(false)
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a refresh: %v", err)
		}
		if _, err := account.GetLoginSession(t.Context(), f.s, f.session); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session: %v", err)
		}
		if _, err := account.SuspendMember(t.Context(), f.s, f.name); !fault.Is(err, fault.Conflict) {
			t.Errorf("twice: %v", err)
		}
		if owner, err := account.ResumeMember(t.Context(), f.s, f.name); err != nil || owner != f.owner {
			t.Fatal(owner, err)
		}
		check(true)
		if _, err := account.GetLoginSession(t.Context(), f.s, f.session); !fault.Is(err, fault.NotFound) {
			t.Errorf("the session of before came back: %v", err)
		}
		if _, err := account.ResumeMember(t.Context(), f.s, f.name); !fault.Is(err, fault.Conflict) {
			t.Errorf("resumed twice: %v", err)
		}
		for _, do := range []error{second(account.SuspendMember(t.Context(), f.s, "nobody")), second(account.ResumeMember(t.Context(), f.s, "nobody"))} {
			if !fault.Is(do, fault.NotFound) {
				t.Errorf("nobody: %v", do)
			}
		}
	})
}

// The running job of a suspended member stops before its next step, and waits with its work until
// the member is resumed; those of others run.
func TestSuspendStopsJobs(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Now().UTC().Truncate(time.Second))
		s := dbtest.Open(t, url, clock.Now)
		maria := dbtest.Member(t, s, "maria")
		startJob(t, s, maria, "kind")
		until := clock.Now().Add(time.Hour)
		running := claim(t, s, until, "kind")
		if err := takeStep(t, s, running, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := account.SuspendMember(t.Context(), s, "maria"); err != nil {
			t.Fatal(err)
		}
		if err := takeStep(t, s, running, 4); !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("a step after it: %v", err)
		}
		if err := dbtest.Queue(t, s).ExtendLease(t.Context(), lease(running), until); !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("the lease after it: %v", err)
		}
		clock.Advance(2 * time.Hour)
		if j := claim(t, s, until, "kind"); j != nil {
			t.Errorf("claimed %+v", j)
		}
		counts, err := dbtest.Queue(t, s).CountJobs(t.Context())
		if err != nil || len(counts) != 1 || counts[0].State != "scheduled" || counts[0].Waited != 0 {
			t.Errorf("counted %+v, %v", counts, err)
		}
		startJob(t, s, dbtest.Member(t, s, "other"), "kind")
		if j := claim(t, s, until, "kind"); j == nil || j.TenantID == maria {
			t.Errorf("of another member: %+v", j)
		}
		if _, err := account.ResumeMember(t.Context(), s, "maria"); err != nil {
			t.Fatal(err)
		}
		j := claim(t, s, clock.Now().Add(time.Hour), "kind")
		if j == nil || j.TenantID != maria || j.Done != 3 || !strings.Contains(j.Checkpoint, "3") {
			t.Fatalf("after it: %+v", j)
		}
		if err := takeStep(t, s, j, 4); err != nil {
			t.Errorf("a step after it: %v", err)
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
		bearer := dbtest.Token(t, f.s, f.owner, "connections")
		clients, err := oauth.ListClients(t.Context(), f.s)
		if err != nil || len(clients) != 1 || clients[0].ID != f.client || clients[0].Grants != 1 {
			t.Errorf("clients: %+v, %v", clients, err)
		}
		owners, err := oauth.RevokeClient(t.Context(), f.s, f.client)
		if err != nil || !slices.Equal(owners, []tenant.ID{f.owner}) {
			t.Fatal(owners, err)
		}
		if err := f.rotate(t, "0", "1"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a refresh: %v", err)
		}
		if _, err := oauth.RedeemCode(t.Context(), f.s, waiting, f.pair("2")); !fault.Is(err, fault.Conflict) {
			t.Errorf("a code that waited: %v", err)
		}
		if _, err := oauth.Authenticate(t.Context(), f.s, bearer); err != nil {
			t.Errorf("a personal token: %v", err)
		}
		if clients, err := oauth.ListClients(t.Context(), f.s); err != nil || len(clients) != 0 {
			t.Errorf("clients: %+v, %v", clients, err)
		}
		if _, err := oauth.RevokeClient(t.Context(), f.s, "cli_nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("no such client: %v", err)
		}
	})
}

func TestSecurityEventsAreSwept(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC()
		s := dbtest.Open(t, url, func() time.Time { return now })
		maria := dbtest.Member(t, s, "maria")
		event(t, s, maria)
		event(t, s, "")
		if events, err := account.ListSecurityEvents(t.Context(), s, maria, 0, 10); err != nil || len(events) != 1 || events[0].Kind != account.SignedIn {
			t.Errorf("got %+v, %v", events, err)
		}
		if r, err := retention.Sweep(t.Context(), s, now.Add(account.KeepSecurityEvents-time.Second)); err != nil || r.SecurityEvents != 0 {
			t.Errorf("early: %+v, %v", r, err)
		}
		if r, err := retention.Sweep(t.Context(), s, now.Add(account.KeepSecurityEvents)); err != nil || r.SecurityEvents != 2 {
			t.Errorf("after a year: %+v, %v", r, err)
		}
	})
}

func event(t *testing.T, s *db.DB, owner tenant.ID) {
	t.Helper()
	if err := account.CreateSecurityEvent(t.Context(), s, &account.SecurityEvent{TenantID: owner, Kind: account.SignedIn, Subject: account.SubjectOf(owner)}); err != nil {
		t.Fatal(err)
	}
}
