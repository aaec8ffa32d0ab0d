// Package dbtest opens stores for tests: a SQLite file in a temporary folder, and a
// separate database in a real PostgreSQL. There is no fake store.
package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// PostgresURL names the environment variable with a superuser's address.
const PostgresURL = "KITH_TEST_POSTGRES_URL"

// PoolerURL names the environment variable with the address of a PgBouncer in front of that server,
// in transaction mode.
const PoolerURL = "KITH_TEST_PGBOUNCER_URL"

// ThroughPooler names the environment variable that makes every test of PostgreSQL use the pooler,
// if it is not empty.
const ThroughPooler = "KITH_TEST_THROUGH_PGBOUNCER"

// ExtraColumns names the environment variable that adds a column to every table of the databases
// of tests, if it is not empty, as the next version may do while this one still runs.
const ExtraColumns = "KITH_TEST_EXTRA_COLUMNS"

// addColumns adds a column to every table of a migrated database if ExtraColumns is set.
func addColumns(driver, dsn, url string) (err error) {
	if os.Getenv(ExtraColumns) == "" {
		return nil
	}
	ctx := context.Background()
	s, err := db.Open(ctx, db.Config{URL: url, Now: time.Now})
	if err != nil {
		return err
	}
	tables, err := db.Catalogue(ctx, s)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	raw, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	for name := range tables {
		if _, err := raw.ExecContext(ctx, `ALTER TABLE "`+name+`" ADD COLUMN of_the_next_version TEXT NOT NULL DEFAULT 'next'`); err != nil {
			return fmt.Errorf("add a column to %s: %w", name, err)
		}
	}
	return nil
}

// Databases calls test once for each kind of database, with the address of an
// empty, migrated one. With -short, only for SQLite.
func Databases(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		if testing.Short() {
			t.Log("left out by -short")
			return
		}
		t.Parallel()
		test(t, Postgres(t))
	})
}

// Each is Databases with an opened store.
func Each(t *testing.T, test func(t *testing.T, s *db.DB)) {
	t.Helper()
	Databases(t, func(t *testing.T, url string) { test(t, Open(t, url, time.Now)) })
}

// Open opens a migrated database until the end of the test.
func Open(t testing.TB, url string, now func() time.Time) *db.DB {
	t.Helper()
	return OpenBreakable(t, url, now, nil)
}

// Breaker is a db.Config.Fault that can be set and cleared while the database is in
// use; its zero value injects no failure.
type Breaker struct {
	fault atomic.Pointer[func(statement string) error]
}

// Set makes the database fail with the errors that fault returns; nil ends that.
func (b *Breaker) Set(fault func(statement string) error) {
	if fault == nil {
		b.fault.Store(nil)
		return
	}
	b.fault.Store(&fault)
}

// Fault is for db.Config.Fault.
func (b *Breaker) Fault(statement string) error {
	if fault := b.fault.Load(); fault != nil {
		return (*fault)(statement)
	}
	return nil
}

// OpenBreakable is Open for a database that fails with the errors that fault returns; with
// nil it never fails.
func OpenBreakable(t testing.TB, url string, now func() time.Time, fault func(statement string) error) *db.DB {
	t.Helper()
	s, err := db.Open(t.Context(), db.Config{URL: url, Now: now, MaxConns: 8, Fault: fault})
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// OpenSQL opens a database directly, without package db, with one connection.
func OpenSQL(t testing.TB, url string) *sql.DB {
	t.Helper()
	driver, dsn := "sqlite", "file:"+url
	if db.IsPostgres(url) {
		driver, dsn = "pgx", at(PostgresURL, database(url))
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Member creates a member and returns their tenant.
func Member(t testing.TB, s *db.DB, username string) tenant.ID {
	t.Helper()
	m := &account.Member{Username: username, Email: username + "@people.example", Plan: account.PlanFree, Timezone: "UTC", Locale: "en"}
	if err := account.CreateMember(t.Context(), s, m); err != nil {
		t.Fatalf("create member: %v", err)
	}
	return m.ID
}

// Epoch returns the present epoch of a member's access, with which credentials can be stored.
func Epoch(t testing.TB, s *db.DB, owner tenant.ID) int64 {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s, owner)
	if err != nil {
		t.Fatalf("read member: %v", err)
	}
	return m.AccessEpoch
}

// Token creates a personal token of a member and returns the token.
func Token(t testing.TB, s *db.DB, owner tenant.ID, scopes ...string) string {
	t.Helper()
	bearer, err := account.GenerateToken()
	if err != nil {
		t.Fatal(err)
	}
	row := &account.PersonalToken{MemberID: owner, Name: "test", Hash: account.HashSecret(bearer), Scopes: strings.Join(scopes, " ")}
	row.Access.Epoch = Epoch(t, s, owner)
	if err := account.CreatePersonalToken(t.Context(), s, row); err != nil {
		t.Fatalf("create token: %v", err)
	}
	return bearer
}

// migrated is a migrated SQLite file, made once: a copy costs far less.
var migrated = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "kith-storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "kith.db")
	if _, err := db.Migrate(context.Background(), db.Config{URL: path}); err != nil {
		return nil, err
	}
	if err := addColumns("sqlite", "file:"+path, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// SQLite returns the path of an empty, migrated database.
func SQLite(t testing.TB) string {
	t.Helper()
	data, err := migrated()
	if err != nil {
		t.Fatalf("migrate: %v", err)
	}
	path := filepath.Join(t.TempDir(), "kith.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// template is a migrated database from which the others of this process are copied. Like
// most databases of operators, it sorts text by a language's rules, not by byte.
var template = sync.OnceValues(func() (string, error) {
	name := fmt.Sprintf("kith_template_%d_%s", os.Getpid(), strings.ToLower(rand.Text()[:6]))
	if err := execAdmin("CREATE DATABASE " + name + " TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"); err != nil {
		return "", err
	}
	address := at(PostgresURL, name)
	if _, err := db.Migrate(context.Background(), db.Config{URL: address}); err != nil {
		return "", err
	}
	return name, addColumns("pgx", address, address)
})

// copying guards the template: only one copy can run at a time.
var copying sync.Mutex

// Postgres returns the address of an empty, migrated database.
func Postgres(t testing.TB) string {
	t.Helper()
	if os.Getenv(PostgresURL) == "" {
		t.Fatalf("%s is not set: run `make test`, which starts a PostgreSQL, or pass -short", PostgresURL)
	}
	from, err := template()
	if err != nil {
		t.Fatalf("prepare template: %v", err)
	}
	name := "kith_test_" + strings.ToLower(rand.Text()[:12])
	copying.Lock()
	// Copying files costs the server 0.07 CPU seconds less than copying pages through its log.
	err = execAdmin("CREATE DATABASE " + name + " TEMPLATE " + from + " STRATEGY file_copy")
	copying.Unlock()
	if err != nil {
		t.Fatalf("copy template: %v", err)
	}
	t.Cleanup(func() {
		if err := execAdmin("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	if os.Getenv(ThroughPooler) != "" {
		return at(PoolerURL, name)
	}
	return at(PostgresURL, name)
}

// Pooled returns the address of an empty, migrated database through the pooler.
func Pooled(t testing.TB) string {
	t.Helper()
	if os.Getenv(PoolerURL) == "" {
		t.Fatalf("%s is not set: run `make test`, which starts a PgBouncer, or pass -short", PoolerURL)
	}
	return at(PoolerURL, database(Postgres(t)))
}

// at returns the address of a database of the server that an environment variable names.
func at(server, database string) string {
	u, err := url.Parse(os.Getenv(server))
	if err != nil {
		return ""
	}
	u.Path = "/" + database
	return u.String()
}

// database returns the name of the database of an address.
func database(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, "/")
}

func execAdmin(statement string) error {
	db, err := sql.Open("pgx", os.Getenv(PostgresURL))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(context.Background(), statement)
	return err
}

// Ledger returns a ledger with the default plans. Only Flush, or the member's next write, writes the charges of reads.
func Ledger(t testing.TB, d *db.DB) *billing.Ledger {
	t.Helper()
	plans, err := billing.NewPlans(nil)
	if err != nil {
		t.Fatal(err)
	}
	return billing.NewLedger(billing.LedgerConfig{DB: d, Plans: plans, Logger: slog.New(slog.DiscardHandler), FlushEvery: time.Hour})
}

// Keys returns the idempotency keys of a database.
func Keys(t testing.TB, d *db.DB) *idempotency.Keys {
	t.Helper()
	return idempotency.NewKeys(d, Ledger(t, d))
}

// Queue returns the queue of jobs of a database.
func Queue(t testing.TB, d *db.DB) *job.Queue {
	t.Helper()
	return job.NewQueue(d, Ledger(t, d))
}
