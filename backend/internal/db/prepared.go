package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Prepared is a read across tenants with one argument, made so often that it is
// prepared by hand: parsing its text would cost as much as running it.
type Prepared struct {
	stmt *sql.Stmt // in SQLite
	db   *sql.DB
	text string
	mode []any

	watch QueryObserver
	fault func(statement string) error
}

// Prepared returns the prepared statement of a name. The first call renders its text,
// whose one argument is a question mark.
func (s *DB) Prepared(ctx context.Context, name string, render func() string) (*Prepared, error) {
	if made, ok := s.prepared.Load(name); ok {
		return made.(*Prepared), nil //nolint:forcetypeassert // nothing else is stored
	}
	text := render()
	h := &Prepared{db: s.engine.serviceRead.DB, text: text, mode: s.engine.mode, watch: s.queryWatch, fault: s.fault}
	if s.engine.name == postgresName {
		// pgx keeps the prepared statement with each connection.
		h.text = strings.Replace(text, "?", "$1", 1)
	} else {
		var err error
		if h.stmt, err = h.db.PrepareContext(context.WithoutCancel(ctx), text); err != nil {
			return nil, fmt.Errorf("prepare a statement: %w", Coded(err))
		}
	}
	made, other := s.prepared.LoadOrStore(name, h)
	if other && h.stmt != nil {
		_ = h.stmt.Close()
	}
	return made.(*Prepared), nil //nolint:forcetypeassert // nothing else is stored
}

// Scan reads the one row that the statement finds, or fails with sql.ErrNoRows.
func (h *Prepared) Scan(ctx context.Context, argument string, into ...any) error {
	rows, err := h.Rows(ctx, argument)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return Coded(cmp.Or(rows.Err(), sql.ErrNoRows))
	}
	if err := rows.Scan(into...); err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	return Coded(rows.Close())
}

// Rows runs the statement for any number of rows.
func (h *Prepared) Rows(ctx context.Context, argument string) (*sql.Rows, error) {
	start := time.Now()
	rows, err := h.query(ctx, argument)
	h.watch.Observe(ctx, "select", Outcome(err), time.Since(start))
	return rows, Coded(err)
}

func (h *Prepared) query(ctx context.Context, argument string) (*sql.Rows, error) {
	if err := h.fault(h.text); err != nil {
		return nil, err
	}
	if h.stmt != nil {
		return h.stmt.QueryContext(context.WithoutCancel(ctx), argument)
	}
	return h.db.QueryContext(ctx, h.text, append(slices.Clip(h.mode), argument)...)
}
