package importer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// undoes undoes an import to the end, and returns the report.
func (d *fixture) undoes(t testing.TB, importID string) (r importer.UndoReport) {
	t.Helper()
	j := d.startUndo(t, importID)
	if j == nil {
		t.Fatalf("nothing of %s is in force", importID)
	}
	return undoReport(t, d.work(t, job.WriteStepFor, j))
}

func undoReport(t testing.TB, j *job.Job) (r importer.UndoReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(j.Result), &r); err != nil {
		t.Fatalf("job %s %s %s: %q: %v", j.State, j.ErrorCode, j.ErrorDetail, j.Result, err)
	}
	if j.State == job.Succeeded && (j.Done != j.Total || j.Done == 0) {
		t.Errorf("%d of %d steps are done", j.Done, j.Total)
	}
	return r
}

func (d *fixture) startUndo(t testing.TB, importID string) (j *job.Job) {
	t.Helper()
	j, err := importer.UndoImport(t.Context(), d.store.Tenant(d.owner, false), "page", importID)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (d *fixture) tryUndo(t testing.TB, importID string) (out history.Undone, err error) {
	t.Helper()
	err = d.store.Tenant(d.owner, false).Write(t.Context(), db.Actor{Tool: "undo_change"}, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = importer.PreviewUndo(ctx, u, kinds.All(), importID)
		return err
	})
	return out, err
}

const merged = `Name,E-mail,Phone,Company,Title,Groups,Tags
Ana Maria,ana@acme.example,+1 212 555 0101,Beta,CEO,Friends,vip
New One,new@x.example,,,,Friends,
`

// An undone import leaves all people as before it. Undoing it again changes nothing, and
// undoing the undo restores it.
func TestUndoneImport(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "three.csv", three, importer.Options{})
		before := normal(d.export(t))
		doc := drawnDocument(t)
		for name, content := range map[string]string{"merged.csv": merged, "doc.json": doc, "many.csv": many(34)} {
			for _, onMatch := range []string{importer.OnMatchFillBlanks, importer.OnMatchOverwrite} {
				r := d.imports(t, name, content, importer.Options{OnMatch: onMatch})
				after := normal(d.export(t))
				dry, err := d.tryUndo(t, r.ImportID)
				if err != nil || dry.ChangeID != "" || len(dry.Conflicts) > 0 || len(dry.Restored) == 0 {
					t.Fatalf("%s: dry run: %d restored, %v, %v", name, len(dry.Restored), dry.Conflicts, err)
				}
				if diff := gocmp.Diff(after, normal(d.export(t))); diff != "" {
					t.Errorf("%s: the dry run wrote:\n%s", name, diff)
				}
				undone := d.undoes(t, r.ImportID)
				if diff := gocmp.Diff(inOrder(before), inOrder(normal(d.export(t)))); undone.Restored != len(dry.Restored) || diff != "" {
					t.Errorf("%s, %s: undone %+v:\n%s", name, onMatch, undone, diff)
				}
				if again := d.startUndo(t, r.ImportID); again != nil {
					t.Errorf("%s: undone again by job %d", name, again.Number)
				}
				redone := d.undoes(t, undone.UndoID)
				if diff := gocmp.Diff(inOrder(after), inOrder(normal(d.export(t)))); redone.ConflictCount > 0 || diff != "" {
					t.Errorf("%s, %s: redone %+v:\n%s", name, onMatch, redone, diff)
				}
				if last := d.undoes(t, r.ImportID); last.ConflictCount > 0 {
					t.Errorf("%s: undone after all: %+v", name, last.Conflicts)
				}
				if diff := gocmp.Diff(inOrder(before), inOrder(normal(d.export(t)))); diff != "" {
					t.Errorf("%s, %s: undone after all:\n%s", name, onMatch, diff)
				}
			}
		}
	})
}

// inOrder removes the times at which people were changed.
func inOrder(doc export.Document) export.Document {
	for i := range doc.People {
		doc.People[i].UpdatedAt = time.Time{}
	}
	return doc
}

func drawnDocument(t *testing.T) string {
	t.Helper()
	return encode(t, rapid.Custom(func(rt *rapid.T) export.Document { return document(rt, nil) }).Example(7))
}

// An object that was changed since the import stays unchanged, and is reported. Once it is
// as the import left it, undoing the import again undoes that, too.
func TestUndoOfAnImportKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		r := d.imports(t, "many.csv", many(34), importer.Options{})
		held := d.export(t).People
		noted, changed, deleted := held[3].ID, held[13].ID, held[23]
		var note, patch string
		d.write(t, func(ctx context.Context, u *db.Tx) (err error) {
			if _, note, err = timeline.AddNote(ctx, u, timeline.Note{Body: "x", ConnectionIDs: []string{noted}}); err != nil {
				return err
			}
			written, err := people.Update(ctx, u, people.Patch{ID: changed, Bio: new("new")})
			if err != nil {
				return err
			}
			patch = written.ChangeID
			_, err = people.Delete(ctx, u, kinds.All(), deleted.ID, deleted.Name)
			return err
		})
		got := d.undoes(t, r.ImportID)
		reasons := map[string]string{}
		for _, c := range got.Conflicts {
			reasons[c.ID] = c.Kind + ": " + c.Reason
		}
		left := d.export(t).People
		if got.ConflictCount != 2 || len(left) != 2 || !strings.Contains(reasons[noted], "refers to it now") || reasons[changed] != "connection: it was changed since: bio" {
			t.Errorf("%+v, %d people are left", got, len(left))
		}
		if dry, err := d.tryUndo(t, r.ImportID); err != nil || len(dry.Conflicts) != 2 || len(dry.Restored) != 0 {
			t.Errorf("%+v, %v", dry, err)
		}
		d.write(t, func(ctx context.Context, u *db.Tx) error {
			for _, c := range []string{note, patch} {
				if undone, err := history.Undo(ctx, u, kinds.All(), c, false); err != nil || undone.ChangeID == "" {
					return fmt.Errorf("%+v: %w", undone, err)
				}
			}
			return nil
		})
		if rest := d.undoes(t, r.ImportID); rest.Restored != 2 || rest.ConflictCount != 0 || len(d.export(t).People) != 0 {
			t.Errorf("%+v", rest)
		}
		if last := d.startUndo(t, r.ImportID); last != nil {
			t.Errorf("it is still in force, for job %d", last.Number)
		}
	})
}

// write writes as the member.
func (d *fixture) write(t testing.TB, fn func(context.Context, *db.Tx) error) {
	t.Helper()
	if err := d.store.Tenant(d.owner, false).Write(t.Context(), db.Actor{}, fn); err != nil {
		t.Fatal(err)
	}
}

// Even if the process is killed twice, during a step or at its end, all people are deleted, and each
// is reported once.
func TestKilledUndoContinues(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := &clock{at: time.Now()}
		s := dbtest.Open(t, url, clock.now)
		for step := int32(1); step <= 4; step++ {
			for _, after := range []bool{false, true} {
				d := &fixture{store: s, owner: dbtest.Member(t, s, fmt.Sprintf("m-%d-%t", step, after)), now: clock.now}
				r := d.imports(t, "many.csv", many(34), importer.Options{})
				j := d.startUndo(t, r.ImportID)
				for range 2 {
					m := &mortal{diesAt: step, after: after}
					d.until(t, m.step, j, func(j *job.Job) bool { return m.steps.Load() >= step || j.Terminal() })
					clock.add(time.Minute)
				}
				got := undoReport(t, d.work(t, job.WriteStepFor, j))
				if left := len(d.export(t).People); got.Restored != r.Created+r.Updated || got.ConflictCount != 0 || left != 0 {
					t.Errorf("step %d, after %t: %+v, %d people are left", step, after, got, left)
				}
			}
		}
	})
}

// A cancelled undo reports what it did; undoing the import again does the rest. Meanwhile
// undoing another import fails.
func TestCancelledUndo(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		r := d.imports(t, "many.csv", many(34), importer.Options{})
		other := d.imports(t, "three.csv", three, importer.Options{})
		j := d.startUndo(t, r.ImportID)
		if again := d.startUndo(t, r.ImportID); again.Number != j.Number {
			t.Errorf("jobs %d and %d undo one import", j.Number, again.Number)
		}
		if _, err := importer.UndoImport(t.Context(), d.store.Tenant(d.owner, false), "page", other.ImportID); !fault.Is(err, fault.Conflict) {
			t.Errorf("another import meanwhile: %v", err)
		}
		cancel := &interrupted{after: 2, do: func() {
			d.write(t, func(ctx context.Context, u *db.Tx) error {
				_, err := job.CancelJob(ctx, u, j.Number)
				return err
			})
		}}
		ended := d.work(t, cancel.step, j)
		got := undoReport(t, ended)
		if left := len(d.export(t).People); ended.State != job.Cancelled || got.Restored == 0 || left <= other.Created || left >= r.Created+other.Created {
			t.Errorf("%s: %+v, %d people are left", ended.State, got, left)
		}
		if rest := d.undoes(t, r.ImportID); rest.Restored+got.Restored != r.Created+r.Updated {
			t.Errorf("first %+v, then %+v", got, rest)
		}
	})
}

// A dry run of an import that is too large is refused.
func TestUndoOfALargeImportIsNotTried(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		r := d.imports(t, "many.csv", many(120), importer.Options{}) // in steps of ten
		if _, err := d.tryUndo(t, r.ImportID); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v", err)
		}
		if _, err := d.tryUndo(t, "imp_ov084ub146"); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if got := d.undoes(t, r.ImportID); got.Restored != r.Created+r.Updated {
			t.Errorf("%+v", got)
		}
	})
}
