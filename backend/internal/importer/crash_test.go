package importer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
)

// mortal is a store whose process dies at one of its steps: before it is committed,
// or after it.
type mortal struct {
	*store.Store

	steps  atomic.Int32
	diesAt int32
	after  bool
}

func (m *mortal) ImportStep(ctx context.Context, j *job.Job, fn func(context.Context, importer.Writer) (job.Step, error)) error {
	return dying(m, fn, func(fn func(context.Context, importer.Writer) (job.Step, error)) error {
		return m.Store.ImportStep(ctx, j, fn)
	})
}

func (m *mortal) UndoStep(ctx context.Context, j *job.Job, fn func(context.Context, importer.Undoer) (job.Step, error)) error {
	return dying(m, fn, func(fn func(context.Context, importer.Undoer) (job.Step, error)) error {
		return m.Store.UndoStep(ctx, j, fn)
	})
}

// dying takes a step, at which the process may die.
func dying[W any](m *mortal, fn func(context.Context, W) (job.Step, error), take func(func(context.Context, W) (job.Step, error)) error) error {
	dies := m.steps.Add(1) == m.diesAt
	err := take(func(ctx context.Context, w W) (job.Step, error) {
		step, err := fn(ctx, w)
		if dies && !m.after {
			return step, job.ErrLeaseLost // all of it is rolled back
		}
		return step, err
	})
	if dies {
		return job.ErrLeaseLost // whoever died says nothing more to the queue
	}
	return err
}

// many is a file of several steps, with somebody twice, far apart.
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

// Whenever the process dies, at a step's end or within it, twice, the import ends
// with the counts and the people of one that was let alone.
func TestKilledImportGoesOn(t *testing.T) {
	t.Parallel()
	const rows = 34
	content := many(rows)
	storetest.Databases(t, func(t *testing.T, url string) {
		clock := &clock{at: time.Now()}
		s := storetest.Open(t, url, clock.now)
		calm := &desk{store: s, owner: storetest.Member(t, s, "calm"), now: clock.now}
		want := calm.imports(t, "many.csv", content, importer.Options{OnMatch: importer.OnMatchOverwrite})
		if counts(want) != "34 = 32 created, 1 updated, 0 skipped, 1 failed" {
			t.Fatal(counts(want), want.Errors)
		}
		held := calm.export(t)
		for step := int32(1); step <= 5; step++ {
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("step %d, after %t", step, after)
				d := &desk{store: s, owner: storetest.Member(t, s, fmt.Sprintf("m-%d-%t", step, after)), now: clock.now}
				j, err := d.start(t, "many.csv", content, importer.Options{OnMatch: importer.OnMatchOverwrite})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					m := &mortal{Store: s, diesAt: step, after: after}
					d.until(t, m, j, func(j *job.Job) bool { return m.steps.Load() >= step || j.Terminal() })
					clock.add(time.Minute)
				}
				got := report(t, d.work(t, s, j))
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

// Whoever is cancelled keeps what they did, and it is told.
func TestCancelledImportTellsWhatItDid(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		cancel := func(j *job.Job) {
			err := d.store.Tenant(d.owner, false).Write(t.Context(), store.Actor{}, func(ctx context.Context, u *store.Unit) error {
				_, err := u.CancelJob(ctx, j.Number)
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
		got := d.work(t, &interrupted{Store: d.store, after: 1, do: func() { cancel(j) }}, j)
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

// interrupted is a store that something happens to after some steps.
type interrupted struct {
	*store.Store

	steps, after int
	do           func()
}

func (i *interrupted) ImportStep(ctx context.Context, j *job.Job, fn func(context.Context, importer.Writer) (job.Step, error)) error {
	err := i.Store.ImportStep(ctx, j, fn)
	if i.steps++; i.steps == i.after {
		i.do()
	}
	return err
}

func (i *interrupted) UndoStep(ctx context.Context, j *job.Job, fn func(context.Context, importer.Undoer) (job.Step, error)) error {
	err := i.Store.UndoStep(ctx, j, fn)
	if i.steps++; i.steps == i.after {
		i.do()
	}
	return err
}
