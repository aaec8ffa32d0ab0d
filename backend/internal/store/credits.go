package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// GetCredits returns what a member has of this month, or fails with
// fault.NotFound. A month that nothing was charged in yet is whole.
func (s *Store) GetCredits(ctx context.Context, owner tenant.ID) (credit.Balance, error) {
	b := credit.Balance{Month: credit.MonthOf(s.time())}
	var plan string
	var allowance, balance sql.NullInt64
	err := s.engine.serviceRead.NewRaw(`SELECT m.plan, b.allowance, b.balance FROM members m
LEFT JOIN credit_balances b ON b.tenant_id = m.id AND b.period = ? WHERE m.id = ?`, b.Period, owner).Scan(ctx, &plan, &allowance, &balance)
	if errors.Is(err, sql.ErrNoRows) {
		return b, noSuchMember()
	}
	if err != nil {
		return b, translate(err)
	}
	b.Allowance, b.Remaining = int(allowance.Int64), int(balance.Int64)
	if !balance.Valid {
		b.Allowance = s.plans.Allowance(plan)
		b.Remaining = b.Allowance
	}
	return b, nil
}

func noSuchMember() error { return fault.New(fault.NotFound, "the member does not exist any more") }

// OpenMonth gives the tenant this month's allowance, if that was not done, and
// returns the month. A transaction of the tenant's own could not: it does not see
// the plan.
func (t *Tenant) OpenMonth(ctx context.Context) (credit.Month, error) {
	month := credit.MonthOf(t.store.time())
	if seen, ok := t.store.months.Load(t.id); ok && seen == month.Period {
		return month, nil
	}
	// Where another process opened it, this one must not wait for a charge that is
	// on its way there, as the insert would.
	open, err := t.store.engine.serviceRead.NewSelect().Table("credit_balances").
		Where("tenant_id = ? AND period = ?", t.id, month.Period).Exists(ctx)
	if err == nil && !open {
		err = t.store.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			return t.store.openMonth(ctx, tx, t.id, month)
		})
	}
	if err != nil {
		return month, translate(err)
	}
	t.store.months.Store(t.id, month.Period)
	return month, nil
}

// openMonth gives an allowance once. It holds on to the plan, so that a change of
// it comes before, and is seen, or after, and finds the balance.
func (s *Store) openMonth(ctx context.Context, tx bun.Tx, owner tenant.ID, month credit.Month) error {
	query := "SELECT plan FROM members WHERE id = ?"
	if s.engine.name == postgresName {
		query += " FOR SHARE"
	}
	var plan string
	if err := tx.NewRaw(query, owner).Scan(ctx, &plan); errors.Is(err, sql.ErrNoRows) {
		return noSuchMember()
	} else if err != nil {
		return err
	}
	n := s.plans.Allowance(plan)
	result, err := tx.NewRaw(`INSERT INTO credit_balances (tenant_id, period, allowance, balance) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, period) DO NOTHING`, owner, month.Period, n, n).Exec(ctx)
	if err != nil {
		return err
	}
	if made, err := result.RowsAffected(); err != nil || made == 0 {
		return err
	}
	return s.insertEntries(ctx, tx, credit.Entry{
		TenantID: owner, Period: month.Period, Delta: n, BalanceAfter: n, Reason: credit.ReasonAllowance,
	})
}

// insertEntries keeps entries, which get their ids, and the present where they have no time.
func (s *Store) insertEntries(ctx context.Context, db bun.IDB, entries ...credit.Entry) error {
	for i := range entries {
		e := &entries[i]
		var err error
		if e.ID, err = s.ids.New(id.Credit); err != nil {
			return err
		}
		if e.CreatedAt.IsZero() {
			e.CreatedAt = s.time()
		}
	}
	_, err := db.NewInsert().Model(&entries).ModelTableExpr("credit_entries").Exec(ctx)
	return err
}

// SetPlan implements member.Store. The month's balance becomes what the new
// plan's allowance leaves after what is spent.
func (s *Store) SetPlan(ctx context.Context, username, plan string, at time.Time) error {
	month := credit.MonthOf(at)
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var owner tenant.ID
		err := tx.NewRaw("UPDATE members SET plan = ?, updated_at = ? WHERE username = ? RETURNING id", plan, at, username).Scan(ctx, &owner)
		if errors.Is(err, sql.ErrNoRows) {
			return noMember(username)
		}
		if err != nil {
			return err
		}
		balances, err := s.lockBalances(ctx, tx, month, []tenant.ID{owner})
		if b, open := balances[owner]; err != nil || !open {
			return err
		} else {
			return s.changeAllowance(ctx, tx, owner, b, s.plans.Allowance(plan))
		}
	})
	return translate(err)
}

func (s *Store) changeAllowance(ctx context.Context, tx bun.Tx, owner tenant.ID, b credit.Balance, allowance int) error {
	var spent int
	err := tx.NewRaw("SELECT coalesce(-sum(delta), 0) FROM credit_entries WHERE tenant_id = ? AND period = ? AND reason IN (?, ?)",
		owner, b.Period, credit.ReasonCalls, credit.ReasonRefund).Scan(ctx, &spent)
	if err != nil {
		return err
	}
	left := max(0, allowance-spent)
	if _, err := tx.NewRaw("UPDATE credit_balances SET allowance = ?, balance = ? WHERE tenant_id = ? AND period = ?",
		allowance, left, owner, b.Period).Exec(ctx); err != nil || left == b.Remaining {
		return err
	}
	return s.insertEntries(ctx, tx, credit.Entry{
		TenantID: owner, Period: b.Period, Delta: left - b.Remaining, BalanceAfter: left, Reason: credit.ReasonPlan,
	})
}

// lockBalances returns the balances that there are, and keeps them from changing
// until the transaction ends. Locks are taken in the order of the ids, so that no
// two transactions wait for each other.
func (s *Store) lockBalances(ctx context.Context, tx bun.Tx, month credit.Month, owners []tenant.ID) (map[tenant.ID]credit.Balance, error) {
	query := "SELECT tenant_id, allowance, balance FROM credit_balances WHERE period = ? AND tenant_id IN (?) ORDER BY tenant_id"
	if s.engine.name == postgresName {
		query += " FOR UPDATE"
	}
	var rows []struct {
		TenantID           tenant.ID
		Allowance, Balance int
	}
	if err := tx.NewRaw(query, month.Period, bun.List(owners)).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	balances := make(map[tenant.ID]credit.Balance, len(rows))
	for _, row := range rows {
		balances[row.TenantID] = credit.Balance{Month: month, Allowance: row.Allowance, Remaining: row.Balance}
	}
	return balances, nil
}

// Charge takes the price of a call off the month's balance, in the transaction of
// its effect. Let it be the last thing there: the balance is locked from then on,
// and others of the tenant wait for it.
func (u *Unit) Charge(ctx context.Context, month credit.Month, price int) (credit.Receipt, error) {
	b := credit.Balance{Month: month}
	err := u.db.NewRaw(`UPDATE credit_balances SET balance = balance - ? WHERE tenant_id = ? AND period = ? AND balance >= ?
RETURNING balance`, price, u.id, month.Period, price).Scan(ctx, &b.Remaining)
	if errors.Is(err, sql.ErrNoRows) {
		return u.uncovered(ctx, b, price)
	}
	if err != nil {
		return credit.Receipt{}, err
	}
	entryID, err := u.ids.New(id.Credit)
	if err != nil {
		return credit.Receipt{}, err
	}
	entry := credit.Entry{
		TenantID: u.id, ID: entryID, Period: month.Period, Delta: -price, BalanceAfter: b.Remaining, Reason: credit.ReasonCalls,
		Tool: u.actor.Tool, Calls: 1, CreatedAt: u.now,
	}
	_, err = u.db.NewInsert().Model(&entry).ModelTableExpr("credit_entries").Exec(ctx)
	u.tally.charged += price
	return credit.Receipt{Charged: price, Remaining: b.Remaining, ResetsAt: month.ResetsAt}, err
}

func (u *Unit) uncovered(ctx context.Context, b credit.Balance, price int) (credit.Receipt, error) {
	err := u.db.NewRaw("SELECT allowance, balance FROM credit_balances WHERE tenant_id = ? AND period = ?", u.id, b.Period).
		Scan(ctx, &b.Allowance, &b.Remaining)
	if errors.Is(err, sql.ErrNoRows) {
		err = noSuchMember()
	}
	if err != nil {
		return credit.Receipt{}, err
	}
	u.tally.short = true
	return credit.Receipt{}, b.Shortage(price)
}
