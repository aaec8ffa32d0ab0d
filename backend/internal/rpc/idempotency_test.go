package rpc_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/proto/connectheader"
)

// withKey makes a call under a key, with the body as its fingerprint.
func (b *bundle) withKey(t *testing.T, key, procedure, body string, headers ...string) answer {
	t.Helper()
	fingerprint := fmt.Sprintf("%.100s", procedure+body)
	return b.call(t, procedure, body, append([]string{connectheader.IdempotencyKey, key, connectheader.Fingerprint, fingerprint}, headers...)...)
}

func (a answer) state() string { return a.header.Get(connectheader.Idempotency) }

// wantReplay checks that again equals first, and is marked as a replay.
func wantReplay(t *testing.T, first, again answer) {
	t.Helper()
	if first.state() != "" || again.state() != "replayed" {
		t.Errorf("states %q and %q", first.state(), again.state())
	}
	if first.status != again.status || !reflect.DeepEqual(first.body, again.body) {
		t.Errorf("%v, then %v", first.body, again.body)
	}
	for _, name := range []string{connectheader.CreditsCharged, connectheader.CreditsRemaining, connectheader.CreditsReset} {
		if first.header.Get(name) != again.header.Get(name) {
			t.Errorf("%s: %q, then %q", name, first.header.Get(name), again.header.Get(name))
		}
	}
}

const (
	ana        = `{"name":"Ana"}`
	refuseCall = "/kith.access.v1.AccessService/RefuseCall"
)

func TestWriteWithAKeyIsDoneOnce(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		other := p.backend(t, p.rpcs, 100)
		done := 0
		for _, got := range together(40, func(i int) answer {
			return []*bundle{p.bundle, other}[i%2].withKey(t, "k", create, ana)
		}) {
			switch {
			case got.code() == "":
				done++
			case got.code() != "aborted" || got.state() != "in_flight":
				t.Errorf("got %v", got)
			}
		}
		if n := p.count(t, "connections", "name = 'Ana'"); n != 1 || done == 0 {
			t.Errorf("%d answers, %d effects", done, n)
		}
		p.wantBalance(t, 98)
		wantReplay(t, answer{status: 200, header: http.Header{connectheader.CreditsCharged: {"2"}, connectheader.CreditsRemaining: {"98"}, connectheader.CreditsReset: {"2026-12-01T00:00:00Z"}},
			body: other.withKey(t, "k", create, ana).body}, p.withKey(t, "k", create, ana))
	})
}

func TestReplays(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for name, c := range map[string]struct {
			procedure, body string
			price           int
		}{
			"write":                {create, ana, 2},
			"read":                 {searchPath, anything, 1},
			"read without a price": {accountPath, `{}`, 0},
			"failed write":         {update, `{"id":"con_ch541ck879","name":"X"}`, 0},
			"failed read":          {get, `{"id":"con_ch541ck879"}`, 0},
			"rule of the domain":   {create, `{"name":" "}`, 0},
		} {
			before := p.count(t, "credit_entries", "reason = 'calls'")
			first := p.withKey(t, name, c.procedure, c.body)
			wantReplay(t, first, p.withKey(t, name, c.procedure, c.body))
			wantReplay(t, first, p.withKey(t, name, c.procedure, c.body))
			if n := p.count(t, "credit_entries", "reason = 'calls'") - before; n != min(c.price, 1) {
				t.Errorf("%s: %d charges", name, n)
			}
		}
		p.wantBalance(t, 97)
	})
}

// A failure leaves nothing of its effect, and stays a failure when the reason for
// it is gone.
func TestFailedWriteLeavesItsResponseAlone(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.call(t, create, `{"name":"Ana","emails":["ana@x.example"]}`)
		duplicate := `{"emails":["ana@x.example"],"on_duplicate":"error"}`
		first := p.withKey(t, "k", create, duplicate)
		if first.code() != "already_exists" {
			t.Fatalf("got %v", first.body)
		}
		p.exec(t, "DELETE FROM connections")
		wantReplay(t, first, p.withKey(t, "k", create, duplicate))
		p.wantBalance(t, 98)
	})
}

func TestOtherRequestUnderTheKey(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for name, first := range map[string][2]string{"a write": {create, ana}, "a read": {searchPath, anything}} {
			p.withKey(t, name, first[0], first[1])
			for _, other := range [][2]string{{create, `{"name":"Bo"}`}, {searchPath, `{"query":"bo"}`}} {
				if got := p.withKey(t, name, other[0], other[1]); got.code() != "failed_precondition" || got.state() != "reused" {
					t.Errorf("after %s: %v", name, got)
				}
			}
		}
		p.wantBalance(t, 97)
	})
}

// A key that another request has is refused at once, by the same process and by
// another one.
func TestInFlightIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		credential, _ := p.call(t, accountPath, `{}`).at("credential", "id").(string)
		if db.IsPostgres(p.database) {
			// Another process is in its transaction.
			tx, err := p.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", credential+"\nk"); err != nil {
				t.Fatal(err)
			}
			if got := p.withKey(t, "k", create, ana); got.code() != "aborted" || got.state() != "in_flight" {
				t.Errorf("got %v", got)
			}
			if got := p.withKey(t, "k", searchPath, anything); got.code() != "aborted" || got.state() != "in_flight" {
				t.Errorf("got %v", got)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.withKey(t, "k", create, ana); got.code() != "" {
			t.Errorf("afterwards: %v", got.body)
		}
		p.wantBalance(t, 98)
	})
}

// Whatever the answer to a call with a key is: the same body gets it again, even after its reason is
// gone, and another body is refused.
func TestEveryAnswerBindsItsKey(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		reader := []string{"Authorization", "Bearer " + dbtest.Token(t, p.store, p.member, "connections")}
		limited := []string{"Authorization", "Bearer " + p.limitedTo(t, "search_connections")}
		refused := `{"error":{"code":-32602,"message":"There is no such tool.","data":"{\"a\":1}"}}`
		for name, c := range map[string]struct {
			procedure, body, code string
			caller                []string
		}{
			"a result":                  {searchPath, anything, "", nil},
			"a write":                   {create, ana, "", nil},
			"a failed read":             {get, `{"id":"con_ch541ck879"}`, "not_found", nil},
			"a failed write":            {update, `{"id":"con_ch541ck879","name":"X"}`, "not_found", nil},
			"a rule of the domain":      {create, `{"name":" "}`, "invalid_argument", nil},
			"an unknown argument":       {create, `{"nam":"x"}`, "invalid_argument", nil},
			"a bound of the contract":   {searchPath, `{"query":""}`, "invalid_argument", nil},
			"arguments that are a list": {searchPath, `[]`, "invalid_argument", nil},
			"a missing scope":           {create, ana, "permission_denied", reader},
			"a tool beyond the limit":   {create, ana, "permission_denied", limited},
			"a refusal of the edge":     {refuseCall, refused, "invalid_argument", nil},
			"a refusal, limited token":  {refuseCall, refused, "invalid_argument", limited},
		} {
			t.Run(name, func(t *testing.T) {
				first := p.withKey(t, name, c.procedure, c.body, c.caller...)
				if first.code() != c.code {
					t.Fatalf("got %v", first)
				}
				wantReplay(t, first, p.withKey(t, name, c.procedure, c.body, c.caller...))
				for _, other := range [][2]string{{searchPath, `{"query":"other"}`}, {searchPath, `{"query":0}`}, {create, `{"name":"Bo"}`}, {refuseCall, `{"error":{"code":-32602}}`}} {
					if got := p.withKey(t, name, other[0], other[1], c.caller...); got.code() != "failed_precondition" || got.state() != "reused" {
						t.Errorf("another body: %s got %v", other, got)
					}
				}
				wantReplay(t, first, p.withKey(t, name, c.procedure, c.body, c.caller...))
			})
		}
	})
}

// A refusal is repeated when the caller may make the call by then; so is a refusal of the edge,
// when the same bytes reach a tool.
func TestRefusalsStay(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		fingerprint := []string{connectheader.IdempotencyKey, "e", connectheader.Fingerprint, "f"}
		p.exec(t, "UPDATE personal_tokens SET scopes = 'connections'")
		first := p.withKey(t, "k", create, ana)
		edges := p.call(t, refuseCall, `{"error":{"code":-32001,"message":"Refused."}}`, fingerprint...)
		p.exec(t, "UPDATE personal_tokens SET scopes = 'connections write'")
		wantReplay(t, first, p.withKey(t, "k", create, ana))
		wantReplay(t, edges, p.call(t, create, ana, fingerprint...))
		if n := p.count(t, "connections", "1 = 1"); n != 0 || edges.code() != "invalid_argument" {
			t.Errorf("%d connections; %v", n, edges)
		}
		p.wantBalance(t, 100)
	})
}

// A call that runs out of credits stays refused under its key, also with new credits.
func TestOutOfCreditsBindsItsKey(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1, func(t *testing.T, p *paid) {
		p.advance(9 * 24 * time.Hour) // the last day of the month
		p.call(t, searchPath, anything)
		firsts := map[string]answer{}
		calls := map[string]string{create: `{"name":"Bo"}`, searchPath: anything}
		for procedure, body := range calls {
			firsts[procedure] = p.withKey(t, procedure, procedure, body)
			if got := firsts[procedure]; got.code() != "resource_exhausted" || got.header.Get(connectheader.CreditsRemaining) != "0" {
				t.Errorf("out of credits: %v", got)
			}
		}
		p.advance(13 * time.Hour) // the next month
		for procedure, body := range calls {
			wantReplay(t, firsts[procedure], p.withKey(t, procedure, procedure, body))
			if got := p.withKey(t, procedure, procedure, `{"name":"Cy"}`); got.state() != "reused" {
				t.Errorf("another body: %v", got)
			}
		}
		p.wantBalance(t, 1)
	})
}

// After an invalid credential, an outage or an error of the service, the key can be used with another
// body.
func TestWhatLeavesTheKeyFree(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for name, bearer := range map[string]string{"no credential": "", "wrong bearer": "Bearer kith_pat_x"} {
			for _, procedure := range []string{create, refuseCall} {
				if got := p.withKey(t, "k", procedure, ana, "Authorization", bearer); got.code() != "unauthenticated" || got.state() != "" {
					t.Errorf("%s: %v", name, got)
				}
			}
		}
		if got := p.withKey(t, "k", create, ana, connectheader.ServiceToken, "wrong"); got.code() != "unavailable" {
			t.Errorf("without the service credential: %v", got)
		}
		if n := p.count(t, "idempotency_keys", "1 = 1"); n != 0 {
			t.Errorf("%d answers are kept", n)
		}
		if got := p.withKey(t, "k", create, `{"name":"Bo"}`); got.code() != "" || got.state() != "" {
			t.Errorf("the key is spent: %v", got)
		}
	})
}

// A caller that has lost the permission does not get the stored answer.
func TestReplayAsksForPermissionAgain(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.withKey(t, "w", create, ana)
		p.withKey(t, "r", searchPath, anything)
		p.exec(t, "UPDATE personal_tokens SET scopes = 'connections'")
		if got := p.withKey(t, "w", create, ana); got.code() != "permission_denied" || got.state() != "" {
			t.Errorf("without the scope: %v", got)
		}
		if got := p.withKey(t, "r", searchPath, anything); got.state() != "replayed" {
			t.Errorf("with the scope: %v", got)
		}
		p.exec(t, "UPDATE personal_tokens SET revoked_at = '2026-11-21 12:00:00'")
		if got := p.withKey(t, "r", searchPath, anything); got.code() != "unauthenticated" || got.state() != "" {
			t.Errorf("revoked: %v", got)
		}
	})
}

func TestKeysExpire(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		first := p.withKey(t, "k", create, ana)
		p.advance(24*time.Hour - time.Second)
		wantReplay(t, first, p.withKey(t, "k", create, ana))
		p.advance(time.Second)
		if got := p.withKey(t, "k", searchPath, anything); got.state() != "" || got.code() != "" {
			t.Errorf("after a day: %v", got)
		}
		if n := p.count(t, "idempotency_keys", "1 = 1"); n != 1 {
			t.Errorf("%d rows", n)
		}
		p.advance(24 * time.Hour)
		swept, err := retention.Sweep(t.Context(), p.store, p.time())
		if err != nil || swept.Keys != 1 {
			t.Errorf("swept %d, %v", swept.Keys, err)
		}
		p.wantBalance(t, 97)
	})
}

func TestKeysBelongToTheirCredential(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.withKey(t, "k", create, ana)
		second := dbtest.Token(t, p.store, p.member, p.rpcs.Scopes()...)
		other := dbtest.Token(t, p.store, dbtest.Member(t, p.store, "other"), p.rpcs.Scopes()...)
		for _, bearer := range []string{second, other} {
			got := p.withKey(t, "k", create, ana, "Authorization", "Bearer "+bearer)
			if got.code() != "" || got.state() != "" {
				t.Errorf("got %v", got)
			}
		}
		if n := p.count(t, "connections", "name = 'Ana'"); n != 3 {
			t.Errorf("%d connections", n)
		}
	})
}

// The visitors of the sandbox share a credential, so their addresses tell them apart.
func TestKeysOfSandboxVisitors(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.exec(t, "UPDATE tenant_states SET read_only = TRUE")
		first := p.withKey(t, "k", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.1")
		if got := p.withKey(t, "k", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.2"); got.state() != "" {
			t.Errorf("another address: %v", got)
		}
		if got := p.withKey(t, "k", searchPath, `{"query":"y"}`, connectheader.SandboxVisitor, "192.0.2.1"); got.state() != "reused" {
			t.Errorf("another query: %v", got)
		}
		wantReplay(t, first, p.withKey(t, "k", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.1"))
		if n := p.count(t, "idempotency_keys", "tenant_id IS NULL AND scope = 'address:192.0.2.1'"); n != 1 {
			t.Errorf("%d rows of the address", n)
		}
	})
}

// The last step of the transaction fails, as when the process dies there: nothing of the
// call is stored, and repeating it does all of it.
func TestCrashBeforeTheCommit(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		const refuse = "kith test: the process died"
		if db.IsPostgres(p.database) {
			p.exec(t, "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION '"+refuse+"'; END$$")
			p.exec(t, "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON idempotency_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION die()")
		} else {
			p.exec(t, "CREATE TRIGGER die AFTER INSERT ON idempotency_keys BEGIN SELECT RAISE(ABORT, '"+refuse+"'); END")
		}
		calls := map[string][2]string{"w": {create, ana}, "r": {searchPath, anything}, "f": {get, `{"id":"con_ch541ck879"}`}}
		for key, c := range calls {
			if got := p.withKey(t, key, c[0], c[1]); got.code() != "internal" || strings.Contains(got.message(), refuse) {
				t.Errorf("%s: %v", key, got.body)
			}
		}
		for table, condition := range map[string]string{"connections": "1 = 1", "changes": "1 = 1", "idempotency_keys": "1 = 1", "credit_entries": "reason = 'calls'"} {
			if n := p.count(t, table, condition); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
		p.exec(t, map[bool]string{true: "DROP TRIGGER die ON idempotency_keys", false: "DROP TRIGGER die"}[db.IsPostgres(p.database)])
		for key, c := range calls {
			first := p.withKey(t, key, c[0], c[1])
			wantReplay(t, first, p.withKey(t, key, c[0], c[1]))
		}
		p.wantBalance(t, 97)
	})
}

// A write continues when its caller disconnects, and the next attempt gets its answer.
func TestCallerHangsUp(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		hold, err := p.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hold.Exec("UPDATE tenant_states SET data_version = data_version"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // long enough to begin the write on a busy machine
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+create, strings.NewReader(ana))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", connectheader.ServiceToken: serviceToken, "Authorization": "Bearer " + p.bearer,
			connectheader.IdempotencyKey: "k", connectheader.Fingerprint: create + ana,
		} {
			r.Header.Set(name, value)
		}
		if _, err := http.DefaultClient.Do(r); err == nil {
			t.Fatal("the caller did not hang up")
		}
		if got := p.withKey(t, "k", create, ana); got.state() != "in_flight" {
			t.Errorf("while the first is at work: %v", got)
		}
		if err := hold.Rollback(); err != nil {
			t.Fatal(err)
		}
		got := p.withKey(t, "k", create, ana)
		for got.state() == "in_flight" {
			got = p.withKey(t, "k", create, ana)
		}
		if got.state() != "replayed" || got.at("connection", "name") != "Ana" {
			t.Errorf("the next attempt: %v", got)
		}
		p.wantBalance(t, 98)
	})
}

// A large answer to a read is not kept: the read is done again. Its key is bound all the same.
func TestLargeAnswersAreNotKept(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		made := p.call(t, create, ana)
		id, _ := made.at("connection", "id").(string)
		for range 4 {
			p.call(t, addNote, `{"connection_ids":["`+id+`"],"body":"`+strings.Repeat("x", 20_000)+`"}`)
		}
		p.exec(t, "UPDATE tenant_states SET read_only = TRUE")
		for _, c := range []struct{ body, again string }{
			{`{"id":"` + id + `"}`, "replayed"},
			{`{"id":"` + id + `","include":["notes"]}`, ""},
		} {
			p.withKey(t, c.body[:20]+c.again, get, c.body, connectheader.SandboxVisitor, "192.0.2.1")
			if got := p.withKey(t, c.body[:20]+c.again, get, c.body, connectheader.SandboxVisitor, "192.0.2.1"); got.state() != c.again || got.code() != "" {
				t.Errorf("%s: %q %v", c.body, got.state(), got.code())
			}
			if got := p.withKey(t, c.body[:20]+c.again, searchPath, anything, connectheader.SandboxVisitor, "192.0.2.1"); got.state() != "reused" {
				t.Errorf("another request with the key of %s: %q %v", c.body, got.state(), got.body)
			}
		}
	})
}

// All credentials of a member share a bound, which does not touch other members.
func TestKeysOfAMemberAreBounded(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for i := range 2 {
			p.exec(t, fmt.Sprintf("INSERT INTO idempotency_keys (scope, key, tenant_id, fingerprint, answer, expires_at) VALUES ('pat_other_%d', 'k', '%s', 'f', %s, '2026-11-22 12:00:00')",
				i, p.member, map[bool]string{true: "convert_to(repeat('x', 67108864), 'UTF8')", false: "zeroblob(67108864)"}[db.IsPostgres(p.database)]))
		}
		got := p.withKey(t, "one more", create, ana)
		if got.code() != "resource_exhausted" || !strings.Contains(got.message(), "128 MiB") {
			t.Errorf("got %v", got.body)
		}
		if got := p.call(t, create, ana); got.code() != "" {
			t.Errorf("without a key: %v", got.body)
		}
		p.member = dbtest.Member(t, p.store, "ben")
		p.bearer = dbtest.Token(t, p.store, p.member, p.rpcs.Scopes()...)
		if got := p.withKey(t, "one more", create, ana); got.code() != "" {
			t.Errorf("another member: %v", got.body)
		}
	})
}

func TestKeysOfAScopeAreBounded(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.exec(t, "UPDATE tenant_states SET read_only = TRUE")
		p.withKey(t, "old", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.1")
		p.exec(t, "DELETE FROM idempotency_keys")
		tx, err := p.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			statement := fmt.Sprintf("INSERT INTO idempotency_keys (scope, key, tenant_id, fingerprint, answer, expires_at) VALUES ('address:192.0.2.7', 'k%d', NULL, 'f', '', '2026-11-22 12:00:00')", i)
			if _, err := tx.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		got := p.withKey(t, "one more", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.7")
		if got.code() != "resource_exhausted" || !strings.Contains(got.message(), "at most 1000") {
			t.Errorf("got %v", got.body)
		}
		if got := p.withKey(t, "one more", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.8"); got.code() != "" {
			t.Errorf("another address: %v", got.body)
		}
		p.exec(t, "DELETE FROM idempotency_keys WHERE key = 'k7'")
		if got := p.withKey(t, "one more", searchPath, anything, connectheader.SandboxVisitor, "192.0.2.7"); got.code() != "" {
			t.Errorf("with room again: %v", got.body)
		}
	})
}

func TestKeysThatTheEdgeWouldNotSend(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		for name, headers := range map[string][]string{
			"too long":       {connectheader.IdempotencyKey, strings.Repeat("k", 256), connectheader.Fingerprint, "f"},
			"not ASCII":      {connectheader.IdempotencyKey, "schlüssel", connectheader.Fingerprint, "f"},
			"no fingerprint": {connectheader.IdempotencyKey, "k"},
		} {
			if got := p.call(t, create, ana, headers...); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}
