package billing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// account is a member with an allowance, in a database that a test can break.
type account struct {
	*testing.T

	url     string
	store   *db.DB
	ledger  *billing.Ledger
	owner   tenant.ID
	breaker dbtest.Breaker
	now     atomic.Pointer[time.Time]
}

func eachAccount(t *testing.T, allowance int, test func(a *account)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) {
		a := &account{T: t, url: url}
		a.setTime(time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC))
		a.store = dbtest.OpenBreakable(t, url, func() time.Time { return *a.now.Load() }, a.breaker.Fault)
		a.owner = dbtest.Member(t, a.store, "maria")
		a.ledger = a.newLedger(allowance)
		test(a)
	})
}

// newLedger is the ledger of another process.
func (a *account) newLedger(allowance int) *billing.Ledger {
	return billing.NewLedger(billing.LedgerConfig{DB: a.store, Plans: billing.Plans{"free": allowance}, Logger: slog.New(slog.DiscardHandler)})
}

func (a *account) setTime(at time.Time) { a.now.Store(&at) }

func (a *account) read(l *billing.Ledger, tool string, price int) (billing.Receipt, error) {
	return l.ChargeRead(a.Context(), billing.Charge{Tenant: a.owner, Tool: tool, Price: price, CredentialID: "pat_1", CredentialName: "laptop"})
}

func (a *account) mustRead(tool string, price int) billing.Receipt {
	a.Helper()
	r, err := a.read(a.ledger, tool, price)
	if err != nil {
		a.Fatal(err)
	}
	return r
}

// write is a transaction of the member that costs a price, and then fails with an error unless it is nil.
func (a *account) write(l *billing.Ledger, price int, fails error) error {
	month, err := l.OpenMonth(a.Context(), a.owner)
	if err != nil {
		return err
	}
	return a.store.Tenant(a.owner, false).Write(a.Context(), db.Actor{Tool: "add_note"}, func(ctx context.Context, tx *db.Tx) error {
		if _, err := l.ChargeTx(ctx, tx, month, price); err != nil {
			return err
		}
		return fails
	})
}

func (a *account) flush() {
	a.Helper()
	if err := a.ledger.Flush(a.Context()); err != nil {
		a.Fatal(err)
	}
}

// stored is the balance of a month and the sum of its entries; -1 without a balance.
func (a *account) stored(period string) (balance, sum int) {
	a.Helper()
	query := fmt.Sprintf(`SELECT coalesce(max(balance), -1), (SELECT coalesce(sum(delta), 0) FROM credit_entries WHERE period = '%[1]s')
FROM credit_balances WHERE period = '%[1]s'`, period)
	if err := dbtest.OpenSQL(a, a.url).QueryRow(query).Scan(&balance, &sum); err != nil {
		a.Fatal(err)
	}
	return balance, sum
}

func (a *account) wantStored(period string, want int) {
	a.Helper()
	if balance, sum := a.stored(period); balance != want || sum != max(want, 0) {
		a.Errorf("%s: %d are left, the entries add up to %d, want %d", period, balance, sum, want)
	}
}

func (a *account) wantLeft(want int) {
	a.Helper()
	if b, err := a.ledger.GetCredits(a.Context(), a.owner); err != nil || b.Remaining != want {
		a.Errorf("%d credits are left, want %d: %v", b.Remaining, want, err)
	}
}

// Charges of reads are in memory until Flush writes them, with one entry for each tool.
func TestReadsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	eachAccount(t, 100, func(a *account) {
		for i := range 10 {
			if r := a.mustRead("search_connections", 1); r.Charged != 1 || r.Remaining != 99-i {
				a.Fatalf("read %d: %+v", i, r)
			}
		}
		a.mustRead("get_insights", 5)
		a.wantStored("2026-11", -1)
		a.wantLeft(85)
		a.flush()
		a.wantStored("2026-11", 85)
		a.wantLeft(85)
		type row struct {
			tool                  string
			delta, calls, balance int
		}
		var got []row
		rows, err := dbtest.OpenSQL(a, a.url).Query("SELECT tool, delta, calls, balance_after FROM credit_entries WHERE reason = 'calls' ORDER BY balance_after DESC")
		if err != nil {
			a.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.tool, &r.delta, &r.calls, &r.balance); err != nil {
				a.Fatal(err)
			}
			got = append(got, r)
		}
		want := []row{{"search_connections", -10, 10, 90}, {"get_insights", -5, 1, 85}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" || rows.Err() != nil {
			a.Errorf("the entries: %s, %v", diff, rows.Err())
		}
		reads, err := billing.ListReads(a.Context(), a.store.Tenant(a.owner, true), *a.now.Load())
		if err != nil || len(reads) != 2 || reads[0].Reads+reads[1].Reads != 11 {
			a.Errorf("the counts: %+v, %v", reads, err)
		}
	})
}

// Nobody has to call Flush: a charge is written within about a second.
func TestReadsAreWrittenSoon(t *testing.T) {
	t.Parallel()
	eachAccount(t, 10, func(a *account) {
		a.mustRead("search_connections", 1)
		deadline := time.Now().Add(20 * time.Second)
		for balance := -1; balance != 9; balance, _ = a.stored("2026-11") {
			if time.Now().After(deadline) {
				a.Fatal("the charge is not written")
			}
		}
	})
}

// Reads and writes at once spend the allowance exactly, whatever fails.
func TestReadsAndWritesSpendTheAllowance(t *testing.T) {
	t.Parallel()
	eachAccount(t, 100, func(a *account) {
		var paid atomic.Int64
		var wg sync.WaitGroup
		for i := range 240 {
			wg.Go(func() {
				var err error
				switch i % 4 {
				case 0:
					err = a.write(a.ledger, 1, nil)
				case 1:
					if err := a.write(a.ledger, 1, errFails); !errors.Is(err, errFails) && !fault.Is(err, fault.Exhausted) {
						a.Errorf("a write that fails: %v", err)
					}
					return
				case 2:
					err = a.ledger.Flush(a.Context())
					if _, readErr := a.read(a.ledger, "search_connections", 1); readErr != nil {
						err = readErr
					}
				default:
					_, err = a.read(a.ledger, "search_connections", 1)
				}
				if err == nil {
					paid.Add(1)
				} else if !fault.Is(err, fault.Exhausted) {
					a.Error(err)
				}
			})
		}
		wg.Wait()
		a.flush()
		if paid.Load() != 100 {
			a.Errorf("%d calls were paid for", paid.Load())
		}
		a.wantStored("2026-11", 0)
	})
}

var errFails = errors.New("the write fails")

// A write takes what is in memory with it; one that fails leaves it there.
func TestWriteTakesReadsAlong(t *testing.T) {
	t.Parallel()
	eachAccount(t, 100, func(a *account) {
		a.mustRead("search_connections", 3)
		if err := a.write(a.ledger, 2, errFails); !errors.Is(err, errFails) {
			a.Fatal(err)
		}
		a.wantStored("2026-11", 100) // the month was opened
		a.wantLeft(97)
		if err := a.write(a.ledger, 2, nil); err != nil {
			a.Fatal(err)
		}
		a.wantStored("2026-11", 95)
		a.flush()
		a.wantStored("2026-11", 95)
		if err := a.write(a.ledger, 96, nil); !fault.Is(err, fault.Exhausted) {
			a.Errorf("more than is left: %v", err)
		}
		a.mustRead("search_connections", 95)
		if err := a.write(a.ledger, 1, nil); !fault.Is(err, fault.Exhausted) {
			a.Errorf("what a read spent already: %v", err)
		}
		a.wantLeft(0)
	})
}

// A transaction that the database aborts, or that ends in a panic, lets the member's other calls go on, and leaves what was
// in memory there.
func TestWriteEndsOnItsWay(t *testing.T) {
	t.Parallel()
	eachAccount(t, 100, func(a *account) {
		month, err := a.ledger.OpenMonth(a.Context(), a.owner)
		if err != nil {
			a.Fatal(err)
		}
		write := func(end func(try int) error) error {
			try := 0
			return a.store.Tenant(a.owner, false).Write(a.Context(), db.Actor{Tool: "add_note"}, func(ctx context.Context, tx *db.Tx) error {
				if _, err := a.ledger.ChargeTx(ctx, tx, month, 2); err != nil {
					return err
				}
				try++
				return end(try)
			})
		}
		a.mustRead("search_connections", 3)
		var others sync.WaitGroup
		err = write(func(try int) error {
			if try > 1 {
				return nil
			}
			for range 4 { // they begin when this transaction ends, before it is repeated
				others.Go(func() {
					if err := a.write(a.ledger, 1, nil); err != nil {
						a.Error(err)
					}
				})
			}
			return &pgconn.PgError{Code: "40001"}
		})
		others.Wait()
		if err != nil {
			a.Errorf("the transaction that is repeated: %v", err)
		}
		a.wantStored("2026-11", 91)
		a.mustRead("search_connections", 3)
		func() {
			defer func() {
				if recover() == nil {
					a.Error("no panic")
				}
			}()
			_ = write(func(int) error { panic("the handler fails") })
		}()
		a.wantLeft(88)
		if err := a.write(a.ledger, 1, nil); err != nil {
			a.Error(err)
		}
		a.wantStored("2026-11", 87)
	})
}

// What another process has spent meanwhile is not charged twice, and the balance is never negative.
func TestReadsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	eachAccount(t, 10, func(a *account) {
		other := a.newLedger(10)
		a.mustRead("search_connections", 8)
		if err := a.write(other, 7, nil); err != nil {
			a.Fatal(err)
		}
		a.flush()
		a.wantStored("2026-11", 0)
		if _, err := a.read(a.ledger, "search_connections", 1); !fault.Is(err, fault.Exhausted) {
			a.Errorf("afterwards: %v", err)
		}
		if err := other.SetCredits(a.Context(), "maria", new(30), *a.now.Load()); err != nil { // 15 are spent
			a.Fatal(err)
		}
		if err := a.write(a.ledger, 14, nil); err != nil {
			a.Errorf("a write after there were credits again: %v", err)
		}
		if _, err := a.read(a.ledger, "search_connections", 1); err != nil {
			a.Errorf("a read after there were credits again: %v", err)
		}
	})
}

// A read of the last minute of a month is charged to that month, though it is written in the next.
func TestReadsAtTheEndOfAMonth(t *testing.T) {
	t.Parallel()
	eachAccount(t, 10, func(a *account) {
		a.mustRead("search_connections", 4)
		a.setTime(time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC))
		if r := a.mustRead("search_connections", 1); r.Remaining != 9 {
			a.Errorf("the first read of the month: %+v", r)
		}
		if err := a.write(a.ledger, 2, nil); err != nil {
			a.Fatal(err)
		}
		a.wantStored("2026-11", -1)
		a.wantStored("2026-12", 7)
		a.flush()
		a.wantStored("2026-11", 6)
		a.wantStored("2026-12", 7)
	})
}

// While the database cannot be written, charges stay in memory.
func TestReadsWithoutADatabase(t *testing.T) {
	t.Parallel()
	eachAccount(t, 10, func(a *account) {
		a.mustRead("search_connections", 1)
		a.breaker.Set(func(string) error { return sql.ErrConnDone })
		if err := a.ledger.Flush(a.Context()); !fault.Is(err, fault.Unavailable) {
			a.Errorf("Flush: %v", err)
		}
		if _, err := a.read(a.ledger, "search_connections", 1); !fault.Is(err, fault.Unavailable) {
			a.Errorf("a read whose balance cannot be read: %v", err)
		}
		a.breaker.Set(nil)
		a.mustRead("search_connections", 1)
		a.flush()
		a.wantStored("2026-11", 8)
	})
}

// The charges of a member who is gone keep nobody else's from being written.
func TestReadsOfADeletedMember(t *testing.T) {
	t.Parallel()
	eachAccount(t, 10, func(a *account) {
		gone := dbtest.Member(a, a.store, "gone")
		if _, err := a.ledger.ChargeRead(a.Context(), billing.Charge{Tenant: gone, Tool: "search_connections", Price: 1}); err != nil {
			a.Fatal(err)
		}
		if _, err := dbtest.OpenSQL(a, a.url).Exec("DELETE FROM members WHERE username = 'gone'"); err != nil {
			a.Fatal(err)
		}
		a.mustRead("search_connections", 1)
		a.flush()
		a.wantStored("2026-11", 9)
	})
}
