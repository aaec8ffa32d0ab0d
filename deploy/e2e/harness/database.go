package harness

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver
)

// the driver, registered as "sqlite"

func ExecDatabase(t *testing.T, databaseURL, statement string) {
	t.Helper()
	if u, err := url.Parse(databaseURL); err == nil && u.Scheme != "" {
		ExecPostgres(t, databaseURL, statement)
		return
	}
	db, err := sql.Open("sqlite", "file:"+databaseURL+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Ledger has the credit totals of all members of a service. It is read from the database,
// since no endpoint shows the whole ledger.
type Ledger struct {
	Balance    int // sum of the stored balances
	Entries    int // sum of the ledger entries
	Allowances int // number of entries that add credits
	Calls      int // number of calls that were charged
	Spent      int // credits charged for them
}

// ReadLedger reads the ledger.
func (s *Service) ReadLedger(t *testing.T) Ledger {
	t.Helper()
	var l Ledger
	db := s.OpenDatabase(t)
	for query, into := range map[string]*int{
		"SELECT coalesce(sum(balance), 0) FROM credit_balances":                      &l.Balance,
		"SELECT coalesce(sum(delta), 0) FROM credit_entries":                         &l.Entries,
		"SELECT count(*) FROM credit_entries WHERE delta > 0":                        &l.Allowances,
		"SELECT coalesce(sum(calls), 0) FROM credit_entries WHERE reason = 'calls'":  &l.Calls,
		"SELECT coalesce(-sum(delta), 0) FROM credit_entries WHERE reason = 'calls'": &l.Spent,
	} {
		if err := db.QueryRowContext(t.Context(), query).Scan(into); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return l
}

// OpenDatabase opens the service's database to read it.
func (s *Service) OpenDatabase(t *testing.T) *sql.DB {
	t.Helper()
	driver, address := "sqlite", "file:"+s.DatabaseURL+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)"
	if s.Topology.Postgres {
		driver, address = "pgx", s.DatabaseURL
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// LockDatabase takes the write lock of a SQLite file until the test releases it.
func LockDatabase(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

// PostgresVariable holds the address of a PostgreSQL server, as a superuser.
const PostgresVariable = "KITH_TEST_POSTGRES_URL"

// NewPostgres makes an empty database that lives as long as the test, and returns
// its address.
func NewPostgres(t testing.TB) string {
	t.Helper()
	return newPostgresFrom(t, "template0")
}

// newPostgresFrom makes the database as a copy of another one without connections.
func newPostgresFrom(t testing.TB, original string) string {
	t.Helper()
	server := os.Getenv(PostgresVariable)
	if server == "" {
		t.Fatalf("%s is not set: `make test` starts a PostgreSQL for these tests, `go test -short` leaves them out", PostgresVariable)
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a valid address", PostgresVariable)
	}
	name := "kith_e2e_" + strings.ToLower(rand.Text())
	// STRATEGY file_copy takes the server 0.07 CPU seconds less than the default, wal_log.
	ExecPostgres(t, server, "CREATE DATABASE "+name+" TEMPLATE "+original+" STRATEGY file_copy")
	t.Cleanup(func() { ExecPostgres(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	address.Path = "/" + name
	if _, has := address.User.Password(); !has {
		// With trust authentication the server ignores the password. The address has one
		// anyway, so that the test can search the service's output for it.
		address.User = url.UserPassword(address.User.Username(), rand.Text())
	}
	password, _ := address.User.Password()
	Secrets.Keep("database password", password)
	return address.String()
}

func ExecPostgres(t testing.TB, address, statement string) {
	t.Helper()
	// Not the test's context: it is cancelled before cleanups run.
	if err := tellPostgres(address, statement); err != nil {
		t.Error(err)
	}
}

func tellPostgres(address, statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("PostgreSQL cannot be reached: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
