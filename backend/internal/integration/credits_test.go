package integration_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// One group of many tenants, one of whom is gone and one of whom is short: each
// gets its own outcome, in its place.
func TestChargeGroup(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		ana, bo := dbtest.Member(t, s, "ana"), dbtest.Member(t, s, "bo")
		charges := []billing.Charge{
			{Tenant: ana, Tool: "a", Price: 400}, {Tenant: "mem_gone", Tool: "a", Price: 1}, {Tenant: bo, Tool: "a", Price: 1},
			{Tenant: ana, Tool: "b", Price: 400}, {Tenant: ana, Tool: "b", Price: 400}, {Tenant: ana, Tool: "a", Price: 200},
			{Tenant: bo, Tool: "a", Price: 1},
		}
		for round, want := range [][]int{{600, -1, 999, 200, -1, 0, 998}, {-1, -1, 997, -1, -1, -1, 996}} {
			outcomes, err := dbtest.Ledger(t, s).Charge(t.Context(), charges)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range outcomes {
				if (got.Err != nil) != (want[i] < 0) || got.Err == nil && got.Receipt.Remaining != want[i] {
					t.Errorf("round %d, charge %d: %+v", round, i, got)
				}
			}
			if !fault.Is(outcomes[1].Err, fault.NotFound) || !fault.Is(outcomes[4].Err, fault.Exhausted) {
				t.Errorf("%v, %v", outcomes[1].Err, outcomes[4].Err)
			}
		}
		for owner, want := range map[tenant.ID]int{ana: 0, bo: 996} {
			if b, err := dbtest.Ledger(t, s).GetCredits(t.Context(), owner); err != nil || b.Remaining != want || b.Allowance != 1000 {
				t.Errorf("%s: %+v, %v", owner, b, err)
			}
		}
	})
}

// Groups of several processes with the same tenants in different orders don't deadlock,
// and no credit is lost.
func TestChargeGroupsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		processes := []*db.DB{dbtest.Open(t, url, time.Now), dbtest.Open(t, url, time.Now)}
		owners := make([]tenant.ID, 5)
		for i := range owners {
			owners[i] = dbtest.Member(t, processes[0], fmt.Sprintf("member-%d", i))
		}
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				var group []billing.Charge
				for i := range owners {
					group = append(group, billing.Charge{Tenant: owners[(i+n)%len(owners)], Tool: "a", Price: 1})
				}
				outcomes, err := dbtest.Ledger(t, processes[n%2]).Charge(t.Context(), group)
				if err != nil {
					t.Error(err)
				}
				for _, o := range outcomes {
					if o.Err != nil {
						t.Error(o.Err)
					}
				}
			})
		}
		wg.Wait()
		for _, owner := range owners {
			if b, err := dbtest.Ledger(t, processes[0]).GetCredits(t.Context(), owner); err != nil || b.Remaining != 980 {
				t.Errorf("%+v, %v", b, err)
			}
		}
	})
}
