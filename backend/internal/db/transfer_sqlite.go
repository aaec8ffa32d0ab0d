package db

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

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
