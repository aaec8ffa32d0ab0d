package billing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// MaxGroup bounds the charges of one transaction.
const MaxGroup = 64

const (
	// commitTimeout bounds one transaction, if the ledger can cancel it.
	commitTimeout = 10 * time.Second
	// maxBatchWait bounds how long charges wait for others. It is short compared with the
	// network latency of an answer.
	maxBatchWait = 4 * time.Millisecond
)

// Meter charges concurrent calls in groups: charges that arrive during a transaction are
// collected for the next one. Each call waits for the commit of its own charge, so that a
// crash neither loses nor invents a charge. It is safe for concurrent use. Its background
// goroutine ends soon after the last charge.
type Meter struct {
	ledger func(ctx context.Context, charges []Charge) ([]Outcome, error)

	mu      sync.Mutex
	waiting []*waiter
	running bool
	// full is closed, and set to nil again, once the wanted number of charges wait.
	full   chan struct{}
	wanted int
}

type waiter struct {
	charge  Charge
	ctx     context.Context
	outcome Outcome
	done    chan struct{}
}

// NewMeter returns a Meter that commits groups of charges, as Ledger.Charge does.
func NewMeter(commit func(ctx context.Context, charges []Charge) ([]Outcome, error)) *Meter {
	return &Meter{ledger: commit}
}

// Charge commits a charge, or fails with fault.Exhausted or with the ledger's error. A
// caller that disconnects is charged too: the call was done.
func (m *Meter) Charge(ctx context.Context, charge Charge) (Receipt, error) {
	w := &waiter{charge: charge, ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
	m.mu.Lock()
	m.waiting = append(m.waiting, w)
	if m.full != nil && len(m.waiting) >= m.wanted {
		close(m.full)
		m.full = nil
	}
	first := !m.running
	m.running = true
	m.mu.Unlock()
	if first {
		go m.commitAll()
	}
	<-w.done
	return w.outcome.Receipt, w.outcome.Err
}

// commitAll commits group after group until no charge waits. The callers of the last
// group are likely to return soon, so it waits until that many more charges have joined
// those that wait already: fewer commits are cheaper. A single call is never delayed.
func (m *Meter) commitAll() {
	for wanted := 0; ; {
		m.gather(wanted)
		group := m.take()
		if group == nil {
			return
		}
		m.commit(group)
		wanted = len(group) + m.count()
	}
}

// gather waits until the wanted number of charges wait, or for maxBatchWait.
func (m *Meter) gather(wanted int) {
	wanted = min(wanted, MaxGroup)
	if wanted < 2 { // a caller who is alone
		return
	}
	m.mu.Lock()
	if len(m.waiting) >= wanted {
		m.mu.Unlock()
		return
	}
	full := make(chan struct{})
	m.full, m.wanted = full, wanted
	m.mu.Unlock()
	timer := time.NewTimer(maxBatchWait)
	defer timer.Stop()
	select {
	case <-full:
	case <-timer.C:
		m.mu.Lock()
		m.full = nil
		m.mu.Unlock()
	}
}

func (m *Meter) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

func (m *Meter) take() []*waiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		m.running = false
		return nil
	}
	n := min(len(m.waiting), MaxGroup)
	group := m.waiting[:n:n]
	m.waiting = m.waiting[n:]
	if len(m.waiting) == 0 {
		m.waiting = nil
	}
	return group
}

func (m *Meter) commit(group []*waiter) {
	charges := make([]Charge, len(group))
	for i, w := range group {
		charges[i] = w.charge
	}
	ctx, cancel := context.WithTimeout(group[0].ctx, commitTimeout)
	defer cancel()
	outcomes, err := m.ledger(ctx, charges)
	for i, w := range group {
		if err != nil {
			w.outcome = Outcome{Err: err}
		} else {
			w.outcome = outcomes[i]
		}
		close(w.done)
	}
}

// Charge commits charges, MaxGroup at most, in one transaction and returns their
// outcomes in the same order. With an error, nothing was charged.
func (l *Ledger) Charge(ctx context.Context, charges []Charge) (outcomes []Outcome, err error) {
	err = l.db.Write(ctx, func(ctx context.Context, tx db.Querier) (err error) {
		outcomes, err = l.ChargeWithin(ctx, tx, charges)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.CountOutcomes(charges, outcomes)
	return outcomes, nil
}

// ChargeWithin is Charge within the caller's transaction: it locks the balances, decides
// which calls they cover, and writes the balances and the ledger.
func (l *Ledger) ChargeWithin(ctx context.Context, tx db.Querier, charges []Charge) ([]Outcome, error) {
	at := l.db.Now()
	b := bill{month: MonthOf(at), at: at, charges: charges, outcomes: make([]Outcome, len(charges))}
	calls := map[tenant.ID][]int{}
	for i, c := range charges {
		if calls[c.Tenant] == nil {
			b.owners = append(b.owners, c.Tenant)
		}
		calls[c.Tenant] = append(calls[c.Tenant], i)
	}
	slices.Sort(b.owners)
	balances, gone, err := l.openBalances(ctx, tx, b.month, b.owners)
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
	return b.outcomes, l.keepBill(ctx, tx, &b)
}

// openBalances locks the tenants' balances of a month, and creates those that are missing.
// gone holds the error of each tenant that no longer exists.
func (l *Ledger) openBalances(ctx context.Context, tx db.Querier, month Month, owners []tenant.ID) (
	balances map[tenant.ID]Balance, gone map[tenant.ID]error, err error,
) {
	balances, err = l.lockBalances(ctx, tx, month, owners)
	if err != nil || len(balances) == len(owners) {
		return balances, nil, err
	}
	gone = map[tenant.ID]error{}
	for _, owner := range owners {
		if _, open := balances[owner]; open {
			continue
		}
		if err := l.openMonth(ctx, tx, owner, month); fault.Is(err, fault.NotFound) {
			gone[owner] = err
		} else if err != nil {
			return nil, nil, err
		}
	}
	balances, err = l.lockBalances(ctx, tx, month, owners)
	return balances, gone, err
}

// bill is a group of charges that are committed together.
type bill struct {
	month    Month
	at       time.Time
	owners   []tenant.ID
	charges  []Charge
	outcomes []Outcome
	// entries are the new lines of the ledger, balances the rows of VALUES with the new
	// balances and their tenants, reads the calls to count.
	entries  []Entry
	balances []any
	reads    readCounts
}

// refuse sets the same error for several calls, given as indexes of the charges.
func (b *bill) refuse(calls []int, err error) {
	for _, i := range calls {
		b.outcomes[i] = Outcome{Err: err}
	}
}

// settle charges one tenant's calls in their order, as far as the balance covers
// them, with one ledger entry for each tool.
func (b *bill) settle(owner tenant.ID, calls []int, have Balance) {
	first := len(b.entries)
	for _, i := range calls {
		c := b.charges[i]
		if c.Price > have.Remaining {
			b.refuse([]int{i}, have.Shortage(c.Price))
			continue
		}
		have.Remaining -= c.Price
		b.reads.add(c, b.at)
		b.outcomes[i].Receipt = Receipt{Charged: c.Price, Remaining: have.Remaining, ResetsAt: b.month.ResetsAt}
		at := slices.IndexFunc(b.entries[first:], func(e Entry) bool { return e.Tool == c.Tool })
		if at < 0 {
			at = len(b.entries) - first
			b.entries = append(b.entries, Entry{
				TenantID: owner, Period: b.month.Period, Reason: ReasonCalls, Tool: c.Tool, CreatedAt: b.at,
			})
		}
		e := &b.entries[first+at]
		e.Delta, e.Calls, e.BalanceAfter = e.Delta-c.Price, e.Calls+1, have.Remaining
	}
	if len(b.entries) > first {
		b.balances = append(b.balances, owner, have.Remaining)
	}
}

// keepBill writes the changed balances, the ledger's new entries and the counts of reads.
func (l *Ledger) keepBill(ctx context.Context, tx db.Querier, b *bill) error {
	if len(b.entries) == 0 {
		return nil
	}
	rows := strings.Repeat(", (?, ?)", len(b.balances)/2)[2:]
	update := "UPDATE credit_balances SET balance = new.column2 FROM (VALUES " + rows + ") AS new WHERE tenant_id = new.column1 AND period = ?"
	if err := b.reads.storeWith(ctx, tx, update, append(b.balances, b.month.Period)); err != nil {
		return err
	}
	return l.insertEntries(ctx, tx, b.entries...)
}

// CountOutcomes counts charges that were committed together.
func (l *Ledger) CountOutcomes(charges []Charge, outcomes []Outcome) {
	for i, outcome := range outcomes {
		if short := (*Shortage)(nil); errors.As(outcome.Err, &short) {
			l.watch.Refused(charges[i].Tool)
		} else if outcome.Err == nil && outcome.Receipt.Charged > 0 {
			l.watch.Charged(charges[i].Tool, outcome.Receipt.Charged)
		}
	}
}
