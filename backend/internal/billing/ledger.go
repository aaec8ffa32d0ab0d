package billing

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/logging"
)

// The reasons of entries.
const (
	ReasonAllowance = "allowance"
	ReasonPlan      = "plan"
	ReasonCalls     = "calls"
	// ReasonRefund returns the price of a failed job.
	ReasonRefund = "refund"
)

// PeriodFormat is the layout of a period for time.Format: the month in UTC, YYYY-MM.
const PeriodFormat = "2006-01"

// Entry is a line of the ledger, and its database row.
type Entry struct {
	TenantID tenant.ID `bun:",pk"`
	ID       string    `bun:",pk"`
	Period   string
	Delta    int
	// BalanceAfter is what was left when the entry was written.
	BalanceAfter int
	Reason       string
	// Tool and Calls are what was paid for; empty and 0 for the other reasons. Reads of a
	// tool that were charged within seconds are one entry.
	Tool      string
	Calls     int
	CreatedAt time.Time
}

// Balance is a member's credits of a month.
type Balance struct {
	Month
	Allowance, Remaining int
}

// Used is how much of the allowance is spent.
func (b Balance) Used() int { return max(0, b.Allowance-b.Remaining) }

// Charge is the price of one call that reads.
type Charge struct {
	Tenant tenant.ID
	Tool   string
	Price  int
	// CredentialID and CredentialName are the credential of the call, whose reads are
	// counted.
	CredentialID, CredentialName string
}

// Receipt is what a call cost and what is left.
type Receipt struct {
	Charged   int       `json:"charged"`
	Remaining int       `json:"remaining"`
	ResetsAt  time.Time `json:"resets_at"`
}

// Shortage is fault.Exhausted with what is left.
type Shortage struct {
	Receipt Receipt
	fault   *fault.Error
}

// Error names the allowance and the time of the next one.
func (s *Shortage) Error() string { return s.fault.Error() }

// Unwrap returns the coded error.
func (s *Shortage) Unwrap() error { return s.fault }

// Shortage returns the error for a price that the balance does not cover.
func (b Balance) Shortage(price int) *Shortage {
	return &Shortage{
		Receipt: Receipt{Remaining: b.Remaining, ResetsAt: b.ResetsAt},
		fault:   fault.New(fault.Exhausted, "%s; %s new ones come on %s.", b.spent(price), grouped(b.Allowance), b.ResetsAt.Format(time.RFC3339)),
	}
}

func (b Balance) spent(price int) string {
	if b.Remaining <= 0 {
		return "This month's " + grouped(b.Allowance) + " credits are used up"
	}
	return "This call costs " + grouped(price) + " credits, and of this month's " + grouped(b.Allowance) + " only " +
		grouped(b.Remaining) + " are left"
}

// grouped writes a number with commas: 1,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plans is how many credits a member gets each month, by plan.
type Plans map[string]int

// MaxAllowance is the most credits of a month. It fits into the contract's 32 bits.
const MaxAllowance = 1_000_000_000

// NewPlans returns the plans with the defaults for those that are not given:
// free 1,000 and pro 20,000. It fails for a plan that does not exist, and for an
// allowance that is out of range.
func NewPlans(given map[string]int) (Plans, error) {
	plans := Plans{account.PlanFree: 1_000, account.PlanPro: 20_000}
	for plan, n := range given {
		if err := account.CheckPlan(plan); err != nil {
			return nil, err
		}
		if n < 0 || n > MaxAllowance {
			return nil, fmt.Errorf("the plan %s cannot give %d credits a month: 0 to %d can be", plan, n, MaxAllowance)
		}
	}
	maps.Copy(plans, given)
	return plans, nil
}

// Allowance returns the credits of a month; an unknown plan gets those of the free one.
func (p Plans) Allowance(plan string) int {
	if n, ok := p[plan]; ok {
		return n
	}
	return p[account.PlanFree]
}

// CreditObserver counts what was committed to the ledger; *metrics.Calls is one.
type CreditObserver interface {
	Charged(tool string, credits int)
	Refunded(tool string, credits int)
	// Refused is called with charges that the credits did not cover.
	Refused(tool string)
}

// noCredits counts nothing.
type noCredits struct{}

func (noCredits) Charged(string, int)  {}
func (noCredits) Refunded(string, int) {}
func (noCredits) Refused(string)       {}

// LedgerConfig is what a Ledger needs.
type LedgerConfig struct {
	DB    *db.DB
	Plans Plans
	// Watch counts charges; nil counts nothing.
	Watch  CreditObserver
	Logger *slog.Logger
	// FlushEvery is how long the charge of a read stays in memory at most, while the database can be written. A crash
	// loses the charges of that time, in the members' favour. 0 means a second.
	FlushEvery time.Duration
}

// Ledger charges members. It is safe for concurrent use.
type Ledger struct {
	config LedgerConfig
	// months caches, by tenant, the period whose allowance is known to be given.
	months sync.Map

	// flush is held during Flush.
	flush  sync.Mutex
	mu     sync.Mutex
	usages map[tenant.ID]*usage
	// flushing runs the next Flush; nil if nothing is in memory.
	flushing *time.Timer
	failures logging.Seldom
}

// NewLedger returns the ledger of a database. Call Flush before the process ends.
func NewLedger(c LedgerConfig) *Ledger {
	if c.Watch == nil {
		c.Watch = noCredits{}
	}
	c.FlushEvery = cmp.Or(c.FlushEvery, time.Second)
	return &Ledger{config: c, usages: map[tenant.ID]*usage{}}
}

// GetCredits returns a member's credits of this month, or fails with fault.NotFound. In a
// month without charges, the whole allowance is left. Reads that this process has charged count, whether they are
// written or not.
func (l *Ledger) GetCredits(ctx context.Context, owner tenant.ID) (Balance, error) {
	l.mu.Lock()
	_, ok := l.usages[owner]
	l.mu.Unlock()
	if !ok {
		return l.storedCredits(ctx, owner)
	}
	u := l.use(owner)
	defer l.release(u)
	err := l.load(ctx, u)
	return u.balance, err
}

// storedCredits is GetCredits without the charges that are in memory.
func (l *Ledger) storedCredits(ctx context.Context, owner tenant.ID) (Balance, error) {
	b := Balance{Month: MonthOf(l.config.DB.Now())}
	var p planOf
	var allowance, balance sql.NullInt64
	err := l.config.DB.NewRaw(`SELECT m.plan, m.monthly_credits, b.allowance, b.balance FROM members m
LEFT JOIN credit_balances b ON b.tenant_id = m.id AND b.period = ? WHERE m.id = ?`, b.Period, owner).Scan(ctx, &p.plan, &p.own, &allowance, &balance)
	if errors.Is(err, sql.ErrNoRows) {
		return b, noSuchMember()
	}
	if err != nil {
		return b, err
	}
	b.Allowance, b.Remaining = int(allowance.Int64), int(balance.Int64)
	if !balance.Valid {
		b.Allowance = l.allowance(p)
		b.Remaining = b.Allowance
	}
	return b, nil
}

// planOf is what decides a member's allowance: the plan, and the credits that an operator gave instead of the plan's.
type planOf struct {
	plan string
	own  sql.NullInt64
}

func (l *Ledger) allowance(p planOf) int {
	if p.own.Valid {
		return int(p.own.Int64)
	}
	return l.config.Plans.Allowance(p.plan)
}

func noSuchMember() error { return fault.New(fault.NotFound, "the member does not exist any more") }

// OpenMonth gives the tenant this month's allowance, unless that was done already, and
// returns the month. It runs across tenants because a tenant's transaction does not see
// the plan.
func (l *Ledger) OpenMonth(ctx context.Context, owner tenant.ID) (Month, error) {
	month := MonthOf(l.config.DB.Now())
	if seen, ok := l.months.Load(owner); ok && seen == month.Period {
		return month, nil
	}
	// The insert would wait for a running charge of another process that opened the month
	// already, so check first.
	open, err := l.config.DB.NewSelect().Table("credit_balances").
		Where("tenant_id = ? AND period = ?", owner, month.Period).Exists(ctx)
	if err == nil && !open {
		err = l.config.DB.Write(ctx, func(ctx context.Context, tx db.Querier) error {
			return l.openMonth(ctx, tx, owner, month.Period)
		})
	}
	if err != nil {
		return month, err
	}
	l.months.Store(owner, month.Period)
	return month, nil
}

// openMonth gives an allowance once. It locks the plan: a change of the plan happens
// either before, and is seen here, or after, and finds the balance.
func (l *Ledger) openMonth(ctx context.Context, tx db.Querier, owner tenant.ID, period string) error {
	var p planOf
	if err := tx.NewRaw("SELECT plan, monthly_credits FROM members WHERE id = ?"+db.LockRows(tx, "FOR SHARE"), owner).Scan(ctx, &p.plan, &p.own); errors.Is(err, sql.ErrNoRows) {
		return noSuchMember()
	} else if err != nil {
		return err
	}
	n := l.allowance(p)
	result, err := tx.NewRaw(`INSERT INTO credit_balances (tenant_id, period, allowance, balance) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, period) DO NOTHING`, owner, period, n, n).Exec(ctx)
	if err != nil {
		return err
	}
	if made, err := result.RowsAffected(); err != nil || made == 0 {
		return err
	}
	return l.insertEntries(ctx, tx, Entry{
		TenantID: owner, Period: period, Delta: n, BalanceAfter: n, Reason: ReasonAllowance,
	})
}

// insertEntries stores entries. It sets their ids, and the current time on entries without
// a time.
func (l *Ledger) insertEntries(ctx context.Context, db db.Querier, entries ...Entry) error {
	for i := range entries {
		e := &entries[i]
		var err error
		if e.ID, err = l.config.DB.NewID(id.Credit); err != nil {
			return err
		}
		if e.CreatedAt.IsZero() {
			e.CreatedAt = l.config.DB.Now()
		}
	}
	_, err := db.NewInsert().Model(&entries).ModelTableExpr("credit_entries").Exec(ctx)
	return err
}

// SetPlan changes the plan, or fails with fault.NotFound. The month's balance becomes
// the new plan's allowance less what is spent, and never less than 0.
func (l *Ledger) SetPlan(ctx context.Context, username, plan string, at time.Time) error {
	return l.setPlan(ctx, username, at, "plan = ?", plan)
}

// SetCredits gives a member so many credits each month instead of the plan's; nil gives those of the plan again. It
// fails with fault.NotFound. The month's balance follows as with SetPlan.
func (l *Ledger) SetCredits(ctx context.Context, username string, credits *int, at time.Time) error {
	if credits != nil && (*credits < 0 || *credits > MaxAllowance) {
		return fault.InvalidField("credits", "%d is not between 0 and %d", *credits, MaxAllowance)
	}
	return l.setPlan(ctx, username, at, "monthly_credits = ?", credits)
}

// setPlan sets a column that decides the allowance.
func (l *Ledger) setPlan(ctx context.Context, username string, at time.Time, assignment string, value any) error {
	month := MonthOf(at)
	err := l.config.DB.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		var owner tenant.ID
		var p planOf
		err := tx.NewRaw("UPDATE members SET "+assignment+", updated_at = ? WHERE username = ? RETURNING id, plan, monthly_credits", value, at, username).
			Scan(ctx, &owner, &p.plan, &p.own)
		if errors.Is(err, sql.ErrNoRows) {
			return account.NoMember(username)
		}
		if err != nil {
			return err
		}
		b, err := l.lockBalance(ctx, tx, owner, month.Period)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return l.changeAllowance(ctx, tx, owner, b, l.allowance(p))
	})
	return err
}

func (l *Ledger) changeAllowance(ctx context.Context, tx db.Querier, owner tenant.ID, b Balance, allowance int) error {
	var spent int
	err := tx.NewRaw("SELECT coalesce(-sum(delta), 0) FROM credit_entries WHERE tenant_id = ? AND period = ? AND reason IN (?, ?)",
		owner, b.Period, ReasonCalls, ReasonRefund).Scan(ctx, &spent)
	if err != nil {
		return err
	}
	left := max(0, allowance-spent)
	if _, err := tx.NewRaw("UPDATE credit_balances SET allowance = ?, balance = ? WHERE tenant_id = ? AND period = ?",
		allowance, left, owner, b.Period).Exec(ctx); err != nil || left == b.Remaining {
		return err
	}
	return l.insertEntries(ctx, tx, Entry{
		TenantID: owner, Period: b.Period, Delta: left - b.Remaining, BalanceAfter: left, Reason: ReasonPlan,
	})
}

// lockBalance returns the balance of a month, locked until the transaction ends, or fails with sql.ErrNoRows.
func (l *Ledger) lockBalance(ctx context.Context, tx db.Querier, owner tenant.ID, period string) (b Balance, err error) {
	b.Period = period
	err = tx.NewRaw("SELECT allowance, balance FROM credit_balances WHERE tenant_id = ? AND period = ?"+db.LockRows(tx, "FOR UPDATE"), owner, period).
		Scan(ctx, &b.Allowance, &b.Remaining)
	return b, err
}

// openBalance is lockBalance, and gives the allowance of a month in which it was not given.
func (l *Ledger) openBalance(ctx context.Context, tx db.Querier, owner tenant.ID, period string) (Balance, error) {
	b, err := l.lockBalance(ctx, tx, owner, period)
	if errors.Is(err, sql.ErrNoRows) {
		if err := l.openMonth(ctx, tx, owner, period); err != nil {
			return b, err
		}
		b, err = l.lockBalance(ctx, tx, owner, period)
	}
	return b, err
}

// ChargeTx takes the price of a call off the month's balance, in the transaction of its
// effect, and writes the charges of reads that are in memory. Call it once, last: it locks the balance, and the tenant's
// other calls that are charged wait until the transaction ends.
func (l *Ledger) ChargeTx(ctx context.Context, tx *db.Tx, month Month, price int) (Receipt, error) {
	w, err := l.writeReads(ctx, tx, tx.TenantID(), month.Period)
	if err != nil {
		return Receipt{}, err
	}
	b := Balance{Month: month}
	err = tx.NewRaw(`UPDATE credit_balances SET balance = balance - ? WHERE tenant_id = ? AND period = ? AND balance >= ?
RETURNING allowance, balance`, price, tx.TenantID(), month.Period, price).Scan(ctx, &b.Allowance, &b.Remaining)
	if errors.Is(err, sql.ErrNoRows) {
		return l.uncovered(ctx, tx, b, price)
	}
	if err != nil {
		return Receipt{}, err
	}
	entryID, err := tx.NewULID(id.Credit)
	if err != nil {
		return Receipt{}, err
	}
	entry := Entry{
		TenantID: tx.TenantID(), ID: entryID, Period: month.Period, Delta: -price, BalanceAfter: b.Remaining, Reason: ReasonCalls,
		Tool: tx.Actor().Tool, Calls: 1, CreatedAt: tx.Now(),
	}
	if _, err = tx.NewInsert().Model(&entry).ModelTableExpr("credit_entries").Exec(ctx); err != nil {
		return Receipt{}, err
	}
	w.left = &b
	db.OnCommit(ctx, func() { l.config.Watch.Charged(tx.Actor().Tool, price) })
	return Receipt{Charged: price, Remaining: b.Remaining, ResetsAt: month.ResetsAt}, nil
}

func (l *Ledger) uncovered(ctx context.Context, tx *db.Tx, b Balance, price int) (Receipt, error) {
	err := tx.NewRaw("SELECT allowance, balance FROM credit_balances WHERE tenant_id = ? AND period = ?", tx.TenantID(), b.Period).
		Scan(ctx, &b.Allowance, &b.Remaining)
	if errors.Is(err, sql.ErrNoRows) {
		err = noSuchMember()
	}
	if err != nil {
		return Receipt{}, err
	}
	l.countRefusal(ctx, tx.Actor().Tool)
	return Receipt{}, b.Shortage(price)
}

// countRefusal counts a call that the balance does not cover, when the transaction has been rolled back because of it.
func (l *Ledger) countRefusal(ctx context.Context, tool string) {
	db.OnEnd(ctx, func(err error) {
		if err != nil {
			l.config.Watch.Refused(tool)
		}
	})
}

// Refund returns credits to the month that they were taken from.
func (l *Ledger) Refund(ctx context.Context, tx db.Querier, owner tenant.ID, period, tool string, credits int) error {
	var balance int
	err := tx.NewRaw("UPDATE credit_balances SET balance = balance + ? WHERE tenant_id = ? AND period = ? RETURNING balance",
		credits, owner, period).Scan(ctx, &balance)
	if err != nil {
		return err
	}
	return l.insertEntries(ctx, tx, Entry{
		TenantID: owner, Period: period, Delta: credits, BalanceAfter: balance, Reason: ReasonRefund, Tool: tool,
	})
}

// CountRefund counts credits that a transaction refunded.
func (l *Ledger) CountRefund(tool string, credits int) { l.config.Watch.Refunded(tool, credits) }

// Month is a calendar month in UTC, for which an allowance is given.
type Month struct {
	// Period is YYYY-MM.
	Period string
	// ResetsAt is when the next month begins.
	ResetsAt time.Time
}

// MonthOf returns the month that contains a time.
func MonthOf(at time.Time) Month {
	at = at.UTC()
	return Month{
		Period:   at.Format(PeriodFormat),
		ResetsAt: time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC),
	}
}
