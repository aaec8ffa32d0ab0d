package billing

import (
	"cmp"
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
	// taken is how many of them have taken reads.
	taken int
	// users is how many calls use it at the moment, some of which wait. It is guarded by Ledger.mu.
	users int
}

// readCharge is what a credential spent on reads with one tool. Their time is the last one's.
type readCharge struct {
	Charge

	period string
	at     time.Time
	calls  int
	spent  int
}

// use returns the usage of a member, locked. Call release afterwards.
func (l *Ledger) use(owner tenant.ID) *usage {
	l.mu.Lock()
	u, ok := l.usages[owner]
	if !ok {
		u = &usage{owner: owner}
		u.changed.L = &u.mu
		l.usages[owner] = u
		l.schedule()
	}
	u.users++
	l.mu.Unlock()
	u.mu.Lock()
	return u
}

// release unlocks a usage.
func (l *Ledger) release(u *usage) {
	u.mu.Unlock()
	l.mu.Lock()
	u.users--
	l.mu.Unlock()
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
	u := l.use(c.Tenant)
	defer l.release(u)
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
			if u.loaded { // by the transaction that ended
				return nil
			}
		}
		begun := u.begun
		u.mu.Unlock()
		b, err := l.storedCredits(ctx, u.owner)
		u.mu.Lock()
		if err != nil {
			return err
		}
		if u.begun == begun {
			u.setBalance(b)
		}
		if u.loaded {
			return nil
		}
	}
}

// setBalance sets the balance in memory from the stored one.
func (u *usage) setBalance(stored Balance) {
	for _, r := range u.reads {
		if r.period == stored.Period {
			stored.Remaining = max(0, stored.Remaining-r.spent) // another process may have spent more
		}
	}
	u.balance, u.loaded = stored, true
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
	// reads were taken from memory. The transaction has locked their balances, so that nobody spends what they cost.
	reads []readCharge
	// reserved is what it takes off the balance in memory beyond the reads.
	reserved int
	// alone is the number of the transaction, if no other one was charging the member when it began.
	alone int
	// left is the balance that it stored; nil if it is not known.
	left *Balance
}

// begin starts a transaction that charges a member, and reserves the price in memory. The transaction compares it with
// the stored balance. Call end once it has ended.
func (l *Ledger) begin(owner tenant.ID, price int) *charging {
	u := l.use(owner)
	defer l.release(u)
	c := &charging{usage: u}
	if u.loaded && u.balance.Period == MonthOf(l.config.DB.Now()).Period {
		if price <= u.balance.Remaining {
			u.balance.Remaining -= price
			c.reserved = price
		} else {
			u.loaded = false // the stored balance decides; reads wait until the transaction has ended
		}
	}
	u.begun++
	if u.writing == 0 {
		c.alone = u.begun
	}
	u.writing++
	return c
}

// periods returns the months of the charges that are in memory.
func (c *charging) periods() (all []string) {
	c.usage.mu.Lock()
	defer c.usage.mu.Unlock()
	for _, r := range c.usage.reads {
		if !slices.Contains(all, r.period) {
			all = append(all, r.period)
		}
	}
	return all
}

// take takes the charges of a month from memory. The transaction has locked the balance, so another one that has taken
// charges has ended in the database: take waits until they are in memory again, if it failed.
func (c *charging) take(period string) (taken []readCharge) {
	u := c.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.taken > 1 || u.taken == 1 && len(c.reads) == 0 {
		u.changed.Wait()
	}
	var rest []readCharge
	for _, r := range u.reads {
		if r.period == period {
			taken = append(taken, r)
		} else {
			rest = append(rest, r)
		}
	}
	if len(taken) > 0 && len(c.reads) == 0 {
		u.taken++
	}
	u.reads = rest
	c.reads = append(c.reads, taken...)
	return taken
}

// mayFind reports whether take may find charges of a month: in memory, or with a transaction that may fail. That one
// counts only if the price is not reserved, because a reserved one leaves what the charges cost.
func (c *charging) mayFind(period string) bool {
	u := c.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.reads, func(r readCharge) bool { return r.period == period }) || c.reserved == 0 && u.taken > 0
}

// putBack puts what was taken into memory again. The usage is locked.
func (c *charging) putBack() {
	for _, r := range c.reads {
		c.usage.add(r)
	}
	c.forget()
}

// forget ends that the transaction has taken charges, and wakes take. The usage is locked.
func (c *charging) forget() {
	if len(c.reads) > 0 {
		c.usage.taken--
		c.usage.changed.Broadcast()
	}
	c.reads = nil
}

// end tells how the transaction ended. If it failed, the charges of reads are in memory again.
func (c *charging) end(err error) {
	u := c.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing--
	if err != nil {
		u.balance.Remaining += c.reserved
		c.putBack()
	}
	c.forget()
	if err == nil && c.left != nil && c.alone == u.begun { // so that loading never waits for a pause between writes
		u.setBalance(*c.left)
	}
	u.changed.Broadcast()
}

// Flush writes the charges of reads that are in memory. When it returns, an earlier Flush has ended, too.
func (l *Ledger) Flush(ctx context.Context) error {
	l.flush.Lock()
	defer l.flush.Unlock()
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
		errs = errors.Join(errs, l.flushSome(ctx, some))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range all {
		u.mu.Lock()
		u.loaded = false // other processes charge, too
		if len(u.reads) == 0 && u.writing == 0 && u.users == 0 {
			delete(l.usages, u.owner)
		}
		u.mu.Unlock()
	}
	if len(l.usages) > 0 {
		l.schedule()
	}
	return errs
}

// flushSome writes the charges of some members in one transaction.
func (l *Ledger) flushSome(ctx context.Context, some []*usage) error {
	var begun []*charging
	for _, u := range some {
		c := l.begin(u.owner, 0)
		if len(c.periods()) == 0 {
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
			c.usage.mu.Lock()
			c.putBack() // if the transaction is repeated
			c.usage.mu.Unlock()
			for _, period := range c.periods() {
				if err := l.writeReads(ctx, tx, c, period); err != nil {
					return err
				}
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
	running := l.begin(c.Tenant, c.Price)
	end = func(err error) {
		running.end(err)
		switch short := (*Shortage)(nil); {
		case err == nil && c.Price > 0:
			l.config.Watch.Charged(c.Tool, c.Price)
		case errors.As(err, &short):
			l.config.Watch.Refused(c.Tool)
		}
	}
	if err := l.writeReads(ctx, tx, running, month.Period); err != nil {
		return r, end, err
	}
	b, err := l.openBalance(ctx, tx, c.Tenant, month.Period)
	if err != nil {
		return r, end, err
	}
	if c.Price > b.Remaining {
		return r, end, b.Shortage(c.Price)
	}
	err = l.writeCharges(ctx, tx, b, c.Tenant, []readCharge{{Charge: c, period: month.Period, at: at, calls: 1, spent: c.Price}})
	b.Month, b.Remaining = month, b.Remaining-c.Price
	running.left = &b
	return Receipt{Charged: c.Price, Remaining: b.Remaining, ResetsAt: month.ResetsAt}, end, err
}

// writeReads writes the charges of a member's reads of a month that are in memory: the balance, the ledger's entries
// and the counts of reads. What the balance does not cover, because another process charged the member, is not
// charged. The reads of a member who is gone are dropped.
func (l *Ledger) writeReads(ctx context.Context, tx db.Querier, c *charging, period string) error {
	if !c.mayFind(period) {
		return nil
	}
	owner := c.usage.owner
	have, err := l.openBalance(ctx, tx, owner, period)
	if fault.Is(err, fault.NotFound) {
		c.take(period)
		return nil
	}
	if err != nil {
		return err
	}
	return l.writeCharges(ctx, tx, have, owner, c.take(period))
}

// writeCharges writes charges of reads of one month, whose balance the transaction has locked.
func (l *Ledger) writeCharges(ctx context.Context, tx db.Querier, have Balance, owner tenant.ID, reads []readCharge) error {
	if len(reads) == 0 {
		return nil
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
			entries = append(entries, Entry{TenantID: owner, Period: have.Period, Reason: ReasonCalls, Tool: r.Tool})
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
	if err := counts.storeWith(ctx, tx, update, []any{left, owner, have.Period}); err != nil {
		return err
	}
	return l.insertEntries(ctx, tx, entries...)
}

// KeepReadDays is for how many days the counts of reads are kept, and SweepReads deletes
// those of a day and of all days before it.
const (
	KeepReadDays = 90
	SweepReads   = "DELETE FROM agent_reads WHERE day <= ?"
)

// ReadDay returns the day on which a call counts: the one in UTC.
func ReadDay(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Reads is the number of calls that an agent made to one read tool on one day, and its database
// row. Only charged calls are counted.
type Reads struct {
	TenantID tenant.ID
	// Day is YYYY-MM-DD, in UTC.
	Day string
	// CredentialID is the grant or the token, CredentialName its name at the last call.
	CredentialID, CredentialName string
	Tool                         string
	Reads                        int
}

// ListReads returns what agents read from a time on, the latest day first, then by name, by
// credential and by tool. Counts of before KeepReadDays are left out.
func ListReads(ctx context.Context, q db.Reader, since time.Time) ([]Reads, error) {
	if kept := q.Now().AddDate(0, 0, 1-KeepReadDays); since.Before(kept) {
		since = kept
	}
	var rows []Reads
	err := q.NewRaw(`SELECT tenant_id, day, credential_id, credential_name, tool, reads FROM agent_reads
WHERE tenant_id = ? AND day >= ? ORDER BY day DESC, credential_name, credential_id, tool`, q.TenantID(), ReadDay(since)).Scan(ctx, &rows)
	return rows, err
}

// readCounts are calls to count, with one entry for each day, credential and tool of a tenant.
type readCounts []Reads

func (c *readCounts) add(call Charge, at time.Time, calls int) {
	if call.CredentialID == "" {
		return
	}
	r := Reads{TenantID: call.Tenant, Day: ReadDay(at), CredentialID: call.CredentialID, CredentialName: call.CredentialName, Tool: call.Tool}
	i := slices.IndexFunc(*c, func(o Reads) bool {
		return o.TenantID == r.TenantID && o.Day == r.Day && o.CredentialID == r.CredentialID && o.Tool == r.Tool
	})
	if i < 0 {
		i = len(*c)
		*c = append(*c, r)
	}
	(*c)[i].Reads += calls
}

// statement returns the statement that adds the counts to the stored ones, and its arguments.
func (c readCounts) statement() (sql string, args []any) {
	for _, r := range c {
		args = append(args, r.TenantID, r.Day, r.CredentialID, r.Tool, r.CredentialName, r.Reads)
	}
	return `INSERT INTO agent_reads (tenant_id, day, credential_id, tool, credential_name, reads)
VALUES ` + strings.Repeat(", (?, ?, ?, ?, ?, ?)", len(c))[2:] + `
ON CONFLICT (tenant_id, day, credential_id, tool) DO UPDATE SET reads = agent_reads.reads + excluded.reads, credential_name = excluded.credential_name`, args
}

// storeWith stores the counts and runs another statement: in PostgreSQL as one, so that
// counting takes no more round trips. The rows of a tenant are not locked by others
// meanwhile, since each charge locks the tenant's balance first.
func (c readCounts) storeWith(ctx context.Context, tx db.Querier, other string, args []any) error {
	if len(c) > 0 {
		count, counted := c.statement()
		if db.OnPostgres(tx) {
			other, args = "WITH counted AS ("+count+") "+other, append(counted, args...)
		} else if _, err := tx.NewRaw(count, counted...).Exec(ctx); err != nil {
			return err
		}
	}
	_, err := tx.NewRaw(other, args...).Exec(ctx)
	return err
}

// CountRead counts a read of the transaction's credential and tool. Call it after ChargeTx,
// which locks the balance.
func CountRead(ctx context.Context, tx *db.Tx) error {
	var c readCounts
	c.add(Charge{Tenant: tx.TenantID(), Tool: tx.Actor().Tool, CredentialID: tx.Actor().CredentialID, CredentialName: tx.Actor().CredentialName}, tx.Now(), 1)
	if len(c) == 0 {
		return nil
	}
	count, args := c.statement()
	_, err := tx.NewRaw(count, args...).Exec(ctx)
	return err
}
