package authserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/authserver"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// flaky is what the server keeps things in, of which one chosen call fails.
type flaky struct {
	grant.Store
	authserver.Sessions

	mu    sync.Mutex
	calls []string
	fails failure
}

// failure says which call fails, and how.
type failure struct {
	// call is the number of the call, from 0.
	call int
	// late: it fails when it was done already, so that only its answer is lost.
	late bool
	err  error
}

// innards is what no answer may tell.
const innards = "dial tcp 10.0.0.7:5432 password=hunter2"

// plan makes a call fail and forgets what was called before.
func (f *flaky) plan(fails failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fails = nil, fails
}

func (f *flaky) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// next counts a call and returns what befalls it.
func (f *flaky) next(name string) failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name)
	if f.fails.err != nil && f.fails.call == len(f.calls)-1 {
		return f.fails
	}
	return failure{}
}

func guard[T any](f *flaky, name string, do func() (T, error)) (T, error) {
	var nothing T
	fails := f.next(name)
	if fails.err != nil && !fails.late {
		return nothing, fails.err
	}
	got, err := do()
	if fails.err != nil {
		return nothing, fails.err
	}
	return got, err
}

func guardError(f *flaky, name string, do func() error) error {
	_, err := guard(f, name, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (f *flaky) Current(r *http.Request) (*session.LoginSession, error) {
	return guard(f, "Current", func() (*session.LoginSession, error) { return f.Sessions.Current(r) })
}

func (f *flaky) CreateClient(ctx context.Context, c *grant.Client) error {
	return guardError(f, "CreateClient", func() error { return f.Store.CreateClient(ctx, c) })
}

func (f *flaky) GetClient(ctx context.Context, id string) (*grant.Client, error) {
	return guard(f, "GetClient", func() (*grant.Client, error) { return f.Store.GetClient(ctx, id) })
}

func (f *flaky) CreateRequest(ctx context.Context, r *grant.Request) error {
	return guardError(f, "CreateRequest", func() error { return f.Store.CreateRequest(ctx, r) })
}

func (f *flaky) GetRequest(ctx context.Context, hash, sessionHash string) (*grant.Request, error) {
	return guard(f, "GetRequest", func() (*grant.Request, error) { return f.Store.GetRequest(ctx, hash, sessionHash) })
}

func (f *flaky) DecideRequest(ctx context.Context, hash, sessionHash string, code *grant.AuthorizationCode) (*grant.Request, error) {
	return guard(f, "DecideRequest", func() (*grant.Request, error) { return f.Store.DecideRequest(ctx, hash, sessionHash, code) })
}

func (f *flaky) GetCode(ctx context.Context, hash string) (*grant.AuthorizationCode, error) {
	return guard(f, "GetCode", func() (*grant.AuthorizationCode, error) { return f.Store.GetCode(ctx, hash) })
}

func (f *flaky) RedeemCode(ctx context.Context, hash string, pair grant.Pair) (*grant.Grant, error) {
	return guard(f, "RedeemCode", func() (*grant.Grant, error) { return f.Store.RedeemCode(ctx, hash, pair) })
}

func (f *flaky) RotateRefreshToken(ctx context.Context, hash, clientID string, pair grant.Pair) (*grant.Grant, error) {
	return guard(f, "RotateRefreshToken", func() (*grant.Grant, error) {
		return f.Store.RotateRefreshToken(ctx, hash, clientID, pair)
	})
}

func (f *flaky) RevokeToken(ctx context.Context, hash, clientID string) (owner tenant.ID, err error) {
	return owner, guardError(f, "RevokeToken", func() error { owner, err = f.Store.RevokeToken(ctx, hash, clientID); return err })
}

// scene is one request that meets an outage, and what it does once that is over.
type scene struct {
	calls string
	// prepare gets everything ready and returns the request.
	prepare func(t *testing.T, a agent, b *webtest.Browser) func() answer
	// again is what the same request brings when the outage is over; lost, when its
	// last call was done and only the answer was lost.
	again, lost func(t *testing.T, a agent, b *webtest.Browser, got answer)
}

func ofPage(p *webtest.Page) answer {
	return answer{Status: p.Status, Header: p.Header, Body: p.Body}
}

func wantStatus(status int) func(*testing.T, agent, *webtest.Browser, answer) {
	return func(t *testing.T, _ agent, _ *webtest.Browser, got answer) {
		t.Helper()
		if got.Status != status {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
}

// wantPairs fails unless the member has n live grants, after the answer given.
func wantPairs(n int) func(*testing.T, agent, *webtest.Browser, answer) {
	return func(t *testing.T, a agent, b *webtest.Browser, got answer) {
		t.Helper()
		if grants, err := a.site.Store.ListGrants(t.Context(), b.Owner); err != nil || len(grants) != n {
			t.Errorf("%d grants live, %v", len(grants), err)
		}
		if n == 0 {
			wantError(t, got, "invalid_grant")
			return
		}
		wantTokens(t, got)
		a.wantAlive(t, got)
	}
}

func wantSentBack(member string) func(*testing.T, agent, *webtest.Browser, answer) {
	return func(t *testing.T, a agent, _ *webtest.Browser, got answer) {
		t.Helper()
		to, err := url.Parse(got.Header.Get("Location"))
		if err != nil || got.Status != http.StatusSeeOther || !to.Query().Has(member) {
			t.Fatalf("%d to %v", got.Status, to)
		}
		if member == "code" {
			wantTokens(t, a.exchange(t, to.Query().Get("code")))
		}
	}
}

func scenes() map[string]scene {
	dead := func(t *testing.T, a agent, b *webtest.Browser, got answer) {
		t.Helper()
		wantStatus(http.StatusOK)(t, a, b, got)
		if grants, err := a.site.Store.ListGrants(t.Context(), b.Owner); err != nil || len(grants) != 0 {
			t.Errorf("%d grants live, %v", len(grants), err)
		}
	}
	consent := func(decision string) func(t *testing.T, a agent, b *webtest.Browser) func() answer {
		return func(_ *testing.T, a agent, b *webtest.Browser) func() answer {
			page := authorize(b, a.ask())
			return func() answer { return ofPage(decide(b, page, decision, nil)) }
		}
	}
	return map[string]scene{
		"code exchange": {
			calls: "GetClient GetCode RedeemCode",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				code := a.code(t, b)
				return func() answer { return a.exchange(t, code) }
			},
			again: wantPairs(1), lost: wantPairs(0),
		},
		"refresh": {
			calls: "GetClient RotateRefreshToken",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				pair := a.tokens(t, b)
				return func() answer { return a.refresh(t, pair.RefreshToken) }
			},
			again: wantPairs(1), lost: wantPairs(0),
		},
		"revoke": {
			calls: "GetClient RevokeToken",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				pair := a.tokens(t, b)
				return func() answer { return a.revoke(t, pair.AccessToken) }
			},
			again: dead, lost: dead,
		},
		"authorize": {
			calls: "GetClient Current CreateRequest",
			prepare: func(_ *testing.T, a agent, b *webtest.Browser) func() answer {
				return func() answer { return ofPage(authorize(b, a.ask())) }
			},
			again: wantStatus(http.StatusOK), lost: wantStatus(http.StatusOK),
		},
		"consent": {
			calls: "Current DecideRequest", prepare: consent("allow"),
			again: wantSentBack("code"), lost: wantSentBack("code"),
		},
		"denial": {
			calls: "Current DecideRequest", prepare: consent("deny"),
			again: wantSentBack("error"), lost: wantSentBack("error"),
		},
		"consent to nothing": {
			calls: "Current DecideRequest GetRequest GetClient",
			prepare: func(_ *testing.T, a agent, b *webtest.Browser) func() answer {
				page := authorize(b, a.ask())
				return func() answer { return ofPage(decide(b, page, "allow", url.Values{"scope": nil})) }
			},
			again: wantStatus(http.StatusUnprocessableEntity), lost: wantStatus(http.StatusUnprocessableEntity),
		},
		"register": {
			calls: "CreateClient",
			prepare: func(t *testing.T, a agent, _ *webtest.Browser) func() answer {
				return func() answer { return a.register(t, "application/json", `{"redirect_uris":["https://a.example/cb"]}`) }
			},
			again: wantStatus(http.StatusCreated), lost: wantStatus(http.StatusCreated),
		},
	}
}

// Each call of each endpoint fails in turn: before it is done, and after it is
// done. The answer is never a 4xx, which would make a client drop what it has.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	for name, c := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &flaky{}
			s := webtest.New(t, webtest.Options{Auth: func(c *authserver.Config) {
				f.Store, f.Sessions = c.Store, c.Sessions
				c.Store, c.Sessions = f, f
			}})
			a := newAgent(t, s)
			request := c.prepare(t, a, s.SignedIn(t, "healthy"))
			f.plan(failure{})
			request()
			if got := strings.Join(f.called(), " "); got != c.calls {
				t.Fatalf("it calls %s", got)
			}
			outage := fault.Wrap(errors.New(innards), fault.Unavailable, "the store cannot be reached")
			for n, call := range strings.Fields(c.calls) {
				for kind, fails := range map[string]failure{
					"is an outage": {n, false, outage}, "is lost": {n, true, outage}, "is a bug": {n, false, errors.New(innards)},
				} {
					t.Run(call+" "+kind, func(t *testing.T) {
						b := s.SignedIn(t, fmt.Sprintf("m-%d-%s", n, strings.ReplaceAll(kind, " ", "-")))
						request := c.prepare(t, a, b)
						f.plan(fails)
						wantOutage(t, request(), fault.Is(fails.err, fault.Unavailable))
						f.plan(failure{})
						if got := request(); fails.late && n == len(strings.Fields(c.calls))-1 {
							c.lost(t, a, b, got)
						} else {
							c.again(t, a, b, got)
						}
					})
				}
			}
		})
	}
}

// wantOutage fails unless the answer is a 503 that says when to come back (a 500
// will do where nobody knows what happened) and nothing of the inside.
func wantOutage(t *testing.T, got answer, passing bool) {
	t.Helper()
	if got.Status != http.StatusServiceUnavailable && (passing || got.Status != http.StatusInternalServerError) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if got.Header.Get("Location") != "" || got.AccessToken != "" || got.ClientID != "" {
		t.Errorf("it gave something: %v %s", got.Header, got.Body)
	}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") && got.Error != "server_error" {
		t.Errorf("the error is %q", got.Error)
	}
	for _, word := range []string{"hunter2", "10.0.0.7", "dial", "injected", "SQL", "access_tokens", "store"} {
		if strings.Contains(got.Body, word) {
			t.Errorf("%q is told: %s", word, got.Body)
		}
	}
}

// A statement in the middle of the transaction fails: what came before it is
// undone, and the same request succeeds afterwards.
func TestTransactionsAreWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *webtest.Site, databaseURL string) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		code, pair := a.code(t, b), a.tokens(t, b)
		page := authorize(b, a.ask())
		mend := breakInserts(t, databaseURL, "access_tokens", "authorization_codes")
		wantOutage(t, a.exchange(t, code), store.IsPostgres(databaseURL))
		wantOutage(t, a.refresh(t, pair.RefreshToken), store.IsPostgres(databaseURL))
		wantOutage(t, ofPage(decide(b, page, "allow", nil)), true)
		if a.principal(t, pair.AccessToken) == nil {
			t.Error("the access token is gone")
		}
		mend()
		wantTokens(t, a.exchange(t, code))
		a.wantAlive(t, pair)
		wantTokens(t, a.exchange(t, a.sentBack(t, decide(b, page, "allow", nil), callback).Get("code")))
	})
}

// breakInserts makes every insert into the tables fail until mend is called; in
// PostgreSQL as if the disk were full.
func breakInserts(t *testing.T, databaseURL string, tables ...string) (mend func()) {
	t.Helper()
	db, drop := storetest.OpenSQL(t, databaseURL), "DROP TRIGGER broken_%[1]s"
	create := "CREATE TRIGGER broken_%[1]s BEFORE INSERT ON %[1]s BEGIN SELECT RAISE(ABORT, 'injected failure'); END"
	if store.IsPostgres(databaseURL) {
		statement(t, databaseURL, "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'injected failure' USING ERRCODE = '53100'; END$$")
		create = "CREATE TRIGGER broken_%[1]s BEFORE INSERT ON %[1]s FOR EACH ROW EXECUTE FUNCTION broken()"
		drop += " ON %[1]s"
	}
	exec := func(format string) {
		for _, table := range tables {
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(format, table)); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec(create)
	return func() { exec(drop) }
}
