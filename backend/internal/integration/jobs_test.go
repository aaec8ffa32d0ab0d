package integration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// startJob starts a job of a kind for a member.
func startJob(t testing.TB, s *db.DB, owner tenant.ID, kind string) (j *job.Job, started bool) {
	t.Helper()
	err := s.Tenant(owner, false).Write(t.Context(), db.Actor{CredentialID: "pat_1", Tool: "import_file"}, func(ctx context.Context, u *db.Tx) (err error) {
		j, started, err = job.StartJob(ctx, u, job.Draft{Kind: kind, Params: map[string]int{"n": 1}, Total: 7})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return j, started
}

func claim(t testing.TB, s *db.DB, until time.Time, kinds ...string) *job.Job {
	t.Helper()
	j, err := dbtest.Queue(t, s).ClaimJob(t.Context(), kinds, until)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func lease(j *job.Job) job.Lease { return job.Lease{ID: j.ID, Tenant: j.TenantID, Fence: j.Fence} }

func readJob(t testing.TB, s *db.DB, j *job.Job) *job.Job {
	t.Helper()
	got, err := job.GetJob(t.Context(), s.Tenant(j.TenantID, true), j.Number)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// takeStep writes an empty step under a lease.
func takeStep(t testing.TB, s *db.DB, j *job.Job, done int) error {
	t.Helper()
	return job.WriteStep(t.Context(), s.Tenant(j.TenantID, false), lease(j), db.Actor{}, func(context.Context, *db.Tx) (job.Step, error) {
		return job.Step{Checkpoint: map[string]int{"row": done}, Done: done, Total: 10}, nil
	})
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock(now time.Time) *clock { return &clock{now: now} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestStartedAtOnceIsOneJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "ada")
		var mu sync.Mutex
		numbers := map[int32]int{}
		made := 0
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				j, started := startJob(t, s, owner, "file_import")
				mu.Lock()
				defer mu.Unlock()
				numbers[j.Number]++
				if started {
					made++
				}
			})
		}
		wait.Wait()
		if made != 1 || numbers[1] != 50 {
			t.Errorf("%d were started, with the numbers %v", made, numbers)
		}
	})
}

func TestJobNumbersAreTheMembersOwn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		ada, bob := dbtest.Member(t, s, "ada"), dbtest.Member(t, s, "bob")
		for want := int32(1); want <= 3; want++ {
			for _, owner := range []tenant.ID{ada, bob} {
				j, _ := startJob(t, s, owner, "file_import")
				if j.Number != want {
					t.Errorf("job %d of %s has the number %d", want, owner, j.Number)
				}
				if err := s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
					_, err := job.CancelJob(ctx, u, j.Number)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := job.GetJob(t.Context(), s.Tenant(bob, true), 4); !fault.Is(err, fault.NotFound) {
			t.Errorf("a number that there is not: %v", err)
		}
	})
}

// With any number of concurrent claims, each job has one holder at a time.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		const jobs = 60
		for i := range jobs {
			startJob(t, s, dbtest.Member(t, s, fmt.Sprintf("member-%d", i)), "file_import")
		}
		var mu sync.Mutex
		holders := map[string]int{}
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for {
					j := claim(t, s, time.Now().Add(time.Minute), "file_import")
					if j == nil {
						return
					}
					mu.Lock()
					holders[j.ID]++
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		for id, n := range holders {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
		// With SKIP LOCKED, a claim may find nothing while others hold locks, so the last jobs
		// may be left for the next claim.
		for claim(t, s, time.Now().Add(time.Minute), "file_import") != nil {
			holders["late"]++
		}
		if len(holders) != jobs && len(holders)+holders["late"]-1 != jobs {
			t.Errorf("%d of %d jobs were claimed", len(holders), jobs)
		}
	})
}

func TestLifeOfAJob(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		s := dbtest.Open(t, url, clock.Now)
		owner := dbtest.Member(t, s, "ada")
		j, _ := startJob(t, s, owner, "file_import")
		if other := claim(t, s, clock.Now().Add(time.Minute), "embed_objects"); other != nil {
			t.Errorf("claimed a job of another kind: %+v", other)
		}
		first := claim(t, s, clock.Now().Add(time.Minute), "embed_objects", "file_import")
		if first == nil || first.ID != j.ID || first.State != job.Running || first.Attempts != 1 || first.Params != `{"n":1}` || first.Total != 7 {
			t.Fatalf("claimed %+v", first)
		}
		if again, started := startJob(t, s, owner, "file_import"); started || again.Number != j.Number {
			t.Errorf("a second start made %+v", again)
		}
		startJob(t, s, owner, "embed_objects")
		if another := claim(t, s, clock.Now().Add(time.Minute), "embed_objects", "file_import"); another != nil {
			t.Errorf("a second job of the member runs: %+v", another)
		}
		if err := takeStep(t, s, first, 3); err != nil {
			t.Fatal(err)
		}
		if got := readJob(t, s, j); got.Done != 3 || got.Total != 10 || got.Checkpoint != `{"row":3}` || got.Attempts != 0 {
			t.Errorf("after a step: %+v", got)
		}
		clock.Advance(time.Minute)
		second := claim(t, s, clock.Now().Add(time.Minute), "file_import")
		if second == nil || second.ID != j.ID || second.Fence != first.Fence+1 || second.Checkpoint != `{"row":3}` {
			t.Fatalf("after its holder died: %+v", second)
		}
		for name, err := range map[string]error{
			"a step":      takeStep(t, s, first, 9),
			"a heartbeat": dbtest.Queue(t, s).ExtendLease(t.Context(), lease(first), clock.Now().Add(time.Hour)),
			"its end":     dbtest.Queue(t, s).EndJob(t.Context(), lease(first), job.End{State: job.Failed}),
			"its return":  dbtest.Queue(t, s).ReturnJob(t.Context(), lease(first), clock.Now(), true),
		} {
			if !errors.Is(err, job.ErrLeaseLost) {
				t.Errorf("%s of the first holder: %v", name, err)
			}
		}
		if err := dbtest.Queue(t, s).ReturnJob(t.Context(), lease(second), clock.Now().Add(10*time.Second), true); err != nil {
			t.Fatal(err)
		}
		if early := claim(t, s, clock.Now().Add(time.Minute), "file_import"); early != nil {
			t.Errorf("claimed before its time: %+v", early)
		}
		clock.Advance(10 * time.Second)
		third := claim(t, s, clock.Now().Add(time.Minute), "file_import")
		if third.Attempts != 2 {
			t.Errorf("the attempt without a step was not counted: %+v", third)
		}
		if err := dbtest.Queue(t, s).EndJob(t.Context(), lease(third), job.End{State: job.Succeeded, Result: []byte(`{"total":10}`)}); err != nil {
			t.Fatal(err)
		}
		got := readJob(t, s, j)
		if !got.Terminal() || got.Result != `{"total":10}` || !got.EndedAt.Equal(clock.Now()) {
			t.Errorf("at its end: %+v", got)
		}
		if list, err := job.ListJobs(t.Context(), s.Tenant(owner, true), "file_import", 5); err != nil || len(list) != 1 {
			t.Errorf("listed %v, %v", list, err)
		}
		if next, started := startJob(t, s, owner, "file_import"); !started || next.Number != 3 {
			t.Errorf("the next of the kind: %+v", next)
		}
	})
}

func TestCancelJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "ada")
		cancel := func(number int32) (j *job.Job, err error) {
			err = s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) (err error) {
				j, err = job.CancelJob(ctx, u, number)
				return err
			})
			return j, err
		}
		queued, _ := startJob(t, s, owner, "file_import")
		if j, err := cancel(queued.Number); err != nil || j.State != job.Cancelled || j.EndedAt.IsZero() {
			t.Errorf("queued: %+v, %v", j, err)
		}
		running, _ := startJob(t, s, owner, "file_import")
		held := claim(t, s, time.Now().Add(time.Minute), "file_import")
		if j, err := cancel(running.Number); err != nil || j.State != job.Running || !j.CancelRequested {
			t.Errorf("running: %+v, %v", j, err)
		}
		if err := takeStep(t, s, held, 1); !errors.Is(err, job.ErrCancelled) {
			t.Errorf("a step after it: %v", err)
		}
		if err := dbtest.Queue(t, s).ExtendLease(t.Context(), lease(held), time.Now().Add(time.Minute)); !errors.Is(err, job.ErrCancelled) {
			t.Errorf("a heartbeat after it: %v", err)
		}
		if err := dbtest.Queue(t, s).EndJob(t.Context(), lease(held), job.End{State: job.Cancelled}); err != nil {
			t.Fatal(err)
		}
		if j, err := cancel(running.Number); err != nil || j.State != job.Cancelled {
			t.Errorf("ended: %+v, %v", j, err)
		}
		if _, err := cancel(99); !fault.Is(err, fault.NotFound) {
			t.Errorf("none: %v", err)
		}
	})
}

// A step and its checkpoint are committed together, or neither.
func TestStepIsOneTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "ada")
		startJob(t, s, owner, "file_import")
		held := claim(t, s, time.Now().Add(time.Minute), "file_import")
		boom := errors.New("boom")
		err := job.WriteStep(t.Context(), s.Tenant(owner, false), lease(held), db.Actor{}, func(ctx context.Context, u *db.Tx) (job.Step, error) {
			if _, err := people.Create(ctx, u, people.Draft{Name: "Half Done"}); err != nil {
				return job.Step{}, err
			}
			return job.Step{Done: 5}, boom
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		if got := readJob(t, s, held); got.Done != 0 || got.Attempts != 1 {
			t.Errorf("the job says %+v", got)
		}
		if changes, err := history.ListChanges(t.Context(), s.Tenant(owner, true), history.Query{Limit: 1}); err != nil || len(changes) != 0 {
			t.Errorf("stored: %v, %v", changes, err)
		}
	})
}

func TestFailedJobIsRefunded(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC))
		s := dbtest.Open(t, url, clock.Now)
		owner := dbtest.Member(t, s, "ada")
		data := s.Tenant(owner, false)
		month, err := dbtest.Ledger(t, data.Service()).OpenMonth(t.Context(), data.TenantID())
		if err != nil {
			t.Fatal(err)
		}
		err = data.Write(t.Context(), db.Actor{Tool: "import_file"}, func(ctx context.Context, u *db.Tx) error {
			if _, _, err := job.StartJob(ctx, u, job.Draft{Kind: "file_import", Charged: 5}); err != nil {
				return err
			}
			_, err := dbtest.Ledger(t, s).ChargeTx(ctx, u, month, 5)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		held := claim(t, s, clock.Now().Add(time.Hour), "file_import")
		clock.Advance(2 * time.Minute) // into the next month
		charge := func(price int) error {
			return job.WriteStep(t.Context(), data, lease(held), db.Actor{Tool: "import_file"}, func(ctx context.Context, u *db.Tx) (job.Step, error) {
				return job.Step{}, job.Charge(ctx, dbtest.Ledger(t, s), u, held, price)
			})
		}
		if err := charge(10); err != nil {
			t.Fatal(err)
		}
		failure := (*job.Failure)(nil)
		if err := charge(1000); !errors.As(err, &failure) || failure.Code != job.CodeCredits || !strings.Contains(failure.Detail, "985") {
			t.Errorf("more than there is: %v", err)
		}
		if err := dbtest.Queue(t, s).EndJob(t.Context(), lease(held), job.End{State: job.Failed, Failure: failure}); err != nil {
			t.Fatal(err)
		}
		db := dbtest.OpenSQL(t, url)
		var balance, sum, refund int
		for statement, into := range map[string]*int{
			"SELECT balance FROM credit_balances WHERE period = '2026-11'":                   &balance,
			"SELECT sum(delta) FROM credit_entries WHERE period = '2026-11'":                 &sum,
			"SELECT delta FROM credit_entries WHERE reason = '" + billing.ReasonRefund + "'": &refund,
		} {
			if err := db.QueryRowContext(t.Context(), statement).Scan(into); err != nil {
				t.Fatal(err)
			}
		}
		if balance != 1000 || sum != 1000 || refund != 15 {
			t.Errorf("balance %d, sum %d, refund %d", balance, sum, refund)
		}
		if got := readJob(t, s, held); got.ErrorCode != job.CodeCredits || got.State != job.Failed {
			t.Errorf("the job says %+v", got)
		}
	})
}

// What a clock wrote that was a year ahead does not last: a job that was claimed then is claimed again, also beside
// another of its member, and a job of the system runs.
func TestJobsAfterAWrongClock(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		const year = 365 * 24 * time.Hour
		clock := newClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		s := dbtest.Open(t, url, clock.Now)
		owner := dbtest.Member(t, s, "ada")
		j, _ := startJob(t, s, owner, "file_import")
		queue := dbtest.Queue(t, s)
		if held := claim(t, s, clock.Now().Add(year), "file_import"); held == nil {
			t.Fatal("not claimed")
		}
		if err := queue.ScheduleJob(t.Context(), "sweep", clock.Now().Add(year+time.Hour)); err != nil {
			t.Fatal(err)
		}
		startJob(t, s, owner, "embed_objects")
		if again := claim(t, s, clock.Now().Add(time.Minute), "file_import"); again == nil || again.ID != j.ID {
			t.Errorf("a job runs for a year: %+v", again)
		}
		if sweep := claim(t, s, clock.Now().Add(time.Minute), "sweep"); sweep == nil {
			t.Error("the sweep waits for a year")
		}
		if err := queue.ScheduleJob(t.Context(), "check_database", clock.Now().Add(24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if early := claim(t, s, clock.Now().Add(time.Minute), "check_database"); early != nil {
			t.Errorf("claimed a day early: %+v", early)
		}
	})
}

// A system job is live once, no matter how many processes schedule it.
func TestJobsOfTheSystem(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if err := dbtest.Queue(t, s).ScheduleJob(t.Context(), "sweep", time.Now().Add(-time.Second)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		held := claim(t, s, time.Now().Add(time.Minute), "sweep")
		if held == nil || held.TenantID != "" || claim(t, s, time.Now().Add(time.Minute), "sweep") != nil {
			t.Fatalf("claimed %+v and another", held)
		}
		if err := dbtest.Queue(t, s).EndJob(t.Context(), lease(held), job.End{State: job.Succeeded, Again: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if j := claim(t, s, time.Now().Add(time.Minute), "sweep"); j != nil {
			t.Errorf("it runs again at once: %+v", j)
		}
		if waits, err := dbtest.Queue(t, s).JobsWait(t.Context(), []string{"sweep"}); err != nil || waits {
			t.Errorf("waits: %v, %v", waits, err)
		}
	})
}
