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

// chargeReads charges reads in a process of their own, which then writes what it has in memory. Reads that the credits
// don't cover, and those of members who are gone, are left out.
func chargeReads(t *testing.T, s *db.DB, reads ...billing.Charge) {
	t.Helper()
	ledger := dbtest.Ledger(t, s)
	for _, read := range reads {
		if _, err := ledger.ChargeRead(t.Context(), read); err != nil && !fault.Is(err, fault.Exhausted) && !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	}
	if err := ledger.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

// Several processes that write the charges of the same members at once don't deadlock, and no credit is lost.
func TestFlushesAtOnce(t *testing.T) {
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
				chargeReads(t, processes[n%2], group...)
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
