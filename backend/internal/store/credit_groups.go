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

// Charge implements credit.Ledger.
func (s *Store) Charge(ctx context.Context, charges []credit.Charge) (outcomes []credit.Outcome, err error) {
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) (err error) {
		outcomes, err = s.chargeWithin(ctx, tx, charges)
		return err
	})
	if err != nil {
		return nil, translate(err)
	}
	s.tellOutcomes(charges, outcomes)
	return outcomes, nil
}

// chargeWithin is Charge in a transaction that does more: it locks the balances,
// decides which calls they cover, and writes the balances and the ledger.
func (s *Store) chargeWithin(ctx context.Context, tx bun.Tx, charges []credit.Charge) ([]credit.Outcome, error) {
	at := s.time()
	b := bill{month: credit.MonthOf(at), at: at, charges: charges, outcomes: make([]credit.Outcome, len(charges))}
	calls := map[tenant.ID][]int{}
	for i, c := range charges {
		if calls[c.Tenant] == nil {
			b.owners = append(b.owners, c.Tenant)
		}
		calls[c.Tenant] = append(calls[c.Tenant], i)
	}
	slices.Sort(b.owners)
	balances, gone, err := s.openBalances(ctx, tx, b.month, b.owners)
	if err != nil {
		return nil, err
	}
	for _, owner := range b.owners {
		if err := gone[owner]; err != nil {
			b.refuse(calls[owner], err)
			continue
		}
		b.settle(owner, calls[owner], balances[owner])
	}
	return b.outcomes, s.keepBill(ctx, tx, &b)
}

// openBalances locks the tenants' balances of a month, which it makes where there
// are none. gone holds the error of each tenant that does not exist any more.
func (s *Store) openBalances(ctx context.Context, tx bun.Tx, month credit.Month, owners []tenant.ID) (
	balances map[tenant.ID]credit.Balance, gone map[tenant.ID]error, err error,
) {
	balances, err = s.lockBalances(ctx, tx, month, owners)
	if err != nil || len(balances) == len(owners) {
		return balances, nil, err
	}
	gone = map[tenant.ID]error{}
	for _, owner := range owners {
		if _, open := balances[owner]; open {
			continue
		}
		if err := s.openMonth(ctx, tx, owner, month); fault.Is(err, fault.NotFound) {
			gone[owner] = err
		} else if err != nil {
			return nil, nil, err
		}
	}
	balances, err = s.lockBalances(ctx, tx, month, owners)
	return balances, gone, err
}

// bill is what is charged together.
type bill struct {
	month    credit.Month
	at       time.Time
	owners   []tenant.ID
	charges  []credit.Charge
	outcomes []credit.Outcome
	// entries are the new lines of the ledger, balances the rows of VALUES that hold
	// the new balances with their tenants.
	entries  []credit.Entry
	balances []any
}

// refuse gives calls, which are indexes of the charges, the same error.
func (b *bill) refuse(calls []int, err error) {
	for _, i := range calls {
		b.outcomes[i] = credit.Outcome{Err: err}
	}
}

// settle charges one tenant's calls in their order, as far as the balance covers
// them, with one ledger entry for each tool.
func (b *bill) settle(owner tenant.ID, calls []int, have credit.Balance) {
	first := len(b.entries)
	for _, i := range calls {
		c := b.charges[i]
		if c.Price > have.Remaining {
			b.refuse([]int{i}, have.Shortage(c.Price))
			continue
		}
		have.Remaining -= c.Price
		b.outcomes[i].Receipt = credit.Receipt{Charged: c.Price, Remaining: have.Remaining, ResetsAt: b.month.ResetsAt}
		at := slices.IndexFunc(b.entries[first:], func(e credit.Entry) bool { return e.Tool == c.Tool })
		if at < 0 {
			at = len(b.entries) - first
			b.entries = append(b.entries, credit.Entry{
				TenantID: owner, Period: b.month.Period, Reason: credit.ReasonCalls, Tool: c.Tool, CreatedAt: b.at,
			})
		}
		e := &b.entries[first+at]
		e.Delta, e.Calls, e.BalanceAfter = e.Delta-c.Price, e.Calls+1, have.Remaining
	}
	if len(b.entries) > first {
		b.balances = append(b.balances, owner, have.Remaining)
	}
}

// keepBill writes the balances that changed, and the ledger's new entries.
func (s *Store) keepBill(ctx context.Context, tx bun.Tx, b *bill) error {
	if len(b.entries) == 0 {
		return nil
	}
	rows := strings.Repeat(", (?, ?)", len(b.balances)/2)[2:]
	_, err := tx.NewRaw("UPDATE credit_balances SET balance = new.column2 FROM (VALUES "+rows+") AS new WHERE tenant_id = new.column1 AND period = ?",
		append(b.balances, b.month.Period)...).Exec(ctx)
	if err != nil {
		return err
	}
	return s.insertEntries(ctx, tx, b.entries...)
}
