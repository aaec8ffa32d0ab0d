package integration_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
)

// After deletions, a search index reads the deleted people without those who were restored; after a
// large deletion, it reads everyone.
func TestDocumentsAfterDeletions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		var names []string
		for i := range 103 {
			names = append(names, fmt.Sprint("Person ", i))
		}
		ids := keepPeople(t, s, owner, names...)
		data := s.Tenant(owner, false)
		load := func(since int64) search.Documents {
			t.Helper()
			docs, err := search.LoadDocuments(t.Context(), data, since)
			if err != nil {
				t.Fatal(err)
			}
			return docs
		}
		gone := func(docs search.Documents) (ids []string) {
			for _, d := range docs.Changed {
				if d.Gone {
					ids = append(ids, d.ID)
				}
			}
			slices.Sort(ids)
			return ids
		}
		start := load(-1).Version
		first, second := remove(t, s, owner, ids[0]), remove(t, s, owner, ids[1])
		if docs := load(start); docs.Whole || !slices.Equal(gone(docs), slices.Sorted(slices.Values(ids[:2]))) {
			t.Errorf("after two: whole %t, %v", docs.Whole, gone(docs))
		}
		wantUndone(t, s, owner, first)
		wantUndone(t, s, owner, second)
		if docs := load(start); docs.Whole || len(gone(docs)) != 0 || len(docs.Changed) != 2 {
			t.Errorf("after the undo: whole %t, %d people", docs.Whole, len(docs.Changed))
		}
		before := load(-1).Version
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Removal, error) {
			return people.DeleteConnections(ctx, u, kinds.All(), ids[:101]...)
		})
		if docs := load(before); !docs.Whole || len(docs.Changed) != 2 {
			t.Errorf("after many: whole %t, %d people", docs.Whole, len(docs.Changed))
		}
		if docs := load(load(-1).Version); docs.Whole || len(docs.Changed) != 0 {
			t.Errorf("afterwards: whole %t, %d people", docs.Whole, len(docs.Changed))
		}
	})
}

// Records of deletions are dropped after a thousand writes, and an older index is rebuilt.
func TestOldDeletionsAreForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		owner := dbtest.Member(t, s, "maria")
		ids := keepPeople(t, s, owner, "A", "B", "C")
		q := dbtest.OpenSQL(t, url)
		remove(t, s, owner, ids[0])
		if _, err := q.Exec("UPDATE tenant_states SET data_version = data_version + 2000"); err != nil {
			t.Fatal(err)
		}
		remove(t, s, owner, ids[1])
		if rows := rowsOf(t, q, "removed_connections"); len(rows) != 1 {
			t.Errorf("%d deletions are kept: %v", len(rows), rows)
		}
		for since, whole := range map[int64]bool{1: true, 1500: false} {
			if docs, err := search.LoadDocuments(t.Context(), s.Tenant(owner, false), since); err != nil || docs.Whole != whole {
				t.Errorf("since %d: whole %t, %v", since, docs.Whole, err)
			}
		}
	})
}
