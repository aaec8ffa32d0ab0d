package people

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/uptrace/bun"
)

// ListDistinctPairs returns the pairs that one of the people is in; all pairs if no people are
// named.
func ListDistinctPairs(ctx context.Context, q db.Reader, people ...string) ([]DistinctPair, error) {
	var rows []DistinctPair
	query := q.From(&rows)
	if len(people) > 0 {
		query = query.Where("first_id IN (?) OR second_id IN (?)", bun.List(people), bun.List(people))
	}
	err := query.Scan(ctx)
	return rows, err
}

// distinctPairs returns the pairs of a person, or all pairs if the id is empty.
func distinctPairs(ctx context.Context, q db.Reader, connectionID string) (map[[2]string]bool, error) {
	var of []string
	if connectionID != "" {
		of = []string{connectionID}
	}
	rows, err := ListDistinctPairs(ctx, q, of...)
	pairs := make(map[[2]string]bool, len(rows))
	for _, row := range rows {
		pairs[PairOf(row.FirstID, row.SecondID)] = true
	}
	return pairs, err
}

// findDistinctPair returns the id of another row for the same two people; empty if there is none.
func findDistinctPair(ctx context.Context, tx *db.Tx, pair *DistinctPair) (string, error) {
	return tx.FirstID(ctx, "SELECT id FROM distinct_pairs WHERE tenant_id = ? AND first_id = ? AND second_id = ? AND id <> ?",
		tx.TenantID(), pair.FirstID, pair.SecondID, pair.ID)
}

// insertDistinctPair inserts a pair and sets its id unless it has one.
func insertDistinctPair(ctx context.Context, tx *db.Tx, pair *DistinctPair) error {
	pair.TenantID = tx.TenantID()
	if err := NameRow(tx, &pair.ID, id.DistinctPair); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(pair).Exec(ctx); err != nil {
		return fmt.Errorf("insert distinct pair: %w", err)
	}
	return nil
}

// distinctPairRestorer restores pairs of people who are not the same.
type distinctPairRestorer struct{ tx *db.Tx }

func (r distinctPairRestorer) get(ctx context.Context, pairID string) (any, error) {
	row := &DistinctPair{}
	err := r.tx.From(row).Where("id = ?", pairID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

func (r distinctPairRestorer) put(ctx context.Context, pairID string, to json.RawMessage) error {
	var row *DistinctPair
	if err := json.Unmarshal(to, &row); err != nil {
		return fmt.Errorf("read recorded distinct pair: %w", err)
	}
	if row == nil {
		return r.tx.Delete(ctx, (*DistinctPair)(nil), "id = ?", pairID)
	}
	if err := NeedConnections(ctx, r.tx, row.FirstID, row.SecondID); err != nil {
		return err
	}
	row.ID = pairID
	same, err := findDistinctPair(ctx, r.tx, row)
	if err != nil {
		return err
	}
	if same != "" {
		return fault.New(fault.Conflict, "%s says the same now", same)
	}
	if err := r.tx.Delete(ctx, (*DistinctPair)(nil), "id = ?", pairID); err != nil {
		return err
	}
	return insertDistinctPair(ctx, r.tx, row)
}

// RestoreDistinctPair returns the restorer of pairs of people who are not the same.
func RestoreDistinctPair(tx *db.Tx) history.Restorer {
	r := distinctPairRestorer{tx}
	return history.Single{Get: r.get, Put: r.put}
}
