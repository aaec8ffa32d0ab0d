package integration_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// listReads returns what agents of a member read, as text.
func listReads(t *testing.T, s *db.DB, owner tenant.ID) string {
	t.Helper()
	rows, err := billing.ListReads(t.Context(), s.Tenant(owner, true), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, r := range rows {
		text += fmt.Sprintf("%s %s (%s) %s %d; ", r.Day, r.CredentialID, r.CredentialName, r.Tool, r.Reads)
	}
	return text
}

// Charged reads are counted by day, credential and tool, under the latest name; what the
// credits did not cover is not. Counts end after 90 days, and with the account.
func TestReadsAreCounted(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2026, 11, 23, 23, 59, 0, 0, time.UTC)
		s := dbtest.Open(t, url, func() time.Time { return now })
		ana, bo := dbtest.Member(t, s, "ana"), dbtest.Member(t, s, "bo")
		read := func(owner tenant.ID, credential, name, tool string, price int) billing.Charge {
			return billing.Charge{Tenant: owner, Tool: tool, Price: price, CredentialID: credential, CredentialName: name}
		}
		charge := func(charges ...billing.Charge) {
			chargeReads(t, s, charges...)
		}
		charge(read(ana, "grt_1", "Claude", "b", 1), read(bo, "grt_2", "Theirs", "b", 1), read(ana, "grt_1", "Claude", "a", 1), read(ana, "grt_1", "Claude", "b", 1), read(ana, "", "", "b", 1))
		charge(read(ana, "grt_1", "Claude 2", "b", 1), read(ana, "grt_1", "Claude 2", "c", 100_000), read("mem_gone", "grt_3", "x", "a", 1))
		if got, want := listReads(t, s, ana), "2026-11-23 grt_1 (Claude) a 1; 2026-11-23 grt_1 (Claude 2) b 3; "; got != want {
			t.Errorf("got %q, not %q", got, want)
		}
		if got, want := listReads(t, s, bo), "2026-11-23 grt_2 (Theirs) b 1; "; got != want {
			t.Errorf("got %q, not %q", got, want)
		}
		now = now.Add(2 * time.Minute)
		charge(read(bo, "grt_2", "Theirs", "b", 1))
		if got, want := listReads(t, s, bo), "2026-11-24 grt_2 (Theirs) b 1; 2026-11-23 grt_2 (Theirs) b 1; "; got != want {
			t.Errorf("got %q, not %q", got, want)
		}
		now = now.AddDate(0, 0, 88)
		if r, err := retention.Sweep(t.Context(), s, now); err != nil || r.Reads != 0 || listReads(t, s, ana) == "" {
			t.Errorf("on the 90th day: %+v, %v", r, err)
		}
		now = now.AddDate(0, 0, 1)
		if got := listReads(t, s, ana); got != "" {
			t.Errorf("after 90 days, before the sweep: %q", got)
		}
		if r, err := retention.Sweep(t.Context(), s, now); err != nil || r.Reads != 3 {
			t.Errorf("after 90 days: %+v, %v", r, err)
		}
		if err := account.DeleteMember(t.Context(), s, bo); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := dbtest.OpenSQL(t, url).QueryRow("SELECT count(*) FROM agent_reads").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d counts are left of a deleted account: %v", left, err)
		}
	})
}

// Reads that are charged by several processes at once are all counted.
func TestReadsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
		processes := []*db.DB{dbtest.Open(t, url, func() time.Time { return at }), dbtest.Open(t, url, func() time.Time { return at })}
		ana, bo := dbtest.Member(t, processes[0], "ana"), dbtest.Member(t, processes[0], "bo")
		var all sync.WaitGroup
		for n := range 20 {
			all.Go(func() {
				var group []billing.Charge
				for i := range 4 {
					group = append(group, billing.Charge{Tenant: []tenant.ID{ana, bo}[(n+i)%2], Tool: fmt.Sprint("tool", (n+i)/2%2), Price: 1, CredentialID: "grt_1", CredentialName: "Claude"})
				}
				chargeReads(t, processes[n%2], group...)
			})
		}
		all.Wait()
		for _, owner := range []tenant.ID{ana, bo} {
			if got, want := listReads(t, processes[0], owner), "2026-11-23 grt_1 (Claude) tool0 20; 2026-11-23 grt_1 (Claude) tool1 20; "; got != want {
				t.Errorf("got %q, not %q", got, want)
			}
		}
	})
}
