package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"
)

// hotStatement is a read with one argument that is made so often that it is
// prepared by hand: reading its text would cost as much as running it.
type hotStatement struct {
	stmt *sql.Stmt // in SQLite
	db   *sql.DB
	text string
	mode []any

	watch QueryObserver
}

// prepare prepares a statement whose one argument is a question mark.
func (s *Store) prepare(ctx context.Context, text string) (*hotStatement, error) {
	h := &hotStatement{db: s.engine.serviceRead.DB, text: text, mode: s.engine.mode, watch: s.queryWatch}
	if s.engine.name == postgresName {
		// pgx keeps the prepared statement with each connection.
		h.text = strings.Replace(text, "?", "$1", 1)
		return h, nil
	}
	var err error
	h.stmt, err = h.db.PrepareContext(ctx, text)
	return h, err
}

func (h *hotStatement) row(ctx context.Context, argument string) (row *sql.Row) {
	start := time.Now()
	defer func() { h.watch.Observe(ctx, "select", outcome(row.Err()), time.Since(start)) }()
	if h.stmt != nil {
		return h.stmt.QueryRowContext(context.WithoutCancel(ctx), argument)
	}
	return h.db.QueryRowContext(ctx, h.text, append(slices.Clip(h.mode), argument)...)
}

func (h *hotStatement) rows(ctx context.Context, argument string) (*sql.Rows, error) {
	start := time.Now()
	rows, err := h.query(ctx, argument)
	h.watch.Observe(ctx, "select", outcome(err), time.Since(start))
	return rows, err
}

func (h *hotStatement) query(ctx context.Context, argument string) (*sql.Rows, error) {
	if h.stmt != nil {
		return h.stmt.QueryContext(context.WithoutCancel(ctx), argument)
	}
	return h.db.QueryContext(ctx, h.text, append(slices.Clip(h.mode), argument)...)
}
