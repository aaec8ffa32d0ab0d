package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
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
	// entries are their lines in the ledger, one for each tool. Until they are
	// paid, BalanceAfter is what the later ones take off.
	entries []credit.Entry
	// paid tells that the balance was taken down, to balance, and the entries are kept.
	paid    bool
	balance int
}

// Charge implements credit.Ledger. The charges of a tenant are one update of the
// balance and one entry for each tool; those of a tenant whose balance does not
// cover them all are looked at one by one.
func (s *Store) Charge(ctx context.Context, charges []credit.Charge) (outcomes []credit.Outcome, err error) {
	defer func() { tellOutcomes(s.creditWatch, charges, outcomes) }()
	b, err := s.newBill(charges)
	if err != nil {
		return nil, err
	}
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
	b, err := s.newBill(charges)
	if err != nil {
		return nil, err
	}
	if err := s.pay(ctx, tx.Tx, b, b.groups); err != nil {
		return nil, err
	}
	if short := b.unpaid(); len(short) > 0 {
		err = s.payShort(ctx, tx, b, short)
	}
	return b.outcomes, err
}

// newBill groups charges by their tenants.
func (s *Store) newBill(charges []credit.Charge) (*bill, error) {
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
		if err := s.enter(b, g); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// enter sums up the calls of a group and writes its entries.
func (s *Store) enter(b *bill, g *chargeGroup) error {
	g.total, g.entries = 0, nil
	for _, i := range g.calls {
		c := b.charges[i]
		e := toolEntry(&g.entries, c.Tool)
		e.Delta -= c.Price
		e.Calls++
		g.total += c.Price
	}
	later := 0
	for i := range slices.Backward(g.entries) {
		e := &g.entries[i]
		entryID, err := s.ids.New(id.Credit)
		if err != nil {
			return err
		}
		e.TenantID, e.ID, e.Period, e.CreatedAt, e.BalanceAfter = g.owner, entryID, b.month.Period, b.at, later
		later -= e.Delta
	}
	return nil
}

// toolEntry returns the entry of a tool, which it adds where there is none.
func toolEntry(entries *[]credit.Entry, tool string) *credit.Entry {
	for i := range *entries {
		if e := &(*entries)[i]; e.Tool == tool {
			return e
		}
	}
	*entries = append(*entries, credit.Entry{Tool: tool, Reason: credit.ReasonCalls})
	return &(*entries)[len(*entries)-1]
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
	g.paid, g.balance = true, balance
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
		if err := s.enter(b, g); err != nil {
			return err
		}
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
