package rpc_test

import (
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/rpc"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"

	"context"
)

// paid is a backend whose clock and credits a test chooses.
type paid struct {
	*bundle

	database string
	db       *sql.DB

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

// eachPaid calls test on each database, where the plan free gives so many credits.
func eachPaid(t *testing.T, free int, test func(t *testing.T, p *paid)) {
	t.Helper()
	storetest.Databases(t, func(t *testing.T, url string) { test(t, newPaid(t, url, free)) })
}

func newPaid(t testing.TB, url string, free int) *paid {
	t.Helper()
	p := &paid{database: url, db: storetest.OpenSQL(t, url), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	p.bundle = p.backend(t, rpcs, free)
	p.member = storetest.Member(t, p.store, "maria")
	p.bearer = storetest.Token(t, p.store, p.member, rpcs.Scopes()...)
	return p
}

// backend starts a process on the test's database.
func (p *paid) backend(t testing.TB, rpcs *catalog.Catalog, free int) *bundle {
	t.Helper()
	plans, err := credit.NewPlans(map[string]int{"free": free})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{URL: p.database, Now: p.time, Plans: plans, MaxConns: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	server := httptest.NewServer(newHandler(t, rpcs, s, p.time))
	t.Cleanup(server.Close)
	return &bundle{url: server.URL, store: s, rpcs: rpcs, member: p.memberID(), bearer: p.bearerOf()}
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

func newHandler(t testing.TB, rpcs *catalog.Catalog, s *store.Store, now func() time.Time) http.Handler {
	t.Helper()
	return newHandlerWith(t, rpcs, s, now, embedding.Local{})
}

// newHandlerWith is newHandler with an embedding provider.
func newHandlerWith(t testing.TB, rpcs *catalog.Catalog, s *store.Store, now func() time.Time, provider embedding.Provider) http.Handler {
	t.Helper()
	return newHandlerThat(t, rpcs, s, now, provider, slog.New(slog.DiscardHandler))
}

// newHandlerThat is newHandlerWith and logs.
func newHandlerThat(t testing.TB, rpcs *catalog.Catalog, s *store.Store, now func() time.Time, provider embedding.Provider, logger *slog.Logger) http.Handler {
	t.Helper()
	find := finder.New(func(ctx context.Context, id tenant.ID, since int64) (finder.Documents, error) {
		return s.Tenant(id, true).LoadDocuments(ctx, since)
	}, 1<<20)
	searcher := recall.New(recall.Config{Finder: find, Provider: provider, MaxBytes: 1 << 20, Vectors: func(ctx context.Context, id tenant.ID, model string, since int64) (embedding.Vectors, error) {
		return s.Tenant(id, true).LoadVectors(ctx, model, since)
	}})
	handler, err := rpc.NewHandler(rpc.Options{
		Catalog: rpcs, Store: s, Finder: find, Recall: searcher, Service: rpc.NewServiceCredential(serviceToken),
		Used: func(string, time.Time) {}, Jobs: &waker{}, BaseURL: "https://kith.example", Now: now, Logger: logger,
		Metrics: connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc { return next }),
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// ledger returns the sum of a member's entries of this month, their number, and
// the balance; -1 without one.
func (p *paid) ledger(t rapidOrTest, owner tenant.ID) (sum, entries, balance int) {
	t.Helper()
	period := credit.MonthOf(p.time()).Period
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
	var n int
	if err := p.db.QueryRow("SELECT count(*) FROM " + table + " WHERE " + condition).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (p *paid) exec(t *testing.T, statement string) {
	t.Helper()
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
