package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// upload keeps files of a member.
func upload(t *testing.T, s *db.DB, owner tenant.ID, names ...string) (ids []string) {
	t.Helper()
	for _, name := range names {
		f := importer.NewFile(name, []byte("content of "+name+"\x00\xff"))
		if err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error { return importer.InsertFile(ctx, u, f) }); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, f.ID)
	}
	return ids
}

func waiting(t *testing.T, s *db.DB, owner tenant.ID) (name string) {
	t.Helper()
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
		f, err := importer.WaitingFile(ctx, u)
		if f != nil {
			name = f.Name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// At most MaxUploads wait, and the oldest one is imported first. A file that an import took
// no longer waits.
func TestUploads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		if got := waiting(t, s, owner); got != "" {
			t.Errorf("waiting: %s, want none", got)
		}
		ids := upload(t, s, owner, "1", "2")
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error { return importer.ClaimFile(ctx, u, ids[1], "imp_1") })
		if err != nil || waiting(t, s, owner) != "1" {
			t.Errorf("waiting: %q, %v", waiting(t, s, owner), err)
		}
		upload(t, s, owner, "3", "4", "5")
		data := s.Tenant(owner, true)
		uploads, err := importer.ListUploads(t.Context(), data)
		var names string
		for _, f := range uploads {
			names += f.Name
		}
		if err != nil || names != "543" || waiting(t, s, owner) != "3" || len(uploads) != importer.MaxUploads || uploads[0].Content != nil {
			t.Errorf("uploads %s, %v", names, err)
		}
		if f, err := importer.GetFile(t.Context(), data, ids[1]); err != nil || string(f.Content) != "content of 2\x00\xff" || f.Size != 14 {
			t.Errorf("the taken one: %+v, %v", f, err)
		}
		if _, err := importer.GetFile(t.Context(), data, ids[0]); !fault.Is(err, fault.NotFound) {
			t.Errorf("the oldest one: %v", err)
		}
		err = write(t, s, owner, func(ctx context.Context, u *db.Tx) error { return importer.DeleteFile(ctx, u, ids[1]) })
		if _, gone := importer.GetFile(t.Context(), data, ids[1]); err != nil || !fault.Is(gone, fault.NotFound) {
			t.Errorf("deleted: %v, %v", err, gone)
		}
	})
}

// Files are swept after a day, but not those of a member whose import is running.
func TestSweptFiles(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := newClock(time.Now())
		s := dbtest.Open(t, url, clock.Now)
		idle, busy := dbtest.Member(t, s, "idle"), dbtest.Member(t, s, "busy")
		upload(t, s, idle, "a", "b")
		upload(t, s, busy, "c")
		startJob(t, s, busy, importer.JobKind)
		for _, want := range []int64{0, 2, 0} {
			r, err := retention.Sweep(t.Context(), s, clock.Now())
			if err != nil || r.Files != want {
				t.Errorf("%d files, want %d: %v", r.Files, want, err)
			}
			clock.Advance(25 * time.Hour)
		}
		if got := waiting(t, s, busy); got != "c" {
			t.Errorf("the file of an import: %q", got)
		}
	})
}

// Cancelling a queued job that already did some work does not end it at once: the next
// worker that claims it ends it, and reports how far it got.
func TestCancelOfABegunJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "ada")
		j, _ := startJob(t, s, owner, importer.JobKind)
		held := claim(t, s, time.Now().Add(time.Minute), importer.JobKind)
		if err := takeStep(t, s, held, 3); err != nil {
			t.Fatal(err)
		}
		if err := dbtest.Queue(t, s).ReturnJob(t.Context(), lease(held), time.Now().Add(time.Hour), true); err != nil {
			t.Fatal(err)
		}
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			got, err := job.CancelJob(ctx, u, j.Number)
			if err == nil && (got.State != job.Queued || !got.CancelRequested) {
				err = fmt.Errorf("state %s", got.State)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if again := claim(t, s, time.Now().Add(time.Minute), importer.JobKind); again == nil || !again.CancelRequested {
			t.Errorf("claimed %+v", again)
		}
	})
}
