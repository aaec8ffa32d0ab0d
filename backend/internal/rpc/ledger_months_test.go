package rpc_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/connectheader"
	"pgregory.net/rapid"
)

// A member's agents call a process, while months end and another process changes the plan. The
// entries of each month add up to its balance, which is never negative. Each call that was done is
// charged once, but for reads while a plan with less changes. A call that the credits did not cover is neither done nor charged.
func TestLedgerOverMonthsAndPlans(t *testing.T) {
	t.Parallel()
	const free = 10 // so that it runs out in most bursts
	eachPaid(t, free, func(t *testing.T, p *paid) {
		processes := []*bundle{p.bundle, p.backend(t, p.rpcs, free)}
		members, short := 0, 0
		lacks := func() []string {
			if short == 0 {
				return []string{"nobody ran out of credits"}
			}
			return nil
		}
		rounds(t, 20, lacks, func(rt *rapid.T) {
			members++
			s := newSpender(t, p, processes[members%2], fmt.Sprintf("spender-%d", members))
			for range rapid.IntRange(1, 4).Draw(rt, "bursts") {
				s.burst(t, rt)
				s.wantBooks(t, rt)
			}
			short += s.short
		})
	})
}

// spender is a member, and the answers that their agents got.
type spender struct {
	*paid

	process *bundle
	name    string
	tenant  tenant.ID
	bearer  string
	calls   int  // made, so that each has a unique name
	planned bool // the plan has changed

	spent   int // the price of what was acknowledged
	created int // people whose creation was acknowledged
	short   int // calls that could not be paid for
}

func newSpender(t *testing.T, p *paid, process *bundle, name string) *spender {
	t.Helper()
	s := &spender{paid: p, process: process, name: name, tenant: dbtest.Member(t, p.store, name)}
	s.bearer = dbtest.Token(t, p.store, s.tenant, p.rpcs.Scopes()...)
	return s
}

// deed is one action of a burst: a call, or an event such as a change of the plan.
type deed struct {
	procedure, body string
	price           int
	key             string        // sent twice, if there is one
	happen          func() answer // the event; nil for a call
}

// deeds are the calls that a burst is made of.
func (s *spender) deeds() []deed {
	s.calls++
	return []deed{
		{procedure: searchPath, body: anything, price: 1},
		{procedure: create, body: fmt.Sprintf(`{"name":"Person %d"}`, s.calls), price: 2},
		{procedure: create, body: fmt.Sprintf(`{"name":"Keyed %d"}`, s.calls), price: 2, key: fmt.Sprint("key-", s.calls)},
		{procedure: mergePeople, body: `{"into_id":"con_ch541ck879","from_ids":["con_kq739ye531"]}`, price: 3},
		{procedure: create, body: `{"name":" "}`, price: 2},
		{procedure: searchPath, body: `{}`, price: 1},
		{procedure: accountPath, body: `{}`},
	}
}

// events are what may happen in the middle of a burst.
func (s *spender) events(t *testing.T) []func() answer {
	plan := func(plan string) func() answer {
		return func() answer {
			s.planned = true
			if err := s.credits.SetPlan(t.Context(), s.name, plan, s.time()); err != nil {
				t.Error(err)
			}
			return answer{}
		}
	}
	return []func() answer{
		nil,
		func() answer {
			s.advance(billing.MonthOf(s.time()).ResetsAt.Sub(s.time()))
			return answer{}
		},
		plan(account.PlanFree), plan(account.PlanPro), nil,
	}
}

// burst runs several deeds concurrently.
func (s *spender) burst(t *testing.T, rt *rapid.T) {
	t.Helper()
	var all []deed
	for range rapid.IntRange(3, 16).Draw(rt, "deeds") {
		d := rapid.SampledFrom(s.deeds()).Draw(rt, "deed")
		all = append(all, d)
		if d.key != "" {
			all = append(all, d)
		}
	}
	if event := rapid.SampledFrom(s.events(t)).Draw(rt, "event"); event != nil {
		all = slices.Insert(all, rapid.IntRange(0, len(all)).Draw(rt, "after"), deed{happen: event})
	}
	for i, got := range together(len(all), func(i int) answer { return s.do(t, all[i], s.process) }) {
		s.note(rt, all[i], got)
	}
}

func (s *spender) do(t *testing.T, d deed, process *bundle) answer {
	t.Helper()
	switch bearer := []string{"Authorization", "Bearer " + s.bearer}; {
	case d.happen != nil:
		return d.happen()
	case d.key != "":
		return process.withKey(t, d.key, d.procedure, d.body, bearer...)
	default:
		return process.call(t, d.procedure, d.body, bearer...)
	}
}

// note counts what an answer says was done and charged.
func (s *spender) note(rt *rapid.T, d deed, got answer) {
	charged, remaining := got.header.Get(connectheader.CreditsCharged), got.header.Get(connectheader.CreditsRemaining)
	if n, err := strconv.Atoi(remaining); remaining != "" && (err != nil || n < 0) {
		rt.Fatalf("%+v leaves %q", d, remaining)
	}
	switch {
	case d.happen != nil || got.state() == "replayed":
	case got.code() == "":
		s.spent += d.price
		if d.procedure == create {
			s.created++
		}
		if d.price > 0 && charged != strconv.Itoa(d.price) {
			rt.Fatalf("%+v was charged %q", d, charged)
		}
	case got.code() == "resource_exhausted":
		s.short++
		if charged != "0" {
			rt.Fatalf("%+v was not done and charged %q", d, charged)
		}
	case charged != "":
		rt.Fatalf("%+v failed and was charged %q: %v", d, charged, got.body)
	case !slices.Contains([]string{"invalid_argument", "not_found"}, got.code()) && got.state() != "in_flight":
		rt.Fatalf("%+v: %v", d, got.body)
	}
}

// wantBooks compares what is stored with what was acknowledged.
func (s *spender) wantBooks(t *testing.T, rt *rapid.T) {
	t.Helper()
	s.flush(t)
	rows, err := s.db.QueryContext(t.Context(), fmt.Sprintf(`SELECT b.period, b.allowance, b.balance,
(SELECT coalesce(sum(delta), 0) FROM credit_entries e WHERE e.tenant_id = b.tenant_id AND e.period = b.period),
(SELECT coalesce(-sum(delta), 0) FROM credit_entries e WHERE e.tenant_id = b.tenant_id AND e.period = b.period AND reason = 'calls'),
(SELECT count(*) FROM credit_entries e WHERE e.tenant_id = b.tenant_id AND e.period = b.period AND reason = 'allowance')
FROM credit_balances b WHERE b.tenant_id = '%s' ORDER BY b.period`, s.tenant))
	spent := 0
	for _, row := range scan(t, rows, err) {
		var n [5]int
		for i := range n {
			if n[i], err = strconv.Atoi(row[1+i]); err != nil {
				rt.Fatal(err)
			}
		}
		allowance, balance, entries, calls, allowances := n[0], n[1], n[2], n[3], n[4]
		if balance < 0 || balance != entries || balance != max(0, allowance-calls) || allowances != 1 {
			rt.Fatalf("%s: of %d %d are left, the entries sum up to %d, %d were spent, %d times there was an allowance", row[0], allowance, balance, entries, calls, allowances)
		}
		spent += calls
	}
	if spent < s.spent && s.planned {
		s.spent = spent
	}
	if spent != s.spent {
		rt.Fatalf("the ledger says that %d were spent, what was acknowledged costs %d", spent, s.spent)
	}
	if n := s.count(t, "connections", fmt.Sprintf("tenant_id = '%s'", s.tenant)); n != s.created {
		rt.Fatalf("%d people are stored, the creation of %d was acknowledged", n, s.created)
	}
	got := s.call(t, accountPath, `{}`, "Authorization", "Bearer "+s.bearer)
	balance, err := s.process.credits.GetCredits(t.Context(), s.tenant)
	if err != nil || got.at("credits", "remaining") != float64(balance.Remaining) || got.at("credits", "period") != billing.MonthOf(s.time()).Period {
		rt.Fatalf("get_account tells %v, the store %+v, %v", got.body, balance, err)
	}
}
