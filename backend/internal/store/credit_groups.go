package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// bill is what is charged together.
type bill struct {
	month    credit.Month
	at       time.Time
	charges  []credit.Charge
	outcomes []credit.Outcome
	groups   []*chargeGroup // by tenant
}

// chargeGroup is what one tenant's charges of a bill come to.
type chargeGroup struct {
	owner tenant.ID
	// calls are the places of the charges that can be paid for, total their price.
	calls []int
	total int
	// lines are what the journal keeps of them, one for each tool.
	lines []journalLine
	// paid tells that the balance was taken down, and the lines are kept.
	paid bool
}

type journalLine struct {
	tool         string
	delta, calls int
}

// Charge implements credit.Ledger. The charges of a tenant are one update of the
// balance and one line of the journal for each tool; those of a tenant whose
// balance does not cover them all are looked at one by one.
func (s *Store) Charge(ctx context.Context, charges []credit.Charge) (outcomes []credit.Outcome, err error) {
	defer func() { s.tellOutcomes(charges, outcomes) }()
	b := s.newBill(charges)
	if err := s.pay(ctx, nil, b, b.groups); err != nil {
		return nil, translate(err)
	}
	short := b.unpaid()
	if len(short) == 0 {
		return b.outcomes, nil
	}
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return s.payShort(ctx, tx, b, short)
	})
	if err != nil { // the others have paid
		for _, g := range short {
			g.fail(b, translate(err))
		}
	}
	return b.outcomes, nil
}

// chargeWithin is Charge in a transaction that does more.
func (s *Store) chargeWithin(ctx context.Context, tx bun.Tx, charges []credit.Charge) ([]credit.Outcome, error) {
	b := s.newBill(charges)
	if err := s.pay(ctx, tx.Tx, b, b.groups); err != nil {
		return nil, err
	}
	if short := b.unpaid(); len(short) > 0 {
		return b.outcomes, s.payShort(ctx, tx, b, short)
	}
	return b.outcomes, nil
}

// newBill groups charges by their tenants.
func (s *Store) newBill(charges []credit.Charge) *bill {
	at := s.time()
	b := &bill{month: credit.MonthOf(at), at: at, charges: charges, outcomes: make([]credit.Outcome, len(charges))}
	groups := make(map[tenant.ID]*chargeGroup, 1)
	for i, c := range charges {
		g := groups[c.Tenant]
		if g == nil {
			g = &chargeGroup{owner: c.Tenant}
			groups[c.Tenant] = g
			b.groups = append(b.groups, g)
		}
		g.calls = append(g.calls, i)
	}
	slices.SortFunc(b.groups, func(a, b *chargeGroup) int { return strings.Compare(string(a.owner), string(b.owner)) })
	for _, g := range b.groups {
		g.sum(b)
	}
	return b
}

// sum sums up the calls of a group and writes its lines.
func (g *chargeGroup) sum(b *bill) {
	g.total, g.lines = 0, nil
	for _, i := range g.calls {
		c := b.charges[i]
		line := g.line(c.Tool)
		line.delta -= c.Price
		line.calls++
		g.total += c.Price
	}
}

// line returns the line of a tool, which it adds where there is none.
func (g *chargeGroup) line(tool string) *journalLine {
	for i := range g.lines {
		if g.lines[i].tool == tool {
			return &g.lines[i]
		}
	}
	g.lines = append(g.lines, journalLine{tool: tool})
	return &g.lines[len(g.lines)-1]
}

func (b *bill) unpaid() []*chargeGroup {
	var short []*chargeGroup
	for _, g := range b.groups {
		if !g.paid {
			short = append(short, g)
		}
	}
	return short
}

// settle tells the callers of a group what is left after it was paid.
func (g *chargeGroup) settle(b *bill, balance int) {
	g.paid = true
	left := balance + g.total
	for _, i := range g.calls {
		left -= b.charges[i].Price
		b.outcomes[i].Receipt = credit.Receipt{Charged: b.charges[i].Price, Remaining: left, ResetsAt: b.month.ResetsAt}
	}
}

// fail gives all calls of a group that is not paid the same end.
func (g *chargeGroup) fail(b *bill, err error) {
	for _, i := range g.calls {
		b.outcomes[i] = credit.Outcome{Err: err}
	}
}

// payShort charges what the balances of some tenants cover, in the order of the
// calls. Those that had no balance this month get one first.
func (s *Store) payShort(ctx context.Context, tx bun.Tx, b *bill, short []*chargeGroup) error {
	owners := make([]tenant.ID, len(short))
	for i, g := range short {
		owners[i] = g.owner
	}
	balances, err := s.lockBalances(ctx, tx, b.month, owners)
	if err != nil {
		return err
	}
	gone := map[tenant.ID]error{}
	for _, owner := range owners {
		if _, open := balances[owner]; open {
			continue
		}
		if err := s.openMonth(ctx, tx, owner, b.month); fault.Is(err, fault.NotFound) {
			gone[owner] = err
		} else if err != nil {
			return err
		}
	}
	if balances, err = s.lockBalances(ctx, tx, b.month, owners); err != nil {
		return err
	}
	var covered []*chargeGroup
	for _, g := range short {
		if gone[g.owner] != nil {
			g.fail(b, gone[g.owner])
			continue
		}
		g.cut(b, balances[g.owner])
		g.sum(b)
		if len(g.calls) > 0 {
			covered = append(covered, g)
		}
	}
	return s.pay(ctx, tx.Tx, b, covered)
}

// cut leaves of a group the calls that the balance covers.
func (g *chargeGroup) cut(b *bill, have credit.Balance) {
	calls := g.calls
	g.calls = nil
	for _, i := range calls {
		price := b.charges[i].Price
		if price > have.Remaining {
			b.outcomes[i] = credit.Outcome{Err: have.Shortage(price)}
			continue
		}
		have.Remaining -= price
		g.calls = append(g.calls, i)
	}
}
