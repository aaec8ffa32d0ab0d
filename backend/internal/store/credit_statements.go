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

// chargeStatements are SQLite's statements of charges, each by how many lines it
// takes: a power of two, up to credit.MaxGroup. Every metered read pays for a part
// of them, and reading their text would be half of their cost.
type chargeStatements map[int]*sql.Stmt

// chargeText keeps the lines of those whose balances cover their totals. A trigger
// takes them off, once all balances are read. A line is its tenant, the total of
// the tenant's lines, its tool, delta and calls.
const chargeText = `INSERT INTO credit_journal (tenant_id, period, tool, delta, calls, balance_after, created_at)
SELECT due.column1, ?1, due.column3, due.column4, due.column5, b.balance - due.column2, ?2
FROM (VALUES %s) AS due CROSS JOIN credit_balances b ON b.tenant_id = due.column1 AND b.period = ?1 AND b.balance >= due.column2
RETURNING tenant_id, balance_after`

// lineColumns is how many values a line is in chargeText.
const lineColumns = 5

// payText takes totals off the balances that cover them, and keeps the lines of
// those. It locks in the order of the tenants: the update alone would lock in the
// order of its plan, and two of them wait for each other. No weaker lock will do:
// one that lets entries refer to the row meanwhile, as postings do, has been seen to
// end in such a circle, too. The limit cuts nothing off; it has the planner expect
// few tenants and look them up by the index.
const payText = `WITH due AS (
	SELECT * FROM unnest($2::text[], $3::integer[]) AS due (owner, total) LIMIT $4
), locked AS (
	SELECT b.tenant_id, due.total FROM due JOIN credit_balances b ON b.tenant_id = due.owner AND b.period = $1
	ORDER BY b.tenant_id FOR UPDATE OF b
), paid AS (
	UPDATE credit_balances b SET balance = b.balance - locked.total FROM locked
	WHERE b.tenant_id = locked.tenant_id AND b.period = $1 AND b.balance >= locked.total RETURNING b.tenant_id, b.balance
), written AS (
	INSERT INTO credit_journal (tenant_id, period, tool, delta, calls, balance_after, created_at)
	SELECT line.owner, $1, line.tool, line.delta, line.calls, paid.balance, $5
	FROM unnest($6::text[], $7::text[], $8::integer[], $9::integer[]) AS line (owner, tool, delta, calls)
	JOIN paid ON paid.tenant_id = line.owner
)
SELECT tenant_id, balance FROM paid`

func (s *Store) prepareCharges(ctx context.Context) (chargeStatements, error) {
	if s.engine.name == postgresName {
		return nil, nil // pgx keeps prepared statements with each connection
	}
	statements := chargeStatements{}
	for n := 1; n <= credit.MaxGroup; n *= 2 {
		row := "(?" + strings.Repeat(", ?", lineColumns-1) + ")"
		//nolint:sqlclosecheck // it is closed with the database
		stmt, err := s.engine.serviceWrite.DB.PrepareContext(ctx, fmt.Sprintf(chargeText, row+strings.Repeat(", "+row, n-1)))
		if err != nil {
			return nil, fmt.Errorf("prepare charges: %w", err)
		}
		statements[n] = stmt
	}
	return statements, nil
}

// pay takes each group's total off its balance and keeps its lines, where the
// balance covers it: in one statement, and so in a transaction of its own where tx
// is nil.
func (s *Store) pay(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) error {
	if len(groups) == 0 {
		return nil
	}
	word, query := "with", s.payPostgres
	if s.charges != nil {
		word, query = "insert", s.paySQLite
	}
	start := time.Now()
	rows, err := query(ctx, tx, b, groups)
	s.queryWatch.Observe(ctx, word, outcome(err), time.Since(start))
	if err != nil {
		return err
	}
	return b.settle(groups, rows)
}

func (s *Store) payPostgres(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) (*sql.Rows, error) {
	var owners, lineOwners, tools []string
	var totals, deltas, calls []int32
	for _, g := range groups {
		owners, totals = append(owners, string(g.owner)), append(totals, int32(g.total))
		for _, l := range g.lines {
			lineOwners, tools = append(lineOwners, string(g.owner)), append(tools, l.tool)
			deltas, calls = append(deltas, int32(l.delta)), append(calls, int32(l.calls))
		}
	}
	args := append(slices.Clip(s.engine.mode), b.month.Period, owners, totals, len(owners), b.at, lineOwners, tools, deltas, calls)
	if tx != nil {
		return tx.QueryContext(ctx, payText, args...)
	}
	return s.engine.serviceWrite.DB.QueryContext(ctx, payText, args...)
}

func (s *Store) paySQLite(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) (*sql.Rows, error) {
	args := make([]any, 0, 2+2*lineColumns*len(groups))
	args = append(args, b.month.Period, b.at)
	n := 0
	for _, g := range groups {
		for _, l := range g.lines {
			args = append(args, string(g.owner), g.total, l.tool, l.delta, l.calls)
			n++
		}
	}
	size := 1
	for size < n {
		size *= 2
	}
	args = append(args, make([]any, lineColumns*(size-n))...) // nobody's
	stmt := s.charges[size]
	if stmt == nil {
		return nil, fmt.Errorf("charge %d lines: %d at most", n, credit.MaxGroup)
	}
	if tx != nil {
		stmt = tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the transaction closes it; the statement behind it stays
	}
	// The driver starts a goroutine for each statement that may be cancelled. What
	// this one may wait for is the one writer, whose transactions end in time.
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

// settle reads the balances after what was paid.
func (b *bill) settle(groups []*chargeGroup, rows *sql.Rows) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var owner tenant.ID
		var balance int
		if err := rows.Scan(&owner, &balance); err != nil {
			return err
		}
		for _, g := range groups {
			if g.owner == owner && !g.paid {
				g.settle(b, balance)
			}
		}
	}
	return rows.Err()
}
