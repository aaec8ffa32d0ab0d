package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// books are what the tables say of a member's credits: the entries of calls, how many
// lines wait in the journal, and what entries and lines sum up to, beside the balance.
type books struct {
	entries      []string
	lines        int
	sum, balance int
}

func readBooks(t *testing.T, db *sql.DB, owner tenant.ID) books {
	t.Helper()
	var b books
	err := db.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT (SELECT count(*) FROM credit_journal WHERE tenant_id = m.id),
(SELECT coalesce(sum(delta), 0) FROM credit_ledger WHERE tenant_id = m.id),
(SELECT coalesce(sum(balance), 0) FROM credit_balances WHERE tenant_id = m.id) FROM (SELECT '%s' AS id) m`, owner)).Scan(&b.lines, &b.sum, &b.balance)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf("SELECT tool, calls, delta, balance_after FROM credit_entries WHERE tenant_id = '%s' AND reason = 'calls' ORDER BY id", owner))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var tool string
		var calls, delta, after int
		if err := rows.Scan(&tool, &calls, &delta, &after); err != nil {
			t.Fatal(err)
		}
		b.entries = append(b.entries, fmt.Sprint(tool, " ", calls, " ", delta, " ", after))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

// Lines of the journal become an entry for each tool, once, and nothing else changes.
func TestPostCharges(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		s, db := storetest.Open(t, url, time.Now), storetest.OpenSQL(t, url)
		ana, bo := storetest.Member(t, s, "ana"), storetest.Member(t, s, "bo")
		for range 3 {
			charge(t, s, credit.Charge{Tenant: ana, Tool: "a", Price: 2}, credit.Charge{Tenant: ana, Tool: "b", Price: 5}, credit.Charge{Tenant: bo, Tool: "a", Price: 1})
		}
		post := func() {
			t.Helper()
			if err := s.PostCharges(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := func(owner tenant.ID, want books) {
			t.Helper()
			if diff := cmp.Diff(want, readBooks(t, db, owner), cmp.AllowUnexported(books{})); diff != "" {
				t.Error(diff)
			}
		}
		want(ana, books{lines: 6, sum: 979, balance: 979})
		post()
		want(ana, books{entries: []string{"a 3 -6 979", "b 3 -15 979"}, sum: 979, balance: 979})
		want(bo, books{entries: []string{"a 3 -3 997"}, sum: 997, balance: 997})
		post()
		charge(t, s, credit.Charge{Tenant: ana, Tool: "a", Price: 9})
		want(ana, books{entries: []string{"a 3 -6 979", "b 3 -15 979"}, lines: 1, sum: 970, balance: 970})
		post()
		want(ana, books{entries: []string{"a 3 -6 979", "b 3 -15 979", "a 1 -9 970"}, sum: 970, balance: 970})
	})
}

// What a process leaves behind is posted by the next. Lines of a member who is gone
// are not, and do not stay.
func TestPostWhatIsLeft(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		gone, db := storetest.Open(t, url, time.Now), storetest.OpenSQL(t, url)
		ana, bo := storetest.Member(t, gone, "ana"), storetest.Member(t, gone, "bo")
		charge(t, gone, credit.Charge{Tenant: ana, Tool: "a", Price: 1}, credit.Charge{Tenant: bo, Tool: "a", Price: 1})
		if err := gone.DeleteMember(t.Context(), bo); err != nil {
			t.Fatal(err)
		}
		if b := readBooks(t, db, bo); b.lines != 0 || b.balance != 0 {
			t.Errorf("after a member was deleted: %+v", b)
		}
		exec(t, db, "INSERT INTO credit_journal VALUES ('"+string(bo)+"', '2026-11', 'a', -1, 1, 998, '2026-11-22 12:00:00')")
		next := storetest.Open(t, url, time.Now)
		if err := next.PostCharges(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b := readBooks(t, db, ana); b.lines != 0 || len(b.entries) != 1 || b.sum != 999 {
			t.Errorf("the other member: %+v", b)
		}
		if b := readBooks(t, db, bo); b.lines != 0 || len(b.entries) != 0 {
			t.Errorf("the one who is gone: %+v", b)
		}
	})
}

// Processes post at once while others charge reads and writes: every line once, and
// at no time does the ledger say anything else than the balance.
func TestPostWhileCharging(t *testing.T) {
	t.Parallel()
	storetest.Databases(t, func(t *testing.T, url string) {
		processes := []*store.Store{storetest.Open(t, url, time.Now), storetest.Open(t, url, time.Now)}
		db := storetest.OpenSQL(t, url)
		owners := make([]tenant.ID, 4)
		for i := range owners {
			owners[i] = storetest.Member(t, processes[0], fmt.Sprintf("member-%d", i))
		}
		const charges = 25
		var chargers, posters sync.WaitGroup
		stop := make(chan struct{})
		for n, s := range processes {
			for range 2 {
				chargers.Go(func() {
					for i := range charges {
						charge(t, s, credit.Charge{Tenant: owners[(i+n)%4], Tool: "a", Price: 1}, credit.Charge{Tenant: owners[(i+1)%4], Tool: "b", Price: 2})
					}
				})
			}
			chargers.Go(func() {
				for i := range charges {
					writeFor(t, s.Tenant(owners[(i+2*n)%4], false), 3)
				}
			})
			posters.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := s.PostCharges(t.Context()); err != nil {
						t.Error(err)
					}
					var sum, balance int
					if err := db.QueryRowContext(t.Context(), `SELECT (SELECT coalesce(sum(delta), 0) FROM credit_ledger),
(SELECT coalesce(sum(balance), 0) FROM credit_balances)`).Scan(&sum, &balance); err != nil {
						t.Error(err)
					}
					if sum != balance {
						t.Errorf("the ledger says %d, the balances %d", sum, balance)
					}
				}
			})
		}
		chargers.Wait()
		close(stop)
		posters.Wait()
		for _, s := range processes {
			if err := s.PostCharges(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		spent := 0
		for _, owner := range owners {
			b := readBooks(t, db, owner)
			if b.lines != 0 || b.sum != b.balance {
				t.Errorf("%+v", b)
			}
			spent += 1000 - b.balance
		}
		if want := 4*charges*3 + 2*charges*3; spent != want {
			t.Errorf("spent %d, want %d", spent, want)
		}
	})
}

func charge(t *testing.T, s *store.Store, charges ...credit.Charge) {
	t.Helper()
	outcomes, err := s.Charge(t.Context(), charges)
	if err != nil {
		t.Error(err)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			t.Error(o.Err)
		}
	}
}

// writeFor makes a write that does nothing but pay.
func writeFor(t *testing.T, data *store.Tenant, price int) {
	t.Helper()
	month, err := data.OpenMonth(t.Context())
	if err != nil {
		t.Error(err)
	}
	if err := data.Write(t.Context(), store.Actor{Tool: "write"}, func(ctx context.Context, u *store.Unit) error {
		_, err := u.Charge(ctx, month, price)
		return err
	}); err != nil {
		t.Error(err)
	}
}
