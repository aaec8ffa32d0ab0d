package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// creditStatements are what every metered read pays for a part of. In SQLite
// reading their text is half of their cost, so they are prepared; in PostgreSQL
// it is the round trips, so that all tenants go in one statement.
type creditStatements struct{ takeDown, insertEntry *sql.Stmt }

func (s *Store) prepareCredits(ctx context.Context) (*creditStatements, error) {
	if s.engine.name == postgresName {
		return nil, nil
	}
	db := s.engine.serviceWrite.DB
	takeDown, err := db.PrepareContext(ctx, `UPDATE credit_balances SET balance = balance - ?1
WHERE tenant_id = ?2 AND period = ?3 AND balance >= ?1 RETURNING balance`)
	if err != nil {
		return nil, fmt.Errorf("prepare charges: %w", err)
	}
	insertEntry, err := db.PrepareContext(ctx, `INSERT INTO credit_entries
(tenant_id, id, period, delta, balance_after, reason, tool, calls, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return nil, fmt.Errorf("prepare charges: %w", err)
	}
	return &creditStatements{takeDown: takeDown, insertEntry: insertEntry}, nil
}

// takeDown takes each group's total off its balance, where that covers it.
func (s *Store) takeDown(ctx context.Context, tx bun.Tx, month credit.Month, groups map[tenant.ID]*chargeGroup, owners []tenant.ID) error {
	if s.credits == nil {
		return takeDownAll(ctx, tx, month, groups, owners)
	}
	statement := tx.StmtContext(ctx, s.credits.takeDown) //nolint:sqlclosecheck // the transaction closes it; the statement behind it stays
	for _, owner := range owners {
		g := groups[owner]
		if g.total == 0 {
			continue
		}
		err := statement.QueryRowContext(ctx, g.total, string(owner), month.Period).Scan(&g.balance)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		g.paid = err == nil
	}
	return nil
}

func takeDownAll(ctx context.Context, tx bun.Tx, month credit.Month, groups map[tenant.ID]*chargeGroup, owners []tenant.ID) error {
	var values strings.Builder
	args := make([]any, 0, 2*len(owners)+1)
	for _, owner := range owners {
		if g := groups[owner]; g.total > 0 {
			values.WriteString(", (?, ?)")
			args = append(args, owner, g.total)
		}
	}
	if len(args) == 0 {
		return nil
	}
	var rows []struct {
		TenantID tenant.ID
		Balance  int
	}
	err := tx.NewRaw("UPDATE credit_balances SET balance = balance - v.price FROM (VALUES "+values.String()[2:]+`) AS v (owner, price)
WHERE credit_balances.tenant_id = v.owner AND period = ? AND balance >= v.price RETURNING credit_balances.tenant_id, balance`,
		append(args, month.Period)...).Scan(ctx, &rows)
	for _, row := range rows {
		groups[row.TenantID].paid, groups[row.TenantID].balance = true, row.Balance
	}
	return err
}

// insertCalls adds the entries of charges to the ledger.
func (s *Store) insertCalls(ctx context.Context, tx bun.Tx, entries []credit.Entry) error {
	if s.credits == nil {
		return s.insertEntries(ctx, tx, entries...)
	}
	if err := s.identify(entries); err != nil {
		return err
	}
	statement := tx.StmtContext(ctx, s.credits.insertEntry) //nolint:sqlclosecheck // the transaction closes it; the statement behind it stays
	for _, e := range entries {
		if _, err := statement.ExecContext(ctx, string(e.TenantID), e.ID, e.Period, e.Delta, e.BalanceAfter, e.Reason, e.Tool, e.Calls, e.CreatedAt); err != nil {
			return err
		}
	}
	return nil
}
