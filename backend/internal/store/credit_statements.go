package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// chargeStatements are SQLite's statements of charges, each by how many entries it
// takes: a power of two, up to credit.MaxGroup. Every metered read pays for a part
// of them, and reading their text would be half of their cost.
type chargeStatements map[int]*sql.Stmt

// chargeText keeps the entries of those whose balances cover their totals. A trigger
// takes them off, once all balances are read.
const chargeText = `WITH bill (period, reason, at) AS (VALUES (?, ?, ?)), due (owner, total, id, delta, later, tool, calls) AS (VALUES %s)
INSERT INTO credit_charges (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at)
SELECT due.owner, due.id, b.period, due.delta, b.balance - due.total + due.later, bill.reason, due.tool, due.calls, bill.at
FROM bill CROSS JOIN due CROSS JOIN credit_balances b ON b.tenant_id = due.owner AND b.period = bill.period AND b.balance >= due.total
RETURNING tenant_id, balance_after`

// dueColumns is how many values an entry is in chargeText.
const dueColumns = 7

// payText takes totals off the balances that cover them, and keeps the entries of
// those. It locks in the order of the tenants: the update alone would lock in the
// order of its plan, and two of them wait for each other. The limit cuts nothing
// off; it has the planner expect few tenants and look them up by the index.
const payText = `WITH due AS (
	SELECT * FROM unnest($2::text[], $3::integer[]) AS due (owner, total) LIMIT $4
), locked AS (
	SELECT b.tenant_id, due.total FROM due JOIN credit_balances b ON b.tenant_id = due.owner AND b.period = $1
	ORDER BY b.tenant_id FOR UPDATE OF b
), paid AS (
	UPDATE credit_balances b SET balance = b.balance - locked.total FROM locked
	WHERE b.tenant_id = locked.tenant_id AND b.period = $1 AND b.balance >= locked.total RETURNING b.tenant_id, b.balance
), entered AS (
	INSERT INTO credit_entries (tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at)
	SELECT e.owner, e.id, $1, e.delta, paid.balance + e.later, $5, e.tool, e.calls, $6
	FROM unnest($7::text[], $8::text[], $9::integer[], $10::integer[], $11::text[], $12::integer[]) AS e (owner, id, delta, later, tool, calls)
	JOIN paid ON paid.tenant_id = e.owner
)
SELECT tenant_id, balance FROM paid`

func (s *Store) prepareCharges(ctx context.Context) (chargeStatements, error) {
	if s.engine.name == postgresName {
		return nil, nil // pgx keeps prepared statements with each connection
	}
	statements := chargeStatements{}
	for n := 1; n <= credit.MaxGroup; n *= 2 {
		row := "(?" + strings.Repeat(", ?", dueColumns-1) + ")"
		//nolint:sqlclosecheck // it is closed with the database
		stmt, err := s.engine.serviceWrite.DB.PrepareContext(ctx, fmt.Sprintf(chargeText, row+strings.Repeat(", "+row, n-1)))
		if err != nil {
			return nil, fmt.Errorf("prepare charges: %w", err)
		}
		statements[n] = stmt
	}
	return statements, nil
}

// queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// pay takes each group's total off its balance and keeps its entries, where the
// balance covers it: in one statement, and so in a transaction of its own where tx
// is nil.
func (s *Store) pay(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) error {
	switch {
	case len(groups) == 0:
		return nil
	case s.charges != nil:
		return s.paySQLite(ctx, tx, b, groups)
	case tx == nil:
		return s.payPostgres(ctx, s.engine.serviceWrite.DB, b, groups)
	default:
		return s.payPostgres(ctx, tx, b, groups)
	}
}

func (s *Store) payPostgres(ctx context.Context, db queryer, b *bill, groups []*chargeGroup) error {
	var owners, entryOwners, ids, tools []string
	var totals, deltas, later, calls []int32
	for _, g := range groups {
		owners, totals = append(owners, string(g.owner)), append(totals, int32(g.total))
		for _, e := range g.entries {
			entryOwners, ids, tools = append(entryOwners, string(e.TenantID)), append(ids, e.ID), append(tools, e.Tool)
			deltas, later, calls = append(deltas, int32(e.Delta)), append(later, int32(e.BalanceAfter)), append(calls, int32(e.Calls))
		}
	}
	start := time.Now()
	rows, err := db.QueryContext(ctx, payText, append(slices.Clip(s.engine.mode), b.month.Period, owners, totals, len(owners),
		credit.ReasonCalls, b.at, entryOwners, ids, deltas, later, tools, calls)...)
	s.queryWatch.Observe(ctx, "with", outcome(err), time.Since(start))
	if err != nil {
		return err
	}
	return b.settle(groups, rows)
}

func (s *Store) paySQLite(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) error {
	args := make([]any, 0, 3+2*dueColumns*len(groups))
	args = append(args, b.month.Period, credit.ReasonCalls, b.at)
	n := 0
	for _, g := range groups {
		for _, e := range g.entries {
			args = append(args, string(e.TenantID), g.total, e.ID, e.Delta, e.BalanceAfter, e.Tool, e.Calls)
			n++
		}
	}
	size := 1
	for size < n {
		size *= 2
	}
	args = append(args, make([]any, dueColumns*(size-n))...) // nobody's
	stmt := s.charges[size]
	if stmt == nil {
		return fmt.Errorf("charge %d entries: %d at most", n, credit.MaxGroup)
	}
	if tx != nil {
		stmt = tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the transaction closes it; the statement behind it stays
	}
	start := time.Now()
	// The driver starts a goroutine for each statement that may be cancelled. What
	// this one may wait for is the one writer, whose transactions end in time.
	rows, err := stmt.QueryContext(context.WithoutCancel(ctx), args...)
	s.queryWatch.Observe(ctx, "with", outcome(err), time.Since(start))
	if err != nil {
		return err
	}
	return b.settle(groups, rows)
}

// settle reads the balances after what was paid. Where there is one for each entry,
// the last is the lowest.
func (b *bill) settle(groups []*chargeGroup, rows *sql.Rows) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var owner tenant.ID
		var balance int
		if err := rows.Scan(&owner, &balance); err != nil {
			return err
		}
		for _, g := range groups {
			if g.owner == owner && (!g.paid || balance < g.balance) {
				g.settle(b, balance)
			}
		}
	}
	return rows.Err()
}
