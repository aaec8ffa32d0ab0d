package db

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// postgresTransfer copies with COPY, as the owner of the tables.
func postgresTransfer() transferDialect {
	return transferDialect{
		beginRead:  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
		beginWrite: "BEGIN",
		columns: `SELECT c.relname, a.attname, format_type(a.atttypid, NULL), FALSE FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'schema_migrations'
AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''`,
		references: `SELECT f.relname, t.relname FROM pg_catalog.pg_constraint r JOIN pg_catalog.pg_class f ON f.oid = r.conrelid JOIN pg_catalog.pg_class t ON t.oid = r.confrelid
WHERE r.contype = 'f' AND r.connamespace = current_schema()::regnamespace`,
		openTables:        openPostgresTables,
		writer:            copyRows,
		refreshStatistics: func(ctx context.Context, s *side) error { return s.exec(ctx, "ANALYSE") },
	}
}

// openPostgresTables locks all tables, lets their owner bypass row-level security, and disables our
// triggers, but not those of foreign keys. The returned function reverses that and also sets the
// sequences above the copied numbers.
func openPostgresTables(ctx context.Context, s *side, tables []table) (func(context.Context) error, error) {
	forced := map[string]bool{}
	err := s.list(ctx, "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = current_schema()::regnamespace AND relforcerowsecurity", func() ([]any, func()) {
		var name string
		return []any{&name}, func() { forced[name] = true }
	})
	if err != nil {
		return nil, err
	}
	alter := func(ctx context.Context, triggers, security string) error {
		for _, t := range tables {
			statement := `ALTER TABLE "` + t.name + `" ` + triggers + " TRIGGER USER"
			if forced[t.name] {
				statement += ", " + security + " ROW LEVEL SECURITY"
			}
			if err := s.exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	restore := func(ctx context.Context) error {
		return errors.Join(setSequences(ctx, s), alter(ctx, "ENABLE", "FORCE"))
	}
	return restore, alter(ctx, "DISABLE", "NO FORCE")
}

// setSequences makes identity columns continue after the greatest number in them.
func setSequences(ctx context.Context, s *side) error {
	var statements []string
	err := s.list(ctx, `SELECT format('SELECT setval(pg_get_serial_sequence(%L, %L), max(%I)) FROM %s HAVING max(%I) IS NOT NULL',
a.attrelid::regclass, a.attname, a.attname, a.attrelid::regclass, a.attname)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = current_schema()::regnamespace AND a.attidentity <> ''`,
		func() ([]any, func()) {
			var statement string
			return []any{&statement}, func() { statements = append(statements, statement) }
		})
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// copyBatch is how many rows one COPY has: PostgreSQL keeps each in memory until the COPY ends, to
// check its references.
const copyBatch = 50_000

// errCopyEnded: COPY has ended before all rows were written. Its own error says why.
var errCopyEnded = errors.New("the database takes no more rows")

// tableCopy writes the rows of one table with COPY, in a goroutine that reads them from rows.
type tableCopy struct {
	rows   chan []any
	ended  chan struct{}
	err    error // of COPY, once ended is closed
	failed error // why writing was aborted, once rows is closed
}

// copyBatchOf is one COPY of some of the rows. It implements pgx.CopyFromSource.
type copyBatchOf struct {
	*tableCopy

	row  []any
	left int
}

func (b *copyBatchOf) Next() bool {
	if b.left == 0 {
		return false
	}
	row, more := <-b.rows
	if b.row = row; more {
		b.left--
	}
	return more
}

func (b *copyBatchOf) Values() ([]any, error) { return b.row, nil }

// Err returns why writing was aborted, so that the COPY fails and the connection does not.
func (b *copyBatchOf) Err() error {
	if b.left == 0 {
		return nil // failed may still change
	}
	return b.failed
}

// copyRows writes rows with COPY.
func copyRows(ctx context.Context, s *side, t table) (write func(row []any) error, finish func(error) error) {
	c := &tableCopy{rows: make(chan []any), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = s.conn.Raw(func(driverConn any) error {
			conn, ok := driverConn.(*postgresConn)
			if !ok {
				return fmt.Errorf("%T is no connection to PostgreSQL", driverConn)
			}
			for {
				batch := &copyBatchOf{tableCopy: c, left: copyBatch}
				if _, err := conn.Conn.Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, batch); err != nil || batch.left > 0 {
					return err
				}
			}
		})
	}()
	write = func(row []any) error {
		select {
		case c.rows <- slices.Clone(row):
			return nil
		case <-c.ended:
			return errCopyEnded
		}
	}
	finish = func(failed error) error {
		c.failed = failed
		close(c.rows)
		<-c.ended
		if failed != nil && !errors.Is(failed, errCopyEnded) {
			return failed
		}
		return c.err
	}
	return write, finish
}
