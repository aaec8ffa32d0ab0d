package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// told records what a store's observers are called with.
type told struct {
	mu         sync.Mutex
	credits    []string
	statements map[string]int
}

func (o *told) credit(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.credits = append(o.credits, fmt.Sprintf(format, args...))
}

func (o *told) Charged(tool string, credits int)  { o.credit("%s charged %d", tool, credits) }
func (o *told) Refunded(tool string, credits int) { o.credit("%s refunded %d", tool, credits) }
func (o *told) Refused(tool string)               { o.credit("%s refused", tool) }

func (o *told) Observe(_ context.Context, sent db.Statement, outcome string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.statements[sent.Operation()+" "+outcome]++
}

// expect compares the credits that were observed since the last call.
func (o *told) expect(t *testing.T, want ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.credits, want) {
		t.Errorf("told %q, not %q", o.credits, want)
	}
	o.credits = nil
}

// eachWatched runs a test on both databases with an observed store.
func eachWatched(t *testing.T, run func(t *testing.T, s *db.DB, ledger *billing.Ledger, o *told, now *clock)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) {
		o, now := &told{statements: map[string]int{}}, newClock(time.Now())
		s, err := db.Open(t.Context(), db.Config{URL: url, Now: now.Now, Queries: o})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		run(t, s, observed(t, s, o), o, now)
	})
}

// The observer gets exactly the committed changes of the ledger, after the commit.
func TestCreditsAreTold(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, s *db.DB, ledger *billing.Ledger, o *told, _ *clock) {
		ana := dbtest.Member(t, s, "ana")
		data, actor := s.Tenant(ana, false), db.Actor{CredentialID: "pat_1", Tool: "create_note"}
		month, err := ledger.OpenMonth(t.Context(), data.TenantID())
		if err != nil {
			t.Fatal(err)
		}
		charge := func(price int, end error) error {
			return data.Write(t.Context(), actor, func(ctx context.Context, u *db.Tx) error {
				if _, err := ledger.ChargeTx(ctx, u, month, price); err != nil {
					return err
				}
				return end
			})
		}
		if err := charge(2, nil); err != nil {
			t.Fatal(err)
		}
		o.expect(t, "create_note charged 2")
		if charge(2, errors.New("it is rolled back")) == nil || charge(1_000_000, nil) == nil {
			t.Fatal("both must fail")
		}
		o.expect(t, "create_note refused")
		if _, err := ledger.ChargeRead(t.Context(), billing.Charge{Tenant: ana, Tool: "a", Price: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.ChargeRead(t.Context(), billing.Charge{Tenant: ana, Tool: "b", Price: 1_000_000}); !fault.Is(err, fault.Exhausted) {
			t.Fatal(err)
		}
		o.expect(t, "a charged 1", "b refused")
		key := idempotency.Key{Scope: "pat_1", Name: "k", Fingerprint: "f", Tenant: ana}
		for range 2 { // the second is a replay
			_, err := idempotency.NewKeys(s, ledger).KeepAnswer(t.Context(), key, &billing.Charge{Tenant: ana, Tool: "c", Price: 3}, func(billing.Receipt) ([]byte, error) { return []byte("{}"), nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		o.expect(t, "c charged 3")
		refund(t, s, ledger, data, actor, month)
		o.expect(t, "create_note charged 5", "create_note refunded 5")
	})
}

// refund starts a job for 5 credits, and fails it.
func refund(t *testing.T, s *db.DB, ledger *billing.Ledger, data *db.Tenant, actor db.Actor, month billing.Month) {
	t.Helper()
	err := data.Write(t.Context(), actor, func(ctx context.Context, u *db.Tx) error {
		_, _, err := job.StartJob(ctx, u, job.Draft{Kind: "import", Charged: 5})
		if err == nil {
			_, err = ledger.ChargeTx(ctx, u, month, 5)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	j := claim(t, s, time.Now().Add(time.Minute), "import")
	end := job.End{State: job.Failed, Result: json.RawMessage("{}"), Failure: &job.Failure{Code: "x", Detail: "y"}}
	if err := job.NewQueue(s, ledger).EndJob(t.Context(), lease(j), end); err != nil {
		t.Fatal(err)
	}
}

func TestStatementsAreTold(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, s *db.DB, ledger *billing.Ledger, o *told, _ *clock) {
		ana := dbtest.Member(t, s, "ana")
		if _, err := ledger.ChargeRead(t.Context(), billing.Charge{Tenant: ana, Tool: "a", Price: 1}); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := oauth.Authenticate(t.Context(), s, dbtest.Token(t, s, ana)); err != nil {
			t.Fatal(err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := job.NewQueue(s, ledger).CountJobs(cancelled); err == nil {
			t.Fatal("a cancelled query succeeded")
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, want := range []string{"select ok", "insert ok", "begin ok", "commit ok", "select abandoned"} {
			if o.statements[want] == 0 {
				t.Errorf("%q was not observed, but %v", want, o.statements)
			}
		}
		for statement := range o.statements {
			if operation, _, _ := strings.Cut(statement, " "); !slices.Contains([]string{"select", "insert", "update", "delete", "with", "begin", "commit", "rollback"}, operation) {
				t.Errorf("%q is not an operation to count", operation)
			}
		}
	})
}

func TestCountJobs(t *testing.T) {
	t.Parallel()
	eachWatched(t, func(t *testing.T, s *db.DB, ledger *billing.Ledger, _ *told, now *clock) {
		ana, bo := dbtest.Member(t, s, "ana"), dbtest.Member(t, s, "bo")
		begun := now.Now()
		startJob(t, s, ana, "count")
		startJob(t, s, bo, "count")
		if err := job.NewQueue(s, ledger).ScheduleJob(t.Context(), "sweep", begun.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		claim(t, s, begun.Add(time.Minute), "count")
		now.Advance(30 * time.Second)
		count := func() map[string]job.QueuedJobs {
			rows, err := job.NewQueue(s, ledger).CountJobs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counts := map[string]job.QueuedJobs{}
			for _, r := range rows {
				r.Waited = r.Waited.Round(time.Second)
				counts[r.Kind+" "+r.State] = r
			}
			return counts
		}
		early := count()
		now.Advance(time.Minute) // the lease has expired
		late := count()
		for name, want := range map[string]time.Duration{"count queued": 30 * time.Second, "count running": 0, "sweep scheduled": 0} {
			if early[name].Count != 1 || early[name].Waited != want {
				t.Errorf("%s: %+v, not %s", name, early[name], want)
			}
		}
		if late["count running"].Count != 0 || late["count queued"].Count != 2 || late["count queued"].Waited != 90*time.Second {
			t.Errorf("later: %+v", late)
		}
	})
}

// observed returns a ledger that is observed by o.
func observed(t *testing.T, s *db.DB, o *told) *billing.Ledger {
	t.Helper()
	plans, err := billing.NewPlans(nil)
	if err != nil {
		t.Fatal(err)
	}
	return billing.NewLedger(billing.LedgerConfig{DB: s, Plans: plans, Watch: o, Logger: slog.New(slog.DiscardHandler)})
}
