package demo_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/sandbox"
	"github.com/uptrace/bun/dialect"
)

func seeder(t *testing.T, s *db.DB, now func() time.Time) *demo.Seeder {
	t.Helper()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return demo.NewSeeder(s, rpcs, now, slog.New(slog.DiscardHandler))
}

func TestSeedOncePerDay(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		s := dbtest.Open(t, url, clock)
		seed := seeder(t, s, clock)
		for step, want := range []bool{true, false} {
			if got, err := seed.Seed(t.Context()); err != nil || got != want {
				t.Fatalf("step %d: seeded %v, %v", step, got, err)
			}
		}
		first, err := oauth.Authenticate(t.Context(), s, sandbox.Token)
		if err != nil || !first.ReadOnly || first.Credential.Holds(catalog.ScopeWrite) || !first.Credential.Holds("timeline") {
			t.Fatalf("principal: %+v, %v", first, err)
		}
		now = now.AddDate(0, 0, 1)
		if got, err := seed.Seed(t.Context()); err != nil || !got {
			t.Fatalf("the next day: seeded %v, %v", got, err)
		}
		second, err := oauth.Authenticate(t.Context(), s, sandbox.Token)
		if err != nil || second.DataVersion <= first.DataVersion || second.Tenant != first.Tenant {
			t.Errorf("the next day: %+v, %v", second, err)
		}
		n, err := demo.CountDemo(t.Context(), s)
		if err != nil || n != 200 {
			t.Errorf("connections: %d, %v", n, err)
		}
		entries, err := timeline.ListTimeline(t.Context(), s.Tenant(second.Tenant, true), timeline.Query{Limit: 1})
		if err != nil || len(entries) != 1 || now.Sub(entries[0].OccurredAt) > 14*24*time.Hour {
			t.Errorf("latest entry: %+v, %v", entries, err)
		}
		listed, err := account.ListPublicProfiles(t.Context(), s, nil, account.Position{}, 100)
		if err != nil || len(listed) < 23 {
			t.Errorf("listed members: %d, %v", len(listed), err)
		}
	})
}

// Off means gone: no member of the sandbox stays, in the directory or elsewhere, and all others do.
func TestRemoveDemo(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		maria := dbtest.Member(t, s, "maria")
		rows := func(of string) (n int) {
			t.Helper()
			if err := s.NewRaw("SELECT count(*) FROM "+of).Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if removed, err := demo.RemoveDemo(t.Context(), s); err != nil || removed {
			t.Fatalf("before there is one: %t, %v", removed, err)
		}
		for range 2 { // it can be turned on again
			if seeded, err := seeder(t, s, time.Now).Seed(t.Context()); err != nil || !seeded || rows("members") < 20 || rows("connections") == 0 {
				t.Fatalf("seeded %t, %v", seeded, err)
			}
			if removed, err := demo.RemoveDemo(t.Context(), s); err != nil || !removed {
				t.Fatalf("removed %t, %v", removed, err)
			}
			for table, want := range map[string]int{"members": 1, "profiles": 1, "connections": 0, "notes": 0, "personal_tokens": 0, "directory_words": 0, "sandbox_states": 0} {
				if table == "directory_words" && s.Dialect().Name() == dialect.PG {
					continue // an index of SQLite
				}
				if got := rows(table); got != want {
					t.Errorf("%d rows of %s", got, table)
				}
			}
		}
		if _, err := account.GetMemberByID(t.Context(), s, maria); err != nil {
			t.Errorf("another member: %v", err)
		}
		if _, err := oauth.Authenticate(t.Context(), s, sandbox.Token); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the public token: %v", err)
		}
	})
}

func TestManyProcessesSeedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		day := func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }
		var wg sync.WaitGroup
		for range 4 {
			s := dbtest.Open(t, url, day)
			wg.Go(func() {
				_, err := seeder(t, s, day).Seed(t.Context())
				for fault.Is(err, fault.Unavailable) { // SQLite's busy timeout passed; a real process would be restarted
					_, err = seeder(t, s, day).Seed(t.Context())
				}
				if err != nil {
					t.Errorf("seed: %v", err)
				}
			})
		}
		wg.Wait()
	})
}

// A write to the demo account is refused by the handle and by the database.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		if _, err := seeder(t, s, time.Now).Seed(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := oauth.Authenticate(t.Context(), s, sandbox.Token)
		if err != nil {
			t.Fatal(err)
		}
		for name, readOnly := range map[string]bool{"by the handle": true, "by the database": false} {
			err := s.Tenant(p.Tenant, readOnly).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
				return timeline.InsertNote(ctx, u, &timeline.Note{Body: "x", CreatedAt: u.Now(), UpdatedAt: u.Now()})
			})
			if !fault.Is(err, fault.ReadOnly) {
				t.Errorf("%s: %v", name, err)
			}
		}
		refusesEveryStatement(t, url, string(p.Tenant))
	})
}

func refusesEveryStatement(t *testing.T, url, owner string) {
	t.Helper()
	db := dbtest.OpenSQL(t, url)
	for _, table := range []string{"connections", "handles", "organizations", "positions", "tags", "connection_tags", "notes",
		"note_connections", "interactions", "interaction_connections", "groups", "group_connections", "important_dates",
		"relationships", "reminders"} {
		for _, statement := range []string{
			fmt.Sprintf("DELETE FROM %s WHERE tenant_id = '%s'", table, owner),
			fmt.Sprintf("UPDATE %s SET tenant_id = tenant_id WHERE tenant_id = '%s'", table, owner),
		} {
			if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "read-only") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	if _, err := db.Exec(fmt.Sprintf("INSERT INTO tags (tenant_id, id, name, folded_name) VALUES ('%s', 'tag_x', 'x', 'x')", owner)); err == nil {
		t.Error("a tag was inserted")
	}
}
