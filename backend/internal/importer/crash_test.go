package importer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
)

// mortal is a process that is killed at one of a job's steps, before or after the commit.
type mortal struct {
	steps  atomic.Int32
	diesAt int32
	after  bool
}

func (m *mortal) step(ctx context.Context, s *db.DB, j *job.Job, fn func(context.Context, *db.Tx) (job.Step, error)) error {
	dies := m.steps.Add(1) == m.diesAt
	err := job.WriteStepFor(ctx, s, j, func(ctx context.Context, tx *db.Tx) (job.Step, error) {
		step, err := fn(ctx, tx)
		if dies && !m.after {
			return step, job.ErrLeaseLost // the whole step is rolled back
		}
		return step, err
	})
	if dies {
		return job.ErrLeaseLost // a killed process writes nothing more to the queue
	}
	return err
}

// many is a file of several steps, with one person twice, far apart.
func many(rows int) string {
	content := "Name,E-mail,Phone,Company,Title\n"
	for i := range rows {
		switch i {
		case rows - 2:
			content += "Person 1 Again,p1@many.example,+1 212 555 0199,Acme,\n"
		case rows / 2:
			content += ",,,,Nobody\n"
		default:
			content += fmt.Sprintf("Person %d,p%d@many.example,,Org %d,Clerk\n", i, i, i%50)
		}
	}
	return content
}

// Even if the process is killed twice, during a step or at its end, the import ends with the
// counts and the people of an uninterrupted one.
func TestKilledImportContinues(t *testing.T) {
	t.Parallel()
	const rows = 34
	content := many(rows)
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := &clock{at: time.Now()}
		s := dbtest.Open(t, url, clock.now)
		calm := &fixture{store: s, owner: dbtest.Member(t, s, "calm"), now: clock.now}
		want := calm.imports(t, "many.csv", content, importer.Options{OnMatch: importer.OnMatchOverwrite})
		if counts(want) != "34 = 32 created, 1 updated, 0 skipped, 1 failed" {
			t.Fatal(counts(want), want.Errors)
		}
		held := calm.export(t)
		for step := int32(1); step <= 5; step++ {
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("step %d, after %t", step, after)
				d := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("m-%d-%t", step, after)), now: clock.now}
				j, err := d.start(t, "many.csv", content, importer.Options{OnMatch: importer.OnMatchOverwrite})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					m := &mortal{diesAt: step, after: after}
					d.until(t, m.step, j, func(j *job.Job) bool { return m.steps.Load() >= step || j.Terminal() })
					clock.add(time.Minute)
				}
				got := report(t, d.work(t, job.WriteStepFor, j))
				got.ImportID = want.ImportID
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
				if people := d.export(t); len(people.People) != len(held.People) {
					t.Errorf("%s: %d people, not %d", name, len(people.People), len(held.People))
				}
				if again := d.imports(t, "many.csv", content, importer.Options{OnMatch: importer.OnMatchOverwrite}); again.Skipped != rows-1 {
					t.Errorf("%s: again: %s", name, counts(again))
				}
			}
		}
	})
}

// A cancelled import keeps what it has written, and its report says so.
func TestCancelledImportReportsItsResult(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		cancel := func(j *job.Job) {
			err := d.store.Tenant(d.owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
				_, err := job.CancelJob(ctx, u, j.Number)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		j, err := d.start(t, "many.csv", many(34), importer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := d.work(t, (&interrupted{after: 1, do: func() { cancel(j) }}).step, j)
		r := report(t, got)
		if got.State != job.Cancelled || r.Total != 10 || len(d.export(t).People) != 10 {
			t.Errorf("%s: %s, %d people", got.State, counts(r), len(d.export(t).People))
		}
		d.undoes(t, r.ImportID)
		if n := len(d.export(t).People); n != 0 {
			t.Errorf("%d people are left", n)
		}
	})
}

// interrupted calls a function after some steps.
type interrupted struct {
	steps, after int
	do           func()
}

func (i *interrupted) step(ctx context.Context, s *db.DB, j *job.Job, fn func(context.Context, *db.Tx) (job.Step, error)) error {
	err := job.WriteStepFor(ctx, s, j, fn)
	if i.steps++; i.steps == i.after {
		i.do()
	}
	return err
}
