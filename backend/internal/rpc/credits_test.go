package rpc_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/proto/connectheader"
	"pgregory.net/rapid"
)

const anything = `{"query":"x"}`

func TestExactlyTheAllowanceIsSpent(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		paidFor := 0
		for _, got := range together(400, func(i int) answer {
			if i%4 == 0 {
				return p.call(t, addNote, `{"connection_ids":["con_ch541ck879"],"body":"x"}`)
			}
			return p.call(t, searchPath, anything)
		}) {
			switch got.code() {
			case "":
				paidFor++
			case "resource_exhausted", "not_found":
			default:
				t.Errorf("got %v", got.body)
			}
		}
		if paidFor != 100 {
			t.Errorf("%d calls were paid for", paidFor)
		}
		p.wantBalance(t, 0)
	})
}

// While the disk is full, reads are answered and charged once there is room, and writes are refused.
func TestReadsOnAFullDisk(t *testing.T) {
	t.Parallel()
	p := newPaid(t, dbtest.SQLite(t), 100)
	full := diskFull(t)
	p.call(t, searchPath, anything)
	p.wantBalance(t, 99)
	p.breaker.Set(func(statement string) error {
		if statement == "BEGIN" { // this search reads without a transaction
			return full
		}
		return nil
	})
	if got := p.call(t, searchPath, anything); got.code() != "" {
		t.Errorf("a read got %v", got.body)
	}
	if got := p.call(t, addNote, `{"connection_ids":["con_ch541ck879"],"body":"x"}`); got.code() != "unavailable" {
		t.Errorf("a write got %v", got.body)
	}
	p.breaker.Set(nil)
	p.wantBalance(t, 98)
	if got := p.call(t, searchPath, anything); got.code() != "" {
		t.Errorf("a read afterwards got %v", got.body)
	}
	p.wantBalance(t, 97)
}

// diskFull returns SQLite's own error.
func diskFull(t *testing.T) error {
	t.Helper()
	small, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = small.Close() }()
	small.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA max_page_count = 2", "CREATE TABLE a (b TEXT)"} {
		if _, err := small.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err = small.Exec("INSERT INTO a VALUES (?)", strings.Repeat("x", 1<<20))
	if !db.IsUnwritable(err) {
		t.Fatalf("%v is not a full disk", err)
	}
	return err
}

// When a member's agents make calls concurrently, the ledger sums up to the balance, which
// is the allowance less the price of the successful calls.
func TestLedgerAddsUp(t *testing.T) {
	t.Parallel()
	eachPaid(t, 25, func(t *testing.T, p *paid) {
		member := 0
		type step struct {
			procedure, body string
			price           int
		}
		steps := []step{
			{searchPath, anything, 1},
			{searchPath, `{}`, 1},
			{get, `{"id":"con_ch541ck879"}`, 1},
			{create, `{"name":"Ana"}`, 2},
			{create, `{"name":" "}`, 2},
			{accountPath, `{}`, 0},
		}
		rapid.Check(t, func(rt *rapid.T) {
			member++
			p.member = dbtest.Member(t, p.store, fmt.Sprintf("member-%d", member))
			p.bearer = dbtest.Token(t, p.store, p.member, p.rpcs.Scopes()...)
			left := 25
			for range rapid.IntRange(1, 2).Draw(rt, "rounds") {
				picks := rapid.SliceOfN(rapid.IntRange(0, len(steps)-1), 1, 12).Draw(rt, "calls")
				for i, got := range together(len(picks), func(i int) answer { return p.call(t, steps[picks[i]].procedure, steps[picks[i]].body) }) {
					if got.code() == "" {
						left -= steps[picks[i]].price
					}
				}
			}
			if left == 25 {
				return // nothing was paid for, so there may be no balance yet
			}
			p.wantBalance(rt, left)
			if got := p.call(t, accountPath, `{}`); got.at("credits", "remaining") != float64(left) || got.at("credits", "used") != float64(25-left) {
				rt.Fatalf("account: %v", got.body)
			}
		})
	})
}

func TestFailuresAreFree(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		reader := dbtest.Token(t, p.store, p.member, "connections")
		for name, got := range map[string]answer{
			"schema error":           p.call(t, searchPath, `{"limit":51}`),
			"unknown field":          p.call(t, create, `{"nam":"Ana"}`),
			"rule of the domain":     p.call(t, create, `{"name":" "}`),
			"not found":              p.call(t, get, `{"id":"con_ch541ck879"}`),
			"not found by a write":   p.call(t, update, `{"id":"con_ch541ck879","name":"X"}`),
			"refused":                p.call(t, create, `{"name":"Ana"}`, "Authorization", "Bearer "+reader),
			"no credential":          p.call(t, searchPath, anything, "Authorization", ""),
			"a tool without a price": p.call(t, accountPath, `{}`),
		} {
			if got.code() == "" && name != "a tool without a price" || got.header.Get(connectheader.CreditsCharged) != "" {
				t.Errorf("%s: %v", name, got)
			}
		}
		if _, entries, balance := p.ledger(t, p.member); entries != 0 && balance != 100 {
			t.Errorf("%d entries, balance %d", entries, balance)
		}
	})
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	eachPaid(t, 5, func(t *testing.T, p *paid) {
		for _, c := range []struct{ procedure, body, charged, remaining string }{
			{searchPath, anything, "1", "4"},
			{create, `{"name":"Ana"}`, "2", "2"},
			{searchPath, anything, "1", "1"},
			{create, `{"name":"Bo"}`, "0", "1"},
			{searchPath, anything, "1", "0"},
			{searchPath, anything, "0", "0"},
		} {
			got := p.call(t, c.procedure, c.body)
			if got.header.Get(connectheader.CreditsCharged) != c.charged || got.header.Get(connectheader.CreditsRemaining) != c.remaining ||
				got.header.Get(connectheader.CreditsReset) != "2026-12-01T00:00:00Z" {
				t.Errorf("want %+v, got %v %v", c, got.body, got.header)
			}
			if want := "resource_exhausted"; (got.code() == want) != (c.charged == "0") {
				t.Errorf("want %+v, got %v", c, got.body)
			}
		}
		p.wantBalance(t, 0)
		if n := p.count(t, "connections", "name = 'Bo'"); n != 0 {
			t.Error("a write that was not paid for was done")
		}
	})
}

func TestOutOfCreditsSaysWhatAndWhen(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1, func(t *testing.T, p *paid) {
		short := p.call(t, create, `{"name":"Ana"}`)
		if want := "This call costs 2 credits, and of this month's 1 only 1 are left; 1 new ones come on 2026-12-01T00:00:00Z."; short.message() != want {
			t.Errorf("got %q", short.message())
		}
		p.exec(t, "UPDATE credit_balances SET allowance = 1000, balance = 0")
		for procedure, body := range map[string]string{searchPath: anything, create: `{"name":"Ana"}`} {
			got := p.call(t, procedure, body)
			if want := "This month's 1,000 credits are used up; 1,000 new ones come on 2026-12-01T00:00:00Z."; got.message() != want {
				t.Errorf("got %q", got.message())
			}
		}
	})
}

func TestNewMonthNewCredits(t *testing.T) {
	t.Parallel()
	eachPaid(t, 1, func(t *testing.T, p *paid) {
		p.advance(9*24*time.Hour + 12*time.Hour - time.Second) // the last second of November
		for i, want := range []string{"", "resource_exhausted", "", "resource_exhausted"} {
			if i == 2 {
				p.wantBalance(t, 0)
				p.advance(time.Second)
			}
			if got := p.call(t, searchPath, anything); got.code() != want {
				t.Errorf("call %d: %v", i, got.body)
			}
		}
		p.wantBalance(t, 0)
		if got := p.call(t, accountPath, `{}`); got.at("credits", "period") != "2026-12" || got.at("credits", "resets_at") != "2027-01-01T00:00:00Z" {
			t.Errorf("account: %v", got.body)
		}
	})
}

func TestPlanChange(t *testing.T) {
	t.Parallel()
	eachPaid(t, 3, func(t *testing.T, p *paid) {
		plan := func(plan string) {
			t.Helper()
			p.flush(t)
			if err := p.credits.SetPlan(t.Context(), "maria", plan, p.time()); err != nil {
				t.Fatal(err)
			}
		}
		p.call(t, searchPath, anything)
		plan(account.PlanPro)
		p.wantBalance(t, 19_999)
		p.exec(t, "UPDATE credit_balances SET balance = 12")
		p.exec(t, fmt.Sprintf("INSERT INTO credit_entries (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at) VALUES ('%s', 'crd_test', '2026-11', -19987, 12, 'calls', 'search_connections', 19987, '2026-11-21 12:00:00')", p.member))
		plan(account.PlanFree)
		p.wantBalance(t, 0) // never below
		plan(account.PlanPro)
		p.wantBalance(t, 12) // changing plans back and forth gains nothing
		plan(account.PlanPro)
		p.wantBalance(t, 12)
		if n := p.count(t, "credit_entries", "reason = 'plan'"); n != 3 {
			t.Errorf("%d entries for changes of the plan", n)
		}
	})
}

// A change of plan at the moment of the month's first call is not lost.
func TestPlanChangeMeetsFirstCall(t *testing.T) {
	t.Parallel()
	eachPaid(t, 10, func(t *testing.T, p *paid) {
		for i := range 20 {
			name := fmt.Sprintf("member-%d", i)
			p.member = dbtest.Member(t, p.store, name)
			p.bearer = dbtest.Token(t, p.store, p.member, "connections", "write")
			together(2, func(n int) answer {
				if n == 0 {
					if err := p.credits.SetPlan(t.Context(), name, account.PlanPro, p.time()); err != nil {
						t.Error(err)
					}
					return answer{}
				}
				return p.call(t, create, `{"name":"Ana"}`)
			})
			p.wantBalance(t, 19_998)
		}
	})
}

func TestSandboxIsNotMetered(t *testing.T) {
	t.Parallel()
	eachPaid(t, 0, func(t *testing.T, p *paid) {
		p.exec(t, "UPDATE tenant_states SET read_only = TRUE")
		got := p.call(t, searchPath, anything)
		if got.status != http.StatusOK || got.header.Get(connectheader.CreditsCharged) != "" {
			t.Errorf("got %v", got)
		}
		if got := p.call(t, accountPath, `{}`); got.at("credits") != nil {
			t.Errorf("account: %v", got.body)
		}
	})
}

// Writes in two processes do not spend the same credit. A read in one of them may be answered although the other has
// spent the credit within the last second; it is not charged then.
func TestTwoProcessesSpendOneBalance(t *testing.T) {
	t.Parallel()
	eachPaid(t, 60, func(t *testing.T, p *paid) {
		other := p.backend(t, p.rpcs, 60)
		answers := together(160, func(i int) answer {
			process := []*bundle{p.bundle, other}[i%2]
			if i%8 < 2 {
				return process.call(t, create, fmt.Sprintf(`{"name":"n%d"}`, i))
			}
			return process.call(t, searchPath, anything)
		})
		written, read := 0, 0
		for i, got := range answers {
			switch {
			case got.code() == "" && i%8 < 2:
				written += 2
			case got.code() == "":
				read++
			case !strings.Contains("resource_exhausted", got.code()):
				t.Errorf("%v", got.body)
			}
		}
		p.wantBalance(t, max(0, 60-written-read))
		if written > 60 || read > 2*60 || written+read < 59 {
			t.Errorf("writes spent %d, reads %d", written, read)
		}
	})
}
