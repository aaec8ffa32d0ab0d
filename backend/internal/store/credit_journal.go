package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
)

// postBatch bounds the entries of one insert.
const postBatch = 500

// sumJournal sums up the lines of a table by what an entry of the ledger is for. The
// order is that in which charges lock balances, whose rows the entries refer to.
// Lines without a balance are those of members who are gone.
const sumJournal = `SELECT line.tenant_id, line.period, line.tool, sum(line.delta) AS delta, sum(line.calls) AS calls,
	max(line.created_at) AS created_at, b.balance AS balance_after
FROM ? line JOIN credit_balances b ON b.tenant_id = line.tenant_id AND b.period = line.period
GROUP BY line.tenant_id, line.period, line.tool, b.balance ORDER BY line.tenant_id, line.period, line.tool`

// PostCharges moves what reads cost from the journal into the ledger: an entry for
// each member, month and tool. Until then the journal's lines are as good as entries.
// Several processes may post at once. With an error, nothing was posted.
func (s *Store) PostCharges(ctx context.Context) error {
	if !s.unposted.Swap(false) {
		return nil
	}
	err := s.engine.serviceWrite.RunInTx(ctx, nil, s.postCharges)
	if err != nil {
		s.unposted.Store(true)
	}
	return translate(err)
}

func (s *Store) postCharges(ctx context.Context, tx bun.Tx) error {
	var entries []credit.Entry
	query := tx.NewRaw(sumJournal, bun.Ident("credit_journal"))
	if s.engine.name == postgresName { // where lines may come between two statements
		query = tx.NewRaw("WITH taken AS (DELETE FROM credit_journal RETURNING *) "+sumJournal, bun.Ident("taken"))
	}
	if err := query.Scan(ctx, &entries); err != nil {
		return err
	}
	for batch := range slices.Chunk(entries, postBatch) {
		for i := range batch {
			batch[i].Reason = credit.ReasonCalls
		}
		if err := s.insertEntries(ctx, tx, batch...); err != nil {
			return err
		}
	}
	if s.engine.name == postgresName {
		return nil
	}
	_, err := tx.NewRaw("DELETE FROM credit_journal").Exec(ctx)
	return err
}
