package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// transferDialect is what differs between the databases for Transfer.
type transferDialect struct {
	beginRead, beginWrite string
	// columns lists table, column, type and whether it is SQLite's rowid.
	columns string
	// references lists each table with each table that it refers to.
	references string
	// openTables switches off row-level security and triggers, within the transaction, and returns
	// a function that switches them on again.
	openTables func(ctx context.Context, s *side, tables []table) (restore func(context.Context) error, err error)
	// writer returns a function that writes a row of a table, and one that ends the table,
	// with the error that stopped the writing.
	writer func(ctx context.Context, s *side, t table) (write func(row []any) error, finish func(error) error)
	// refreshStatistics tells the database's planner about the new rows.
	refreshStatistics func(ctx context.Context, s *side) error
}

// sqliteTransfer inserts row by row.
func sqliteTransfer() transferDialect {
	// Litestream, which replicates SQLite, adds its own tables to the database.
	const ours = `t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'schema_migrations'
AND t.name NOT LIKE '\_litestream\_%' ESCAPE '\'`
	return transferDialect{
		beginRead:  "BEGIN",
		beginWrite: "BEGIN IMMEDIATE",
		columns: `SELECT t.name, c.name, c.type, c.type = 'INTEGER' AND c.pk = 1 AND NOT t.wr AND (SELECT count(*) FROM pragma_table_xinfo(t.name) k WHERE k.pk > 0) = 1
FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c ON c.hidden = 0 WHERE ` + ours,
		references:        `SELECT t.name, f."table" FROM pragma_table_list t JOIN pragma_foreign_key_list(t.name) f WHERE ` + ours,
		openTables:        dropSQLiteTriggers,
		writer:            insertRows,
		refreshStatistics: func(ctx context.Context, s *side) error { return s.exec(ctx, optimizeSQLite) },
	}
}

// dropSQLiteTriggers drops all triggers but those that fill a virtual table, and makes them
// again afterwards: SQLite cannot switch a trigger off.
func dropSQLiteTriggers(ctx context.Context, s *side, _ []table) (func(context.Context) error, error) {
	var names, statements []string
	err := s.list(ctx, `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'
AND NOT EXISTS (SELECT 1 FROM pragma_table_list v WHERE v.type = 'virtual' AND instr(sqlite_schema.sql, v.name) > 0)`, func() ([]any, func()) {
		var name, statement string
		return []any{&name, &statement}, func() { names, statements = append(names, name), append(statements, statement) }
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.exec(ctx, `DROP TRIGGER "`+name+`"`); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for _, statement := range statements {
			if err := s.exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// insertRows writes rows with INSERT; the connection keeps the statement prepared.
func insertRows(ctx context.Context, s *side, t table) (write func(row []any) error, finish func(error) error) {
	statement := `INSERT INTO "` + t.name + `" (` + t.quoted() + ") VALUES (?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	write = func(row []any) error {
		_, err := s.conn.ExecContext(ctx, statement, row...)
		return err
	}
	return write, func(failed error) error { return failed }
}

// openSQLiteAlone opens a file that no other connection has open, and keeps others out until
// it is closed. The exclusive lock must be asked for before the first access: then it fails
// as long as a process has the file open, even if that is idle.
func openSQLiteAlone(ctx context.Context, databaseURL string) (*DB, error) {
	path := sqlitePath(databaseURL)
	pool, err := openSQLiteFile(path, "_pragma=busy_timeout(1000)&_pragma=locking_mode(EXCLUSIVE)&_pragma=query_only(1)", 1)
	if err != nil {
		return nil, err
	}
	s := &DB{engine: engine{name: sqliteName, serviceRead: pool, serviceWrite: pool, tenantRead: pool, tenantWrite: pool, admin: pool}, file: path}
	var tables int
	err = pool.NewRaw("SELECT count(*) FROM sqlite_schema").Scan(ctx, &tables)
	var fromSQLite *sqlite.Error
	if errors.As(err, &fromSQLite) && fromSQLite.Code()&0xff == sqlite3.SQLITE_BUSY {
		err = errInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read the database %s: %w", path, err), s.Close())
	}
	return s, nil
}

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
