package store

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// chargeGroup is what one tenant's charges of a transaction come to.
type chargeGroup struct {
	owner tenant.ID
	// calls are the places of the charges that are paid for, total their price.
	calls []int
	total int
	// paid tells that the balance was taken down.
	paid    bool
	balance int // after it
}

// Charge implements credit.Ledger. The charges of a tenant are one update of the
// balance and one entry for each tool; those of a tenant whose balance does not
// cover them all are looked at one by one.
func (s *Store) Charge(ctx context.Context, charges []credit.Charge) ([]credit.Outcome, error) {
	month := credit.MonthOf(s.time())
	outcomes := make([]credit.Outcome, len(charges))
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return s.chargeAll(ctx, tx, month, charges, outcomes)
	})
	if err != nil {
		return nil, translate(err)
	}
	return outcomes, nil
}

func (s *Store) chargeAll(ctx context.Context, tx bun.Tx, month credit.Month, charges []credit.Charge, outcomes []credit.Outcome) error {
	groups := map[tenant.ID]*chargeGroup{}
	for i, c := range charges {
		g := groups[c.Tenant]
		if g == nil {
			g = &chargeGroup{owner: c.Tenant}
			groups[c.Tenant] = g
		}
		g.calls = append(g.calls, i)
		g.total += c.Price
	}
	owners := sortedTenants(groups)
	if len(owners) > 1 && s.engine.name == postgresName {
		// The update alone would lock in the order of its plan.
		if _, err := s.lockBalances(ctx, tx, month, owners); err != nil {
			return err
		}
	}
	if err := s.takeDown(ctx, tx, month, groups, owners); err != nil {
		return err
	}
	var short []tenant.ID
	for _, owner := range owners {
		if !groups[owner].paid {
			short = append(short, owner)
		}
	}
	if err := s.chargeShort(ctx, tx, month, charges, outcomes, groups, short); err != nil {
		return err
	}
	var entries []credit.Entry
	for _, owner := range owners {
		entries = append(entries, groups[owner].settle(month, charges, outcomes)...)
	}
	if len(entries) == 0 {
		return nil
	}
	return s.insertCalls(ctx, tx, entries)
}

// chargeShort charges what the balances of some tenants cover, in the order of
// the calls. Those that had no balance this month get one first.
func (s *Store) chargeShort(
	ctx context.Context, tx bun.Tx, month credit.Month, charges []credit.Charge, outcomes []credit.Outcome,
	groups map[tenant.ID]*chargeGroup, short []tenant.ID,
) error {
	if len(short) == 0 {
		return nil
	}
	balances, err := s.lockBalances(ctx, tx, month, short)
	if err != nil {
		return err
	}
	gone := map[tenant.ID]error{}
	for _, owner := range short {
		if _, open := balances[owner]; open {
			continue
		}
		if err := s.openMonth(ctx, tx, owner, month); fault.Is(err, fault.NotFound) {
			gone[owner] = err
		} else if err != nil {
			return err
		}
	}
	if balances, err = s.lockBalances(ctx, tx, month, short); err != nil {
		return err
	}
	for _, owner := range short {
		groups[owner].cut(balances[owner], gone[owner], charges, outcomes)
	}
	return s.takeDown(ctx, tx, month, groups, short)
}

// cut leaves of a group the calls that the balance covers.
func (g *chargeGroup) cut(b credit.Balance, gone error, charges []credit.Charge, outcomes []credit.Outcome) {
	calls := g.calls
	g.calls, g.total = nil, 0
	for _, i := range calls {
		switch price := charges[i].Price; {
		case gone != nil:
			outcomes[i] = credit.Outcome{Err: gone}
		case price > b.Remaining:
			outcomes[i] = credit.Outcome{Err: b.Shortage(price)}
		default:
			b.Remaining -= price
			g.total += price
			g.calls = append(g.calls, i)
		}
	}
}

// settle writes the outcomes of the calls that were paid for, and returns an
// entry for each tool.
func (g *chargeGroup) settle(month credit.Month, charges []credit.Charge, outcomes []credit.Outcome) []credit.Entry {
	var entries []credit.Entry
	left := g.balance + g.total
	for _, i := range g.calls {
		left -= charges[i].Price
		outcomes[i].Receipt = credit.Receipt{Charged: charges[i].Price, Remaining: left, ResetsAt: month.ResetsAt}
		entry := toolEntry(&entries, charges[i].Tool)
		entry.TenantID, entry.Period = g.owner, month.Period
		entry.Delta -= charges[i].Price
		entry.Calls++
	}
	left = g.balance + g.total
	for i := range entries {
		left += entries[i].Delta
		entries[i].BalanceAfter = left
	}
	return entries
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
