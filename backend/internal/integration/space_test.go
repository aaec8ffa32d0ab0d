package integration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
)

// The space that a member uses is what their photos, uploaded files and recorded changes take, whatever
// adds, changes or deletes them. Once it is used up, what adds more is refused before it begins, and
// deleting makes room.
func TestMembersHaveAQuotaOfSpace(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		const quota = 400_000
		s, err := db.Open(t.Context(), db.Config{URL: url, Now: time.Now, MemberBytes: quota})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		data, other := s.Tenant(dbtest.Member(t, s, "ada"), false), s.Tenant(dbtest.Member(t, s, "eve"), false)
		counted := func() int64 {
			t.Helper()
			var want int64
			err := s.NewRaw(`SELECT (SELECT coalesce(sum(octet_length(data)), 0) FROM photos WHERE tenant_id = ?0)
+ (SELECT coalesce(sum(octet_length(content)), 0) FROM files WHERE tenant_id = ?0)
+ (SELECT coalesce(sum(octet_length(effects)), 0) FROM changes WHERE tenant_id = ?0)`, data.TenantID()).Scan(t.Context(), &want)
			if err != nil {
				t.Fatal(err)
			}
			got, of, err := data.Space(t.Context())
			if err != nil || got != want || of != quota {
				t.Fatalf("counted %d bytes of %d, stored are %d, %v", got, of, want, err)
			}
			return got
		}
		write := func(ctx context.Context, fn func(ctx context.Context, tx *db.Tx) error) error {
			return data.Write(ctx, db.Actor{Tool: "test"}, fn)
		}
		var ids []string
		create := func(ctx context.Context, tx *db.Tx) error {
			made, err := people.Create(ctx, tx, people.Draft{Name: "Ana"})
			if err == nil {
				ids = append(ids, made.Connection.ID)
			}
			return err
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			counted()
		}
		full := func(err error) {
			t.Helper()
			if !fault.Is(err, fault.Full) || !strings.Contains(err.Error(), "the account is full") {
				t.Fatalf("not refused: %v", err)
			}
			counted()
		}
		file := func(size int) *importer.File { return importer.NewFile("a.csv", []byte(strings.Repeat("x", size))) }
		store := func(f *importer.File) func(context.Context, *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error { return importer.InsertFile(ctx, tx, f) }
		}
		picture, err := photos.Read(t.Context(), phototest.JPEG(t, 500, 500))
		if err != nil {
			t.Fatal(err)
		}
		set := func(ctx context.Context, tx *db.Tx) error {
			_, err := photos.Set(ctx, tx, ids[0], picture)
			return err
		}
		ctx := t.Context()
		must(write(ctx, create))
		must(write(ctx, set))
		waiting := file(100_000)
		must(write(ctx, store(waiting)))
		full(write(ctx, store(file(quota)))) // alone too large
		must(write(ctx, func(ctx context.Context, tx *db.Tx) error { return importer.DeleteFile(ctx, tx, waiting.ID) }))
		must(write(ctx, store(file(int(quota-counted())))))

		begun := false
		for _, add := range []func(context.Context, *db.Tx) error{create, set, store(file(1))} {
			full(write(ctx, func(ctx context.Context, tx *db.Tx) error {
				begun = true
				return add(ctx, tx)
			}))
		}
		full(data.CheckSpace(ctx))
		if begun {
			t.Error("a write of a full account was begun")
		}
		if err := other.Write(ctx, db.Actor{}, func(context.Context, *db.Tx) error { return other.CheckSpace(ctx) }); err != nil {
			t.Errorf("another member is refused: %v", err)
		}

		var deleted string
		remove := func(ctx context.Context, tx *db.Tx) error {
			d, err := people.Delete(ctx, tx, kinds.All(), ids[0], "Ana")
			deleted = d.ChangeID
			return err
		}
		full(write(ctx, remove))
		must(write(db.WithExtraQuota(ctx), remove)) // as the tools and pages that delete do
		must(history.EndDeletion(db.WithoutQuota(ctx), data, "test", deleted))
		must(write(ctx, create))
		must(write(ctx, func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.NewRaw("DELETE FROM changes WHERE tenant_id = ?", tx.TenantID()).Exec(ctx)
			return err
		}))
	})
}
