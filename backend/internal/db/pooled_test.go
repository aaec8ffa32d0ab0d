package db_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"golang.org/x/sync/errgroup"
)

// pooled returns a database through a pooler that shares connections of the server.
func pooled(t *testing.T) *db.DB {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what needs PgBouncer; `make test` runs it")
	}
	return dbtest.Open(t, dbtest.Pooled(t), time.Now)
}

// Members who share connections to PostgreSQL see only their own rows, even if a statement has no
// condition on the tenant. Nothing of a member stays on the connection for the next one.
func TestMembersShareConnections(t *testing.T) {
	t.Parallel()
	s := pooled(t)
	var members errgroup.Group
	for i := range 8 {
		name := fmt.Sprintf("member-%d", i)
		data := s.Tenant(dbtest.Member(t, s, name), false)
		members.Go(func() error {
			for range 20 {
				if err := sharesConnections(t.Context(), data, name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := members.Wait(); err != nil {
		t.Error(err)
	}
	var user, role, tenant string
	var prepared int
	err := s.NewRaw("SELECT session_user, current_user, current_setting('app.tenant_id', true), (SELECT count(*) FROM pg_prepared_statements)").
		Scan(t.Context(), &user, &role, &tenant, &prepared)
	if err != nil || role != "kith_service" || tenant != "" || prepared != 0 || user == role {
		t.Errorf("a statement across tenants runs as %s of %s for the tenant %q, with %d prepared statements: %v", role, user, tenant, prepared, err)
	}
}

// sharesConnections writes and reads rows by statements, which name no tenant, alone and in a transaction.
func sharesConnections(ctx context.Context, data *db.Tenant, name string) error {
	var own string
	id := string(data.TenantID())
	if err := data.NewRaw("SELECT string_agg(id, ',') FROM members").Scan(ctx, &own); err != nil || own != id {
		return fmt.Errorf("%s sees the members %s: %w", name, own, err)
	}
	return data.Write(ctx, db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		if _, err := tx.NewRaw("UPDATE members SET locale = ?", name).Exec(ctx); err != nil {
			return err
		}
		if err := tx.NewRaw("SELECT string_agg(locale, ',') FROM members").Scan(ctx, &own); err != nil || own != name {
			return fmt.Errorf("%s sees the locales %s: %w", name, own, err)
		}
		return nil
	})
}

// A statement that fails gives its connection back.
func TestFailedStatementsEndTheirTransactions(t *testing.T) {
	t.Parallel()
	s := pooled(t)
	data := s.Tenant(dbtest.Member(t, s, "maria"), false)
	for range 10 { // more than the pooler has connections
		for _, statement := range []string{"SELECT nothing", "SELECT 1 / (n - 3000) FROM generate_series(1, 9000) n", "SELECT 1 FROM personal_tokens"} {
			var numbers []int
			err := data.NewRaw(statement).Scan(t.Context(), &numbers)
			if err == nil {
				t.Fatalf("%s succeeds", statement)
			}
		}
		if _, err := data.NewRaw("UPDATE tags SET nothing = 1").Exec(t.Context()); err == nil {
			t.Fatal("an update of an unknown column succeeds")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var open int
	err := s.NewRaw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'").Scan(ctx, &open)
	if err != nil || open != 0 {
		t.Errorf("%d transactions are open: %v", open, err)
	}
}

// A snapshot doesn't change while others write, and can't write.
func TestSnapshotThroughPooler(t *testing.T) {
	t.Parallel()
	s := pooled(t)
	data := s.Tenant(dbtest.Member(t, s, "maria"), false)
	read := func(ctx context.Context, r db.Reader) (version int, err error) {
		return version, r.NewRaw("SELECT data_version FROM tenant_states").Scan(ctx, &version)
	}
	err := data.Snapshot(t.Context(), func(ctx context.Context, r db.Reader) error {
		before, err := read(ctx, r)
		if err != nil {
			return err
		}
		if err := data.Write(t.Context(), db.Actor{}, func(context.Context, *db.Tx) error { return nil }); err != nil {
			return err
		}
		if after, err := read(ctx, r); err != nil || after != before {
			t.Errorf("the version is %d, then %d: %v", before, after, err)
		}
		var id string
		if err := r.NewRaw("UPDATE members SET locale = 'x' RETURNING id").Scan(ctx, &id); err == nil {
			t.Error("a snapshot was written to")
		}
		return nil
	})
	if err == nil {
		t.Error("a transaction with a failed statement was committed")
	}
}

// Without pool_mode, a pooler is refused: the role and the tenant would stay with the server
// connection.
func TestPoolerMustBeNamed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PgBouncer; `make test` runs it")
	}
	address := dbtest.Pooled(t)
	for mode, want := range map[string]string{
		"": "add the parameter pool_mode=transaction", "pool_mode=statement": "give transaction or session", "pool_mode=session": "",
	} {
		s, err := db.Open(t.Context(), db.Config{URL: strings.Replace(address, "pool_mode=transaction", mode, 1)})
		if err == nil {
			err = s.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

// Processes that migrate through a pooler at once wait for each other.
func TestMigrateThroughPooler(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PgBouncer; `make test` runs it")
	}
	address := dbtest.Pooled(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	admin := dbtest.OpenSQL(t, address)
	if _, err := admin.Exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
		t.Fatal(err)
	}
	total := make(chan int, 3)
	var all errgroup.Group
	for range cap(total) {
		all.Go(func() error {
			done, err := db.Migrate(t.Context(), db.Config{URL: u.String()})
			total <- done.Applied
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	close(total)
	first := 0
	for applied := range total {
		if applied > 0 {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d processes applied migrations", first)
	}
}
