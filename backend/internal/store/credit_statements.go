package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// creditStatements are what every metered read pays for a part of. In SQLite
// reading their text is half of their cost, so they are prepared; in PostgreSQL
// it is the round trips, so that one statement does all.
type creditStatements struct {
	// Each is by how many rows it takes: a power of two, from one to maxRows.
	takeDown, insertEntries map[int]*sql.Stmt
}

// maxRows bounds the rows of one of SQLite's statements of charges.
const maxRows = 16

// takeDownText takes totals off the balances that cover them.
const takeDownText = `WITH due (owner, total) AS (VALUES %s)
UPDATE credit_balances SET balance = balance - due.total FROM due
WHERE tenant_id = due.owner AND period = ? AND balance >= due.total RETURNING tenant_id, balance`

// takeDownOneText is takeDownText of one row, at half of its price.
const takeDownOneText = `UPDATE credit_balances SET balance = balance - ?2
WHERE tenant_id = ?1 AND period = ?3 AND balance >= ?2 RETURNING tenant_id, balance`

const insertEntriesText = `INSERT INTO credit_entries
(period, reason, created_at, tenant_id, id, delta, balance_after, tool, calls) VALUES %s`

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

func (s *Store) prepareCredits(ctx context.Context) (*creditStatements, error) {
	if s.engine.name == postgresName {
		return nil, nil // pgx keeps prepared statements with each connection
	}
	c := &creditStatements{takeDown: map[int]*sql.Stmt{}, insertEntries: map[int]*sql.Stmt{}}
	for n := 1; n <= maxRows; n *= 2 {
		//nolint:sqlclosecheck // they are closed with the database
		takeDown, takeErr := s.engine.serviceWrite.DB.PrepareContext(ctx, takeDownOf(n))
		//nolint:sqlclosecheck // they are closed with the database
		insertEntries, insertErr := s.engine.serviceWrite.DB.PrepareContext(ctx, fmt.Sprintf(insertEntriesText, rowsOf("(?1, ?2, ?3, ?, ?, ?, ?, ?, ?)", n)))
		if err := errors.Join(takeErr, insertErr); err != nil {
			return nil, fmt.Errorf("prepare charges: %w", err)
		}
		c.takeDown[n], c.insertEntries[n] = takeDown, insertEntries
	}
	return c, nil
}

func takeDownOf(n int) string {
	if n == 1 {
		return takeDownOneText
	}
	return fmt.Sprintf(takeDownText, rowsOf("(?, ?)", n))
}

func rowsOf(row string, n int) string { return strings.Repeat(row+", ", n-1) + row }

// queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// payAtOnce is pay in a transaction of its own.
func (s *Store) payAtOnce(ctx context.Context, b *bill) error {
	if s.credits == nil {
		return s.payPostgres(ctx, s.engine.serviceWrite.DB, b, b.groups)
	}
	return s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		// The driver starts a goroutine for each statement that may be cancelled. What
		// may take long, to wait for the one writer, is over.
		return s.paySQLite(context.WithoutCancel(ctx), tx.Tx, b, b.groups)
	})
}

// pay takes each group's total off its balance and keeps its entries, where the
// balance covers it.
func (s *Store) pay(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) error {
	switch {
	case len(groups) == 0:
		return nil
	case s.credits == nil:
		return s.payPostgres(ctx, tx, b, groups)
	default:
		return s.paySQLite(ctx, tx, b, groups)
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
			if g.owner == owner {
				g.settle(b, balance)
			}
		}
	}
	return rows.Err()
}

func (s *Store) paySQLite(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) error {
	for part := range inPowers(groups) {
		if err := s.takeDown(ctx, tx, b, part); err != nil {
			return err
		}
	}
	var entries []credit.Entry
	for _, g := range groups {
		for _, e := range g.entries {
			if g.paid {
				e.BalanceAfter += g.balance
				entries = append(entries, e)
			}
		}
	}
	for part := range inPowers(entries) {
		if err := s.keepEntries(ctx, tx, b, part); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) takeDown(ctx context.Context, tx *sql.Tx, b *bill, groups []*chargeGroup) error {
	args := make([]any, 0, 2*len(groups)+1)
	for _, g := range groups {
		args = append(args, string(g.owner), g.total)
	}
	start := time.Now()
	//nolint:sqlclosecheck // the transaction closes it; the statement behind it stays
	rows, err := tx.StmtContext(ctx, s.credits.takeDown[len(groups)]).QueryContext(ctx, append(args, b.month.Period)...)
	s.queryWatch.Observe(ctx, "update", outcome(err), time.Since(start))
	if err != nil {
		return err
	}
	return b.settle(groups, rows)
}

func (s *Store) keepEntries(ctx context.Context, tx *sql.Tx, b *bill, entries []credit.Entry) error {
	args := make([]any, 0, 6*len(entries)+3)
	args = append(args, b.month.Period, credit.ReasonCalls, b.at)
	for _, e := range entries {
		args = append(args, string(e.TenantID), e.ID, e.Delta, e.BalanceAfter, e.Tool, e.Calls)
	}
	start := time.Now()
	//nolint:sqlclosecheck // as above
	_, err := tx.StmtContext(ctx, s.credits.insertEntries[len(entries)]).ExecContext(ctx, args...)
	s.queryWatch.Observe(ctx, "insert", outcome(err), time.Since(start))
	return err
}

// inPowers cuts rows into parts of the sizes that there are statements for.
func inPowers[T any](rows []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for size := maxRows; len(rows) > 0; size /= 2 {
			for ; len(rows) >= size; rows = rows[size:] {
				if !yield(rows[:size]) {
					return
				}
			}
		}
	}
}
