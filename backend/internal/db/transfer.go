package db

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

// TableRows is what Transfer copied of one table.
type TableRows struct {
	Table string
	Rows  int64
	// Digest is the sum of the SHA-256 hashes of all rows, which does not depend on their
	// order. It was the same in both databases.
	Digest string
}

// Transfer copies every row of a database into an empty one of the other kind, SQLite or
// PostgreSQL, compares both, and returns what it copied. Both must have the schema of this
// binary; a target without any table is migrated first. All rows are written in one
// transaction: after an error the target is as empty as before. Memory holds one row at a
// time, however large the database is.
//
// No Kith process may use the source: Transfer fails if one does, and keeps others from opening a
// SQLite source until it returns. begin is called with the name of each table before its rows are
// copied; it may be nil.
func Transfer(ctx context.Context, from, to string, begin func(table string)) (copied []TableRows, err error) {
	if IsPostgres(from) == IsPostgres(to) {
		return nil, errors.New("both databases are of the same kind: use `kith backup` and `kith restore`")
	}
	if begin == nil {
		begin = func(string) {}
	}
	source, err := openSource(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	target, err := openTarget(ctx, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	if err := source.exec(ctx, source.dialect.beginRead); err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if err := target.exec(ctx, target.dialect.beginWrite); err != nil {
		return nil, fmt.Errorf("write the target: %w", err)
	}
	if copied, err = copyAll(ctx, source, target, begin); err != nil {
		return nil, err
	}
	if err := target.exec(ctx, "COMMIT"); err != nil {
		return nil, fmt.Errorf("commit the copy: %w", err)
	}
	return copied, target.dialect.refreshStatistics(ctx, target)
}

// copyAll copies and compares all tables in the transactions of both sides.
func copyAll(ctx context.Context, source, target *side, begin func(table string)) ([]TableRows, error) {
	tables, err := matchTables(ctx, source, target)
	if err != nil {
		return nil, err
	}
	restore, err := target.dialect.openTables(ctx, target, tables)
	if err != nil {
		return nil, fmt.Errorf("prepare the target: %w", err)
	}
	for _, t := range tables {
		if err := target.checkEmpty(ctx, t); err != nil {
			return nil, err
		}
	}
	digests := make([]digest, len(tables))
	for i, t := range tables {
		begin(t.name)
		if err := copyTable(ctx, source, target, t, &digests[i]); err != nil {
			return nil, fmt.Errorf("copy the table %s: %w", t.name, err)
		}
	}
	copied := make([]TableRows, len(tables))
	for i, t := range tables {
		var found digest
		if err := target.read(ctx, t, func(row []any) error { found.add(row); return nil }); err != nil {
			return nil, fmt.Errorf("compare the table %s: %w", t.name, err)
		}
		if found != digests[i] {
			return nil, fmt.Errorf("the table %s is not the same in the target (%d rows, %d in the source): nothing was kept", t.name, found.rows, digests[i].rows)
		}
		copied[i] = TableRows{Table: t.name, Rows: found.rows, Digest: found.String()}
	}
	if err := restore(ctx); err != nil {
		return nil, fmt.Errorf("finish the target: %w", err)
	}
	return copied, nil
}

// copyTable copies the rows of a table and adds them to the digest as they are read.
func copyTable(ctx context.Context, source, target *side, t table, read *digest) error {
	write, finish := target.dialect.writer(ctx, target, t)
	err := source.read(ctx, t, func(row []any) error {
		read.add(row)
		return write(row)
	})
	return finish(err)
}

// openSource opens a database to read all of it, while no other process uses it.
func openSource(ctx context.Context, url string) (_ *side, err error) {
	if err := checkUnused(ctx, url); err != nil {
		return nil, err
	}
	open := openSQLiteAlone
	if IsPostgres(url) {
		open = func(ctx context.Context, url string) (*DB, error) { return connect(ctx, Config{URL: url, MaxConns: 1}) }
	}
	s, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := s.checkSchema(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the source cannot be read: %w", err), s.Close())
	}
	// kith_service may read all rows of all tables.
	return newSide(ctx, s, s.engine.serviceRead)
}

// openTarget opens a database to write all of it, and migrates one without tables.
func openTarget(ctx context.Context, url string) (_ *side, err error) {
	if IsPostgres(url) {
		if err := checkUnused(ctx, url); err != nil {
			return nil, err
		}
	}
	s, err := connect(ctx, Config{URL: url, MaxConns: 1, create: true})
	if err != nil {
		return nil, err
	}
	known, err := s.hasMigrations(ctx)
	if err == nil && !known {
		err = s.migrateEmpty(ctx)
	}
	if err == nil {
		err = s.checkSchema(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the target cannot be written: %w", err), s.Close())
	}
	return newSide(ctx, s, s.engine.admin)
}

// migrateEmpty migrates a database that has no table yet, and refuses any other.
func (s *DB) migrateEmpty(ctx context.Context) error {
	var tables int
	query := "SELECT count(*) FROM sqlite_master"
	if s.engine.name == postgresName {
		query = "SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace = current_schema()::regnamespace"
	}
	if err := s.engine.admin.NewRaw(query).Scan(ctx, &tables); err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	if tables > 0 {
		return errors.New("it holds tables that are not Kith's: name an empty database")
	}
	_, err := s.migrate(ctx)
	return err
}

// checkUnused fails if a Kith process is connected to a PostgreSQL database, or if there is no
// SQLite file. openSQLiteAlone checks that no other process uses the file.
func checkUnused(ctx context.Context, url string) error {
	if !IsPostgres(url) {
		if _, err := os.Stat(sqlitePath(url)); err != nil {
			return fmt.Errorf("there is no database to copy: %w", err)
		}
		return nil
	}
	conf, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("the database URL cannot be read: %w", err) // pgx masks the password
	}
	conn, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		return fmt.Errorf("cannot reach the database: %w", err)
	}
	var others int
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`, applicationName).Scan(&others)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("look who uses the database: %w", err)
	}
	if others > 0 {
		return fmt.Errorf("%w (%d connections of kith)", errInUse, others)
	}
	return nil
}

// errInUse is the refusal of a database that another process uses.
var errInUse = errors.New("the database is in use: stop every kith, and every other program, that uses it first")
