package e2e

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver, registered as "pgx"
)

// ledger is what the books of a service say of its members' credits, all of them
// together. It is read from the database, since nobody else is shown the books.
type ledger struct {
	balance    int // what the members are said to have
	entries    int // what their entries sum up to
	allowances int // how many entries give credits
	calls      int // how many calls were paid for
	spent      int // with how much
}

// ledger reads the books.
func (s *service) ledger(t *testing.T) ledger {
	t.Helper()
	var l ledger
	db := s.openDatabase(t)
	for query, into := range map[string]*int{
		"SELECT coalesce(sum(balance), 0) FROM credit_balances":                      &l.balance,
		"SELECT coalesce(sum(delta), 0) FROM credit_entries":                         &l.entries,
		"SELECT count(*) FROM credit_entries WHERE delta > 0":                        &l.allowances,
		"SELECT coalesce(sum(calls), 0) FROM credit_entries WHERE reason = 'calls'":  &l.calls,
		"SELECT coalesce(-sum(delta), 0) FROM credit_entries WHERE reason = 'calls'": &l.spent,
	} {
		if err := db.QueryRowContext(t.Context(), query).Scan(into); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return l
}

// openDatabase opens the service's database to read it.
func (s *service) openDatabase(t *testing.T) *sql.DB {
	t.Helper()
	driver, address := "sqlite", "file:"+s.databaseURL+"?_pragma=query_only(1)&_pragma=busy_timeout(5000)"
	if s.topology.postgres {
		driver, address = "pgx", s.databaseURL
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
