package oauth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// flaky makes one chosen call of a database fail.
type flaky struct {
	dbtest.Breaker

	url   string
	mu    sync.Mutex
	calls []string
}

// failure says which call fails, and how.
type failure struct {
	// call is the number of the call, from 0.
	call int
	// late: the call is executed and then fails, so that only its result is lost.
	late bool
	err  error
}

// innards is text that no response may contain.
const innards = "dial tcp 10.0.0.7:5432 password=hunter2"

// flakySite returns a site on a database of which one chosen call fails.
func flakySite(t *testing.T, o webtest.Options) (*webtest.Site, *flaky) {
	t.Helper()
	f := &flaky{url: dbtest.SQLite(t)}
	o.Breaker = &f.Breaker
	return webtest.Start(t, f.url, o), f
}

// plan makes a call fail and clears the recorded calls.
func (f *flaky) plan(t *testing.T, fails failure) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
	behind := dbtest.OpenSQL(t, f.url)
	f.Set(func(statement string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls = append(f.calls, callOf(statement))
		if fails.err == nil || fails.call != len(f.calls)-1 {
			return nil
		}
		if fails.late && strings.Contains(statement, " ") {
			if _, err := behind.Exec(statement); err != nil {
				t.Error(err)
			}
		}
		return fails.err
	})
}

// callOf is the first word of a statement and its table, such as "UPDATE grants".
func callOf(statement string) string {
	word, rest, more := strings.Cut(statement, " ")
	if !more {
		return word
	}
	before := map[string]string{"SELECT": "FROM ", "INSERT": "INTO "}[word]
	_, table, _ := strings.Cut(rest, before)
	return word + " " + strings.Trim(strings.Fields(table)[0], `"`)
}

func (f *flaky) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.calls, ", ")
}

// scene is one request during an outage, and its result when it is repeated afterwards.
type scene struct {
	// calls are the statements outside transactions, and the ends of transactions.
	calls string
	// prepare sets everything up and returns the request.
	prepare func(t *testing.T, a agent, b *webtest.Browser) func() answer
	// again is the result of the same request after the outage; lost is its result if
	// the last call was executed and only its result was lost.
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

// wantPairs fails unless the member has n live grants after the response.
func wantPairs(n int) func(*testing.T, agent, *webtest.Browser, answer) {
	return func(t *testing.T, a agent, b *webtest.Browser, got answer) {
		t.Helper()
		if grants, err := oauth.ListGrants(t.Context(), a.site.Store, b.Owner); err != nil || len(grants) != n {
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
		if grants, err := oauth.ListGrants(t.Context(), a.site.Store, b.Owner); err != nil || len(grants) != 0 {
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
			calls: "SELECT clients, SELECT authorization_codes, BEGIN, COMMITTED",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				code := a.code(t, b)
				return func() answer { return a.exchange(t, code) }
			},
			again: wantPairs(1), lost: wantPairs(0),
		},
		"refresh": {
			calls: "SELECT clients, BEGIN, COMMITTED",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				pair := a.tokens(t, b)
				return func() answer { return a.refresh(t, pair.RefreshToken) }
			},
			again: wantPairs(1), lost: wantPairs(0),
		},
		"refresh with a key": {
			calls: "SELECT clients, BEGIN, COMMITTED",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				pair := a.tokens(t, b)
				return func() answer { return a.refreshWithKey(t, pair.RefreshToken) }
			},
			again: wantPairs(1), lost: wantPairs(1),
		},
		"revoke": {
			calls: "SELECT clients, UPDATE grants",
			prepare: func(t *testing.T, a agent, b *webtest.Browser) func() answer {
				pair := a.tokens(t, b)
				return func() answer { return a.revoke(t, pair.AccessToken) }
			},
			again: dead, lost: dead,
		},
		"authorize": {
			calls: "SELECT clients, SELECT login_sessions, BEGIN, COMMITTED, SELECT grants",
			prepare: func(_ *testing.T, a agent, b *webtest.Browser) func() answer {
				return func() answer { return ofPage(authorize(b, a.ask())) }
			},
			again: wantStatus(http.StatusOK), lost: wantStatus(http.StatusOK),
		},
		"consent": {
			calls: "SELECT login_sessions, BEGIN, COMMITTED", prepare: consent("allow"),
			again: wantSentBack("code"), lost: wantSentBack("code"),
		},
		"denial": {
			calls: "SELECT login_sessions, BEGIN, COMMITTED", prepare: consent("deny"),
			again: wantSentBack("error"), lost: wantSentBack("error"),
		},
		"consent without scopes": {
			calls: "SELECT login_sessions, BEGIN, SELECT authorization_requests, SELECT clients",
			prepare: func(_ *testing.T, a agent, b *webtest.Browser) func() answer {
				page := authorize(b, a.ask())
				return func() answer { return ofPage(decide(b, page, "allow", url.Values{"scope": nil})) }
			},
			again: wantStatus(http.StatusUnprocessableEntity), lost: wantStatus(http.StatusUnprocessableEntity),
		},
		"register": {
			calls: "INSERT clients",
			prepare: func(t *testing.T, a agent, _ *webtest.Browser) func() answer {
				return func() answer { return a.register(t, "application/json", `{"redirect_uris":["https://a.example/cb"]}`) }
			},
			again: wantStatus(http.StatusCreated), lost: wantStatus(http.StatusCreated),
		},
	}
}

// Each call of each endpoint fails in turn: before it is executed, and after. The
// response is never a 4xx, which would make a client delete its credentials.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	for name, c := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Recording a security event is no call that can fail the request.
			s, f := flakySite(t, webtest.Options{Auth: func(c *oauth.Config) { c.Events = nil }})
			a := newAgent(t, s)
			request := c.prepare(t, a, s.SignedIn(t, "healthy"))
			f.plan(t, failure{})
			request()
			if got := f.called(); got != c.calls {
				t.Fatalf("it calls %s", got)
			}
			outage := fault.Wrap(errors.New(innards), fault.Unavailable, "the store cannot be reached")
			calls := strings.Split(c.calls, ", ")
			for n, call := range calls {
				for kind, fails := range map[string]failure{
					"is an outage": {n, false, outage}, "is lost": {n, true, outage}, "is a bug": {n, false, errors.New(innards)},
				} {
					t.Run(call+" "+kind, func(t *testing.T) {
						b := s.SignedIn(t, fmt.Sprintf("m-%d-%s", n, strings.ReplaceAll(kind, " ", "-")))
						request := c.prepare(t, a, b)
						f.plan(t, fails)
						wantOutage(t, request(), fault.Is(fails.err, fault.Unavailable))
						f.Set(nil)
						if got := request(); n == len(calls)-1 && (fails.late || call == "COMMITTED") {
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

var formToken = regexp.MustCompile(`name="form_token" value="[^"]+"`)

// wantOutage fails unless the response is a 503 with Retry-After, or a 500 for an
// unknown error, without internal details.
func wantOutage(t *testing.T, got answer, passing bool) {
	t.Helper()
	if got.Status != http.StatusServiceUnavailable && (passing || got.Status != http.StatusInternalServerError) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if got.Header.Get("Location") != "" || got.AccessToken != "" || got.ClientID != "" {
		t.Errorf("it granted something: %v %s", got.Header, got.Body)
	}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") && got.Error != "server_error" {
		t.Errorf("the error is %q", got.Error)
	}
	told := formToken.ReplaceAllString(got.Body, "") // the token is random and may contain any word
	for _, word := range []string{"hunter2", "10.0.0.7", "dial", "injected", "SQL", "access_tokens", "store"} {
		if strings.Contains(told, word) {
			t.Errorf("%q is told: %s", word, got.Body)
		}
	}
}

// A statement in the middle of the transaction fails: the statements before it are
// rolled back, and the same request succeeds afterwards.
func TestTransactionsAreWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *webtest.Site, databaseURL string) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		code, pair := a.code(t, b), a.tokens(t, b)
		page := authorize(b, a.ask())
		mend := breakInserts(t, databaseURL, "access_tokens", "authorization_codes")
		wantOutage(t, a.exchange(t, code), db.IsPostgres(databaseURL))
		wantOutage(t, a.refresh(t, pair.RefreshToken), db.IsPostgres(databaseURL))
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
// PostgreSQL with the error of a full disk.
func breakInserts(t *testing.T, databaseURL string, tables ...string) (mend func()) {
	t.Helper()
	q, drop := dbtest.OpenSQL(t, databaseURL), "DROP TRIGGER broken_%[1]s"
	create := "CREATE TRIGGER broken_%[1]s BEFORE INSERT ON %[1]s BEGIN SELECT RAISE(ABORT, 'injected failure'); END"
	if db.IsPostgres(databaseURL) {
		statement(t, databaseURL, "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'injected failure' USING ERRCODE = '53100'; END$$")
		create = "CREATE TRIGGER broken_%[1]s BEFORE INSERT ON %[1]s FOR EACH ROW EXECUTE FUNCTION broken()"
		drop += " ON %[1]s"
	}
	exec := func(format string) {
		for _, table := range tables {
			if _, err := q.ExecContext(t.Context(), fmt.Sprintf(format, table)); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec(create)
	return func() { exec(drop) }
}
