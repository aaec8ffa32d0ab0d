package rpc_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/proto/connectheader"
	"github.com/kith-crm/kith/sandbox"
)

// The demo account's token is public: it works in the sandbox only, and no member's token
// works in the sandbox.
func TestDemoTokenWorksInTheSandboxOnly(t *testing.T) {
	t.Parallel()
	onDemo(t, func(t *testing.T, b *bundle, _ *sandbox.Dataset) {
		member := "Bearer " + dbtest.Token(t, b.store, dbtest.Member(t, b.store, "maria"), b.rpcs.Scopes()...)
		for procedure, body := range map[string]string{
			searchPath: anything, accountPath: `{}`, "/kith.jobs.v1.JobService/GetJob": `{"task_id":1}`,
			"/kith.access.v1.AccessService/GetPrincipal": `{}`,
		} {
			if got := b.call(t, procedure, body); got.code() == "unauthenticated" {
				t.Errorf("%s in the sandbox: %v", procedure, got.body)
			}
			if got := b.call(t, procedure, body, connectheader.SandboxVisitor, ""); got.code() != "unauthenticated" {
				t.Errorf("%s outside: %v", procedure, got.body)
			}
			if got := b.call(t, procedure, body, "Authorization", member); got.code() != "unauthenticated" {
				t.Errorf("%s with a member's token in the sandbox: %v", procedure, got.body)
			}
		}
	})
}

// Visitors who send a new key each time can't fill the disk: what is stored for an address
// is bounded, and the error says what to do.
func TestKeysOfVisitorsFillNoDisk(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		large := p.visitors(t, 40_000)
		refused := 0
		for round := range 32 {
			for _, got := range together(16, func(i int) answer {
				return p.withKey(t, fmt.Sprint("k", 16*round+i), get, large, connectheader.SandboxVisitor, fmt.Sprintf("192.0.2.%d", i%2))
			}) {
				switch {
				case got.code() == "resource_exhausted" && strings.Contains(got.message(), "without an Idempotency-Key"):
					refused++
				case got.code() != "":
					t.Fatalf("got %v", got.body)
				}
			}
		}
		const bound = 4<<20 + 16*64<<10 // what is in flight is not known yet
		if most := p.kept(t, "GROUP BY scope"); most > bound || most < bound/2 || refused < 80 {
			t.Errorf("%d bytes are kept of an address, and %d were refused", most, refused)
		}
		p.visitor = "192.0.2.1"
		if got := p.call(t, get, large); got.code() != "" {
			t.Errorf("without a key: %v", got.body)
		}
	})
}

// When addresses together reach the bound for all visitors, the oldest answers of the address that has
// the most go. Those of others are still replayed, and new ones are stored.
func TestKeysOfAllVisitorsAreBounded(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		p.withKey(t, "member", create, ana)
		question := p.visitors(t, 10)
		first := p.withKey(t, "early", get, question, connectheader.SandboxVisitor, "192.0.2.1")
		p.exec(t, "INSERT INTO idempotency_keys (scope, key, tenant_id, fingerprint, answer, expires_at) VALUES ('address:192.0.2.9', 'k', NULL, 'f', "+
			map[bool]string{true: "convert_to(repeat('x', 134217728), 'UTF8')", false: "zeroblob(134217728)"}[db.IsPostgres(p.database)]+
			", '2026-11-22 12:00:00')")
		p.advance(11 * time.Minute) // until the total is measured again
		for _, state := range []string{"", "replayed"} {
			if got := p.withKey(t, "late", get, question, connectheader.SandboxVisitor, "192.0.2.1"); got.code() != "" || got.state() != state {
				t.Errorf("late: %v, %q", got.body, got.state())
			}
		}
		if left := p.kept(t, "WHERE scope = 'address:192.0.2.9'"); left != 0 {
			t.Errorf("%d bytes of the largest owner are left", left)
		}
		wantReplay(t, first, p.withKey(t, "early", get, question, connectheader.SandboxVisitor, "192.0.2.1"))
		p.exec(t, "UPDATE tenant_states SET read_only = FALSE")
		p.withKey(t, "member's own", create, `{"name":"Bo"}`)
		if got := p.withKey(t, "member's own", create, `{"name":"Bo"}`); got.state() != "replayed" {
			t.Errorf("a member: %v", got)
		}
	})
}

// visitors makes the account read-only, and returns the arguments of a read whose answer has
// about size bytes.
func (p *paid) visitors(t *testing.T, size int) string {
	t.Helper()
	id, _ := p.call(t, create, ana).at("connection", "id").(string)
	for left := size; left > 0; left -= 20_000 {
		p.call(t, addNote, `{"connection_ids":["`+id+`"],"body":"`+incompressible(min(left, 20_000))+`"}`)
	}
	p.exec(t, "UPDATE tenant_states SET read_only = TRUE")
	return `{"id":"` + id + `","include":["notes"]}`
}

// incompressible returns a text of n letters, digits, hyphens and underscores, of which DEFLATE saves only the
// quarter that base64 adds.
func incompressible(n int) string {
	random := make([]byte, n)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)[:n]
}

// kept returns the largest number of bytes that are stored for a group of keys.
func (p *paid) kept(t *testing.T, group string) (bytes int) {
	t.Helper()
	if err := p.db.QueryRow("SELECT coalesce(max(bytes), 0) FROM (SELECT sum(length(answer)) AS bytes FROM idempotency_keys " + group + ") AS kept").Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
