package rpc_test

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/rpc"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// paid is a backend whose clock and credits a test chooses.
type paid struct {
	*bundle

	database string
	db       *sql.DB
	breaker  dbtest.Breaker
	ledgers  []*billing.Ledger

	mu  sync.Mutex
	now time.Time
}

func (p *paid) time() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *paid) advance(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// eachPaid calls test on each database. The plan free has free credits a month.
func eachPaid(t *testing.T, free int, test func(t *testing.T, p *paid)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) { test(t, newPaid(t, url, free)) })
}

func newPaid(t testing.TB, url string, free int) *paid {
	t.Helper()
	p := &paid{database: url, db: dbtest.OpenSQL(t, url), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	p.bundle = p.backend(t, rpcs, free)
	p.member = dbtest.Member(t, p.store, "maria")
	p.bearer = dbtest.Token(t, p.store, p.member, rpcs.Scopes()...)
	return p
}

// backend starts a process on the test's database.
func (p *paid) backend(t testing.TB, rpcs *catalog.Catalog, free int) *bundle {
	t.Helper()
	plans, err := billing.NewPlans(map[string]int{"free": free})
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), db.Config{URL: p.database, Now: p.time, MaxConns: 16, Fault: p.breaker.Fault})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ledger := billing.NewLedger(billing.LedgerConfig{DB: s, Plans: plans, Logger: slog.New(slog.DiscardHandler)})
	p.ledgers = append(p.ledgers, ledger)
	server := httptest.NewServer(newHandlerThat(t, rpcs, s, ledger, p.time, vector.Local{}, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return &bundle{url: server.URL, store: s, credits: ledger, rpcs: rpcs, member: p.memberID(), bearer: p.bearerOf()}
}

func (p *paid) memberID() tenant.ID {
	if p.bundle == nil {
		return ""
	}
	return p.member
}

func (p *paid) bearerOf() string {
	if p.bundle == nil {
		return ""
	}
	return p.bearer
}

func newHandler(t testing.TB, rpcs *catalog.Catalog, s *db.DB, now func() time.Time) http.Handler {
	t.Helper()
	return newHandlerWith(t, rpcs, s, now, vector.Local{})
}

// newHandlerWith is newHandler with an embedding provider.
func newHandlerWith(t testing.TB, rpcs *catalog.Catalog, s *db.DB, now func() time.Time, provider vector.Provider) http.Handler {
	t.Helper()
	return newHandlerThat(t, rpcs, s, dbtest.Ledger(t, s), now, provider, slog.New(slog.DiscardHandler))
}

// newHandlerThat is newHandlerWith and logs.
func newHandlerThat(t testing.TB, rpcs *catalog.Catalog, s *db.DB, ledger *billing.Ledger, now func() time.Time, provider vector.Provider, logger *slog.Logger) http.Handler {
	t.Helper()
	handler, err := rpc.NewHandler(optionsOf(rpcs, s, ledger, now, provider, logger))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// optionsOf returns what the handlers need.
func optionsOf(rpcs *catalog.Catalog, s *db.DB, ledger *billing.Ledger, now func() time.Time, provider vector.Provider, logger *slog.Logger) rpc.Options {
	find := search.NewIndexCache(func(ctx context.Context, id tenant.ID, since int64) (search.Documents, error) {
		return search.LoadDocuments(ctx, s.Tenant(id, true), since)
	}, 1<<20)
	searcher := search.NewSearcher(search.Config{Indexes: find, Provider: provider, MaxBytes: 1 << 20, Vectors: func(ctx context.Context, id tenant.ID, model string, since int64) (vector.Vectors, error) {
		return search.LoadVectors(ctx, s.Tenant(id, true), model, since)
	}})
	return rpc.Options{
		WriteTimeout: 5 * time.Minute,
		Catalog:      rpcs, Store: s, Ledger: ledger, Keys: idempotency.NewKeys(s, ledger), Service: rpc.NewServiceCredential(serviceToken),
		Handlers: handlers.New(handlers.Config{Store: s, Kinds: kinds.All(), Indexes: find, Search: searcher, Jobs: &waker{}, BaseURL: "https://kith.example", Now: now}),
		Used:     func(string, time.Time) {}, Now: now, Logger: logger,
		Metrics: connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc { return next }),
	}
}

// ledger returns the sum of a member's entries of this month, their number, and
// the balance; -1 without one.
func (p *paid) ledger(t rapidOrTest, owner tenant.ID) (sum, entries, balance int) {
	t.Helper()
	p.flush(t)
	period := billing.MonthOf(p.time()).Period
	query := func(statement string, targets ...any) {
		statement = strings.NewReplacer("{owner}", "'"+string(owner)+"'", "{period}", "'"+period+"'").Replace(statement)
		if err := p.db.QueryRow(statement).Scan(targets...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	query("SELECT coalesce(sum(delta), 0), count(*) FROM credit_entries WHERE tenant_id = {owner} AND period = {period}", &sum, &entries)
	query("SELECT coalesce(max(balance), -1) FROM credit_balances WHERE tenant_id = {owner} AND period = {period}", &balance)
	return sum, entries, balance
}

// flush writes the charges of reads that the processes have in memory.
func (p *paid) flush(t rapidOrTest) {
	t.Helper()
	for _, l := range p.ledgers {
		if err := l.Flush(context.Background()); err != nil {
			t.Fatalf("write the charges of reads: %v", err)
		}
	}
}

type rapidOrTest interface {
	Helper()
	Fatalf(format string, args ...any)
}

// wantBalance checks that the ledger sums up to the balance, and to what is wanted.
func (p *paid) wantBalance(t rapidOrTest, want int) {
	t.Helper()
	sum, _, balance := p.ledger(t, p.member)
	if sum != balance || balance != want {
		t.Fatalf("the entries sum up to %d, the balance is %d, want %d", sum, balance, want)
	}
}

// count returns the number of rows of a table that meet a condition.
func (p *paid) count(t *testing.T, table, condition string) int {
	t.Helper()
	p.flush(t)
	var n int
	if err := p.db.QueryRow("SELECT count(*) FROM " + table + " WHERE " + condition).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (p *paid) exec(t *testing.T, statement string) {
	t.Helper()
	p.flush(t)
	if _, err := p.db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// together runs calls at once and returns their answers.
func together(n int, call func(i int) answer) []answer {
	answers := make([]answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { answers[i] = call(i) })
	}
	wg.Wait()
	return answers
}
