package billing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const (
	// maxFlush is how many members' charges one transaction writes.
	maxFlush = 64
	// flushTimeout bounds a flush.
	flushTimeout = 10 * time.Second
)

// usage is what a member spent on reads and is not written yet. It exists from the member's first charge until the
// flush after it.
type usage struct {
	owner tenant.ID

	mu sync.Mutex
	// changed wakes those who wait for loading or writing to end.
	changed sync.Cond
	// balance is what is left of the month after all charges in memory, if it is loaded.
	balance Balance
	loaded  bool
	loading bool
	reads   []readCharge
	// writing is how many transactions charge the member at the moment; begun counts them.
	writing, begun int
	// dead is set when the usage was dropped.
	dead bool
}

// readCharge is what a credential spent on reads with one tool. Their time is the last one's.
type readCharge struct {
	Charge

	period string
	at     time.Time
	calls  int
	spent  int
}

// usageOf returns the usage of a member, locked.
func (l *Ledger) usageOf(owner tenant.ID) *usage {
	for {
		l.mu.Lock()
		u, ok := l.usages[owner]
		if !ok {
			u = &usage{owner: owner}
			u.changed.L = &u.mu
			l.usages[owner] = u
			l.schedule()
		}
		l.mu.Unlock()
		u.mu.Lock()
		if !u.dead {
			return u
		}
		u.mu.Unlock()
	}
}

// schedule makes Flush run once after the configured time. The caller holds l.mu.
func (l *Ledger) schedule() {
	if l.flushing != nil {
		return
	}
	l.flushing = time.AfterFunc(l.config.FlushEvery, func() {
		l.mu.Lock()
		l.flushing = nil
		l.mu.Unlock()
		if err := l.Flush(context.Background()); err != nil {
			l.config.Logger.Warn("the charges of reads stay in memory, because the database cannot be written", "error", err)
		}
	})
}

// ChargeRead charges a read that was done, in memory: its charge is written with the member's next write, or by Flush.
// It fails with a *Shortage if what is left of the month does not cover it.
func (l *Ledger) ChargeRead(ctx context.Context, c Charge) (Receipt, error) {
	ctx = context.WithoutCancel(ctx) // a caller that disconnects is charged, too: the call was done
	u := l.usageOf(c.Tenant)
	defer u.mu.Unlock()
	at := l.config.DB.Now()
	month := MonthOf(at)
	fresh := false
	for !u.loaded || u.balance.Period != month.Period || (c.Price > u.balance.Remaining && !fresh) {
		if err := l.load(ctx, u); err != nil {
			return Receipt{}, err
		}
		fresh = true
	}
	if c.Price > u.balance.Remaining {
		l.config.Watch.Refused(c.Tool)
		return Receipt{}, u.balance.Shortage(c.Price)
	}
	u.balance.Remaining -= c.Price
	u.add(readCharge{Charge: c, period: month.Period, at: at, calls: 1, spent: c.Price})
	l.config.Watch.Charged(c.Tool, c.Price)
	return Receipt{Charged: c.Price, Remaining: u.balance.Remaining, ResetsAt: month.ResetsAt}, nil
}

// load reads the balance of the member, whose usage is locked. No transaction may charge the member meanwhile,
// because its commit may be seen or not: then the balance is read again.
func (l *Ledger) load(ctx context.Context, u *usage) error {
	if u.loading {
		u.changed.Wait()
		return nil
	}
	u.loading = true
	defer func() {
		u.loading = false
		u.changed.Broadcast()
	}()
	for {
		for u.writing > 0 {
			u.changed.Wait()
		}
		begun := u.begun
		u.mu.Unlock()
		b, err := l.storedCredits(ctx, u.owner)
		u.mu.Lock()
		if err != nil {
			return err
		}
		if u.begun != begun {
			continue
		}
		for _, r := range u.reads {
			if r.period == b.Period {
				b.Remaining = max(0, b.Remaining-r.spent) // another process may have spent more
			}
		}
		u.balance, u.loaded = b, true
		return nil
	}
}

// add adds a charge to the one of the same credential, tool and day.
func (u *usage) add(c readCharge) {
	i := slices.IndexFunc(u.reads, func(o readCharge) bool {
		return o.Tool == c.Tool && o.CredentialID == c.CredentialID && o.period == c.period && ReadDay(o.at) == ReadDay(c.at)
	})
	if i < 0 {
		u.reads = append(u.reads, c)
		return
	}
	r := &u.reads[i]
	r.calls, r.spent, r.at, r.CredentialName = r.calls+c.calls, r.spent+c.spent, c.at, c.CredentialName
}

// charging is a transaction that charges a member, and writes charges of reads that were in memory.
type charging struct {
	usage *usage
	reads []readCharge
	// reserved is what it takes off the balance in memory beyond the reads.
	reserved int
}

// begin starts a transaction that charges a member, and takes the charges of reads in the month from memory; of all
// months if period is empty. Call end once the transaction has ended. It fails with a *Shortage if the price, beside
// the reads, is more than what is left in memory; otherwise the transaction compares it with the stored balance.
func (l *Ledger) begin(owner tenant.ID, period string, price int) (*charging, error) {
	u := l.usageOf(owner)
	defer u.mu.Unlock()
	c := &charging{usage: u}
	if u.loaded && (period == "" || u.balance.Period == period) {
		if price > u.balance.Remaining {
			return nil, u.balance.Shortage(price)
		}
		u.balance.Remaining -= price
		c.reserved = price
	}
	u.writing++
	u.begun++
	c.reads, u.reads = split(u.reads, func(r readCharge) bool { return period == "" || r.period == period })
	return c, nil
}

// end tells how the transaction ended. If it failed, the charges of reads are in memory again.
func (c *charging) end(err error) {
	u := c.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing--
	if err != nil {
		u.balance.Remaining += c.reserved
		for _, r := range c.reads {
			u.add(r)
		}
	}
	u.changed.Broadcast()
}

// Flush writes the charges of reads that are in memory.
func (l *Ledger) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	l.mu.Lock()
	all := make([]*usage, 0, len(l.usages))
	for _, u := range l.usages {
		all = append(all, u)
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b *usage) int { return cmp.Compare(a.owner, b.owner) })
	var errs error
	for some := range slices.Chunk(all, maxFlush) {
		errs = errors.Join(errs, l.flush(ctx, some))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range all {
		u.mu.Lock()
		u.loaded = false // other processes charge, too
		if u.dead = len(u.reads) == 0 && u.writing == 0 && !u.loading; u.dead {
			delete(l.usages, u.owner)
		}
		u.mu.Unlock()
	}
	if len(l.usages) > 0 {
		l.schedule()
	}
	return errs
}

// flush writes the charges of some members in one transaction.
func (l *Ledger) flush(ctx context.Context, some []*usage) error {
	var begun []*charging
	for _, u := range some {
		c, err := l.begin(u.owner, "", 0)
		if err != nil { // never: there is no price
			return err
		}
		if len(c.reads) == 0 {
			c.end(nil)
			continue
		}
		begun = append(begun, c)
	}
	if len(begun) == 0 {
		return nil
	}
	err := l.config.DB.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		for _, c := range begun {
			if err := l.writeReads(ctx, tx, c.reads); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range begun {
		c.end(err)
	}
	return err
}

// ChargeIn charges a read in a transaction across tenants, after those that are in memory. Call end with the
// transaction's error. It fails with a *Shortage if what is left of the month does not cover the price.
func (l *Ledger) ChargeIn(ctx context.Context, tx db.Querier, c Charge) (r Receipt, end func(error), err error) {
	at := l.config.DB.Now()
	month := MonthOf(at)
	running, err := l.begin(c.Tenant, "", c.Price)
	end = func(err error) {
		if running != nil {
			running.end(err)
		}
		switch short := (*Shortage)(nil); {
		case err == nil && c.Price > 0:
			l.config.Watch.Charged(c.Tool, c.Price)
		case errors.As(err, &short):
			l.config.Watch.Refused(c.Tool)
		}
	}
	if err == nil {
		err = l.writeReads(ctx, tx, running.reads)
	}
	if err != nil {
		return r, end, err
	}
	b, err := l.openBalance(ctx, tx, c.Tenant, month.Period)
	if err != nil {
		return r, end, err
	}
	if c.Price > b.Remaining {
		return r, end, b.Shortage(c.Price)
	}
	err = l.writeReads(ctx, tx, []readCharge{{Charge: c, period: month.Period, at: at, calls: 1, spent: c.Price}})
	return Receipt{Charged: c.Price, Remaining: b.Remaining - c.Price, ResetsAt: month.ResetsAt}, end, err
}

// writeReads writes the charges of a member's reads in a transaction: the balances of their months, the ledger's
// entries and the counts of reads. What a balance does not cover, because another process charged the member, is not
// charged. The reads of a member who is gone are dropped.
func (l *Ledger) writeReads(ctx context.Context, tx db.Querier, rest []readCharge) error {
	for len(rest) > 0 {
		var reads []readCharge
		owner, period := rest[0].Tenant, rest[0].period
		reads, rest = split(rest, func(r readCharge) bool { return r.period == period })
		have, err := l.openBalance(ctx, tx, owner, period)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var entries []Entry
		var counts readCounts
		left := have.Remaining
		for _, r := range reads {
			paid := min(r.spent, left)
			left -= paid
			i := slices.IndexFunc(entries, func(e Entry) bool { return e.Tool == r.Tool })
			if i < 0 {
				i = len(entries)
				entries = append(entries, Entry{TenantID: r.Tenant, Period: period, Reason: ReasonCalls, Tool: r.Tool})
			}
			e := &entries[i]
			e.Delta, e.Calls, e.CreatedAt = e.Delta-paid, e.Calls+r.calls, r.at
			counts.add(r.Charge, r.at, r.calls)
		}
		for i, balance := 0, have.Remaining; i < len(entries); i++ {
			balance += entries[i].Delta
			entries[i].BalanceAfter = balance
		}
		const update = "UPDATE credit_balances SET balance = ? WHERE tenant_id = ? AND period = ?"
		if err := counts.storeWith(ctx, tx, update, []any{left, owner, period}); err != nil {
			return err
		}
		if err := l.insertEntries(ctx, tx, entries...); err != nil {
			return err
		}
	}
	return nil
}

// split returns the charges that meet a condition, and the others.
func split(all []readCharge, meets func(readCharge) bool) (some, others []readCharge) {
	for _, r := range all {
		if meets(r) {
			some = append(some, r)
		} else {
			others = append(others, r)
		}
	}
	return some, others
}
