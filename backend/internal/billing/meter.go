package billing

import (
	"cmp"
	"context"
	"errors"
	"maps"
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
	// users is how many calls use it at the moment, some of which wait. It is guarded by Ledger.mu.
	users int

	// mu guards what follows. A transaction that charges the member holds it from the charge to its end, so nobody may
	// wait for a connection of the database while holding it.
	mu    sync.Mutex
	reads []readCharge
	// balance is what is left of the month after all charges in memory, if that is known.
	balance Balance
	known   bool
	// commits counts the transactions that charged the member.
	commits int
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
		if err := l.Flush(context.Background()); err != nil && l.failures.Now() {
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
	for !u.known || u.balance.Period != month.Period || (c.Price > u.balance.Remaining && !fresh) {
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

// load reads the balance of the member, whose usage is locked, but not during the statement. A transaction that ends
// meanwhile sets the balance itself.
func (l *Ledger) load(ctx context.Context, u *usage) error {
	commits := u.commits
	u.mu.Unlock()
	b, err := l.storedCredits(ctx, u.owner)
	u.mu.Lock()
	if err == nil && u.commits == commits {
		u.setBalance(b)
	}
	return err
}

// setBalance sets the balance in memory from the stored one.
func (u *usage) setBalance(stored Balance) {
	for _, r := range u.reads {
		if r.period == stored.Period {
			stored.Remaining = max(0, stored.Remaining-r.spent) // another process may have spent more
		}
	}
	u.balance, u.known = stored, true
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

// written is what a transaction that charges a member changes in memory when it is committed.
type written struct {
	// reads are those that are not written.
	reads []readCharge
	// left is the balance of the present month that it stored; nil if it stored none.
	left *Balance
}

// hold locks the usage of a member until the transaction of ctx ends.
func (l *Ledger) hold(ctx context.Context, owner tenant.ID) *written {
	u := l.use(owner)
	w := &written{reads: u.reads}
	db.OnEnd(ctx, func(err error) {
		defer l.release(u)
		switch {
		case err != nil: // it may be committed all the same, if the connection was lost
			u.known = false
		case w.left != nil:
			u.reads, u.commits = w.reads, u.commits+1
			u.setBalance(*w.left)
		default:
			u.reads, u.commits, u.known = w.reads, u.commits+1, false
		}
	})
	return w
}

// Flush writes the charges of reads that are in memory. When it returns, an earlier Flush has ended, too.
func (l *Ledger) Flush(ctx context.Context) error {
	l.flush.Lock()
	defer l.flush.Unlock()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	l.mu.Lock()
	all := slices.SortedFunc(maps.Keys(l.usages), cmp.Compare[tenant.ID])
	l.mu.Unlock()
	var errs error
	all = slices.DeleteFunc(all, func(owner tenant.ID) bool { return len(l.periods(owner)) == 0 })
	for some := range slices.Chunk(all, maxFlush) {
		if err := l.flushSome(ctx, some); err != nil {
			errs = errors.Join(errs, err)
			for _, owner := range some { // another process may charge until the database can be written
				u := l.use(owner)
				u.known = false
				l.release(u)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.usages, func(_ tenant.ID, u *usage) bool { return u.users == 0 && len(u.reads) == 0 })
	if len(l.usages) > 0 {
		l.schedule()
	}
	return errs
}

// flushSome writes the charges of some members in one transaction: in one order, so that two processes don't wait for each
// other.
func (l *Ledger) flushSome(ctx context.Context, some []tenant.ID) error {
	return l.config.DB.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		for _, owner := range some {
			if _, err := l.writeReads(ctx, tx, owner, l.periods(owner)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// periods returns the months of a member's charges that are in memory.
func (l *Ledger) periods(owner tenant.ID) (all []string) {
	u := l.use(owner)
	defer l.release(u)
	for _, r := range u.reads {
		if !slices.Contains(all, r.period) {
			all = append(all, r.period)
		}
	}
	return all
}

// ChargeIn charges a read in a transaction across tenants, after those that are in memory. It fails with a *Shortage if
// what is left of the month does not cover the price.
func (l *Ledger) ChargeIn(ctx context.Context, tx db.Querier, c Charge) (Receipt, error) {
	at := l.config.DB.Now()
	month := MonthOf(at)
	w, err := l.writeReads(ctx, tx, c.Tenant, month.Period)
	if err != nil {
		return Receipt{}, err
	}
	b, err := l.openBalance(ctx, tx, c.Tenant, month.Period)
	if err != nil {
		return Receipt{}, err
	}
	b.Month = month
	if c.Price > b.Remaining {
		l.countRefusal(ctx, c.Tool)
		return Receipt{}, b.Shortage(c.Price)
	}
	if err := l.writeCharges(ctx, tx, &b, c.Tenant, []readCharge{{Charge: c, period: month.Period, at: at, calls: 1, spent: c.Price}}); err != nil {
		return Receipt{}, err
	}
	w.left = &b
	if c.Price > 0 {
		db.OnCommit(ctx, func() { l.config.Watch.Charged(c.Tool, c.Price) })
	}
	return Receipt{Charged: c.Price, Remaining: b.Remaining, ResetsAt: month.ResetsAt}, nil
}

// writeReads holds the usage of a member until the transaction ends, and writes the charges of its reads of some months:
// the balance, the ledger's entries and the counts of reads. What the balance does not cover, because another process
// charged the member, is not charged. The reads of a member who is gone are dropped.
func (l *Ledger) writeReads(ctx context.Context, tx db.Querier, owner tenant.ID, periods ...string) (*written, error) {
	w := l.hold(ctx, owner)
	for _, period := range periods {
		var reads, others []readCharge
		for _, r := range w.reads {
			if r.period == period {
				reads = append(reads, r)
			} else {
				others = append(others, r)
			}
		}
		if w.reads = others; len(reads) == 0 {
			continue
		}
		b, err := l.openBalance(ctx, tx, owner, period)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err == nil {
			err = l.writeCharges(ctx, tx, &b, owner, reads)
		}
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

// writeCharges writes charges of reads of one month, and takes them off its balance, which the transaction has locked.
func (l *Ledger) writeCharges(ctx context.Context, tx db.Querier, have *Balance, owner tenant.ID, reads []readCharge) error {
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
	have.Remaining = left
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
