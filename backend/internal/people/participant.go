package people

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// Participants returns the connections with the ids, in no particular order and without
// their lists. It fails as NoConnection does when one is archived or does not exist.
func Participants(ctx context.Context, tx *db.Tx, ids []string) ([]Connection, error) {
	rows, err := LiveOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	return rows, allExist(ctx, tx, rows, ids)
}

// LiveOf returns those of the connections that exist and are not archived, without their lists. It
// takes one statement.
func LiveOf(ctx context.Context, tx *db.Tx, ids []string) (rows []Connection, err error) {
	err = tx.From(&rows).Where("id IN (?)", bun.List(ids)).Where("archived_at IS NULL").Scan(ctx)
	return rows, err
}

// Live fails as NoConnection does unless the connection exists and is not archived.
func Live(ctx context.Context, q db.Reader, connectionID string) error {
	var found string
	err := q.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id = ? AND archived_at IS NULL",
		q.TenantID(), connectionID).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return NoConnection(ctx, q, connectionID)
	}
	return err
}

// AllLive fails as NoConnection does unless all connections exist and are not archived. It takes one statement, and none for no ids.
func AllLive(ctx context.Context, q db.Reader, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var rows []Connection
	if err := q.From(&rows).Column("id").Where("id IN (?)", bun.List(ids)).Where("archived_at IS NULL").Scan(ctx); err != nil {
		return err
	}
	return allExist(ctx, q, rows, ids)
}

// exists fails as NoConnection does unless the connection exists, archived or not.
func exists(ctx context.Context, q db.Reader, connectionID string) error {
	names, err := ListNames(ctx, q, []string{connectionID})
	if _, ok := names[connectionID]; err == nil && !ok {
		return NoConnection(ctx, q, connectionID)
	}
	return err
}

// IDs returns the ids of rows.
func IDs[T any](rows []T, id func(T) string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = id(row)
	}
	return out
}

// People returns the connections that entries are about, by entry.
func People(ctx context.Context, q db.Reader, table, column string, entries []string) (map[string][]string, error) {
	out := map[string][]string{}
	if len(entries) == 0 {
		return out, nil
	}
	var rows []struct{ EntryID, ConnectionID string }
	err := q.NewRaw("SELECT ? AS entry_id, connection_id FROM ? WHERE tenant_id = ? AND ? IN (?) ORDER BY connection_id",
		bun.Ident(column), bun.Ident(table), q.TenantID(), bun.Ident(column), bun.List(entries)).Scan(ctx, &rows)
	for _, row := range rows {
		out[row.EntryID] = append(out[row.EntryID], row.ConnectionID)
	}
	return out, err
}
