package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"
)

// openSQLite opens one writing connection, since SQLite allows only one writer, and a
// pool of reading ones. Transactions of the writer use BEGIN IMMEDIATE: without it, a
// transaction that reads before it writes fails when another one wrote in between.
func openSQLite(ctx context.Context, c Config) (engine, error) {
	path := sqlitePath(c.URL)
	if path == "" {
		return engine{}, errors.New("the database URL is empty: give the path of a SQLite file or a postgres:// address")
	}
	if c.create {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return engine{}, fmt.Errorf("cannot make the folder of the database: %w", err)
		}
	} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return engine{}, fmt.Errorf("there is no database at %s: `kith serve` or `kith migrate` makes one; set KITH_DATABASE_URL if it is somewhere else", path)
	}
	file, err := openFile(ctx, path)
	if err != nil {
		return engine{}, err
	}
	e, err := openSQLitePools(ctx, path, c)
	if err == nil {
		err = file.learnMarker(ctx, e.admin)
	}
	if err != nil {
		return engine{}, errors.Join(err, e.close(), file.close())
	}
	e.file = file
	if c.SyncEachCommit {
		e.wal = newWALSync(path + "-wal")
	}
	return e, nil
}

func openSQLitePools(ctx context.Context, path string, c Config) (e engine, err error) {
	for _, beside := range []string{"", "-wal", "-shm", "-journal"} { // of an earlier run, or copied with the database
		if err := makePrivate(path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return engine{}, err
		}
	}
	// A statement that fails half-way is rolled back from its journal, which is a file
	// unless temporary data stays in memory. Pages that are written repeatedly, such as
	// those of the ledger, are copied from the write-ahead log into the database once for
	// each 16 MiB of log instead of each 4 MiB.
	// The pages of deleted rows are given back (Maintain); a database can only be made so. The setting
	// writes, so that a connection which only reads would wait for the write that is under way.
	write, err := openSQLiteDB(path, "_txlock=immediate&_pragma=auto_vacuum(INCREMENTAL)&_pragma=temp_store(2)&_pragma=wal_autocheckpoint(4096)", 1)
	if err != nil {
		return engine{}, err
	}
	lock := func(ctx context.Context) (func() error, error) { return lockFile(ctx, path+lockSuffix) }
	e = engine{name: sqliteName, serviceWrite: write, tenantWrite: write, admin: write, lock: lock}
	if err := firstPing(ctx, write, lock); err != nil {
		return e, unreadable(path, err)
	}
	read, err := openSQLiteDB(path, "_pragma=query_only(1)", c.MaxConns)
	e.serviceRead, e.tenantRead = read, read
	return e, err
}

// firstPing opens the first connection, in one process at a time. Two processes that switch a new
// file to write-ahead logging at the same time would fail without waiting for each other.
func firstPing(ctx context.Context, write *bun.DB, lock func(context.Context) (func() error, error)) error {
	unlock, err := lock(ctx)
	if err != nil {
		return err
	}
	return errors.Join(write.PingContext(ctx), unlock())
}

// File returns the path of the SQLite file in a database URL; empty for PostgreSQL.
func File(databaseURL string) string {
	if IsPostgres(databaseURL) {
		return ""
	}
	return sqlitePath(databaseURL)
}

// sqlitePath returns the path of the file in a database URL.
func sqlitePath(url string) string {
	for _, scheme := range []string{"sqlite://", "sqlite:", "file:"} {
		if path, has := strings.CutPrefix(url, scheme); has {
			return path
		}
	}
	return url
}

// createPrivate creates the file if it doesn't exist, and makes it readable by its owner
// only; SQLite gives the files that it creates beside it the same mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	return errors.Join(f.Close(), makePrivate(path))
}

// makePrivate removes all permissions of a file except its owner's.
func makePrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("others may read %s, and its mode cannot be changed: %w", path, err)
	}
	return nil
}

func openSQLiteDB(path, option string, conns int) (*bun.DB, error) {
	// auto_vacuum has no effect once journal_mode made the file.
	return openSQLiteFile(path, option+"&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(NORMAL)", conns)
}

func openSQLiteFile(path, options string, conns int) (*bun.DB, error) {
	connector, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?_time_format=sqlite&" + options)
	if err != nil {
		return nil, fmt.Errorf("cannot open the database %s: %w", path, err)
	}
	db := sql.OpenDB(sqliteConnector{connector})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return bun.NewDB(db, sqliteDialect{sqlitedialect.New()}, bun.WithDiscardUnknownColumns()), nil
}

// lockFile takes an exclusive lock, which the operating system releases when the process
// ends, even after a crash.
func lockFile(ctx context.Context, path string) (func() error, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the database: %w", err)
	}
	if err := giveToFolder(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	wait := time.NewTicker(20 * time.Millisecond)
	defer wait.Stop()
	for {
		err := lockNow(f, true)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, errors.Join(fmt.Errorf("cannot lock the database: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-wait.C:
		}
	}
}

// maxKept is how many statements a connection to SQLite keeps prepared; each takes about
// 10 KiB.
const maxKept = 128

// sqliteConnector opens connections that keep their statements prepared.
type sqliteConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	plain, ok := opened.(sqliteDriverConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks a method that Kith uses"), opened.Close())
	}
	conn := &sqliteConn{sqliteDriverConn: plain}
	conn.kept, err = lru.NewLRU(maxKept, func(_ string, s *keptStatement) { s.drop() })
	return conn, err
}

// sqliteDriverConn is what database/sql uses of the driver's connection.
type sqliteDriverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteConn is a connection that keeps statements. Like all of database/sql's, it is used
// by one goroutine at a time.
type sqliteConn struct {
	sqliteDriverConn

	kept *lru.LRU[string, *keptStatement]
}

// keptStatement is a prepared statement. It is busy while its rows are read: a statement has
// one result at a time.
type keptStatement struct {
	driverStatement

	busy, dropped bool
}

// driverStatement is what we use of the driver's statement.
type driverStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// drop closes the statement, at once or when its rows have been read. The error of Close is
// ignored: the statement's last run has already returned it.
func (s *keptStatement) drop() {
	s.dropped = true
	if !s.busy {
		_ = s.Close()
	}
}

// release ends a run.
func (s *keptStatement) release() {
	s.busy = false
	if s.dropped {
		_ = s.Close()
	}
}

// Close implements driver.Conn.
func (c *sqliteConn) Close() error {
	c.kept.Purge()
	return c.sqliteDriverConn.Close()
}

// acquire returns the prepared statement with a text, or nil if its rows are being read.
func (c *sqliteConn) acquire(ctx context.Context, text string) (*keptStatement, error) {
	s, ok := c.kept.Get(text)
	switch {
	case ok && s.busy:
		return nil, nil
	case ok:
		s.busy = true
		return s, nil
	}
	prepared, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	made, ok := prepared.(driverStatement)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks a method that Kith uses"), prepared.Close())
	}
	s = &keptStatement{driverStatement: made, busy: true}
	c.kept.Add(text, s)
	return s, nil
}

// questionMark is the placeholder of SQLite.
func questionMark(text []byte, _ int) []byte { return append(text, '?') }

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	p, keep := part(query, questionMark)
	if !keep || len(args) > 0 {
		return c.sqliteDriverConn.ExecContext(ctx, p.text, args)
	}
	s, err := c.acquire(ctx, p.text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteDriverConn.ExecContext(ctx, p.text, p.arguments)
	}
	defer s.release()
	return s.ExecContext(ctx, p.arguments)
}

// QueryContext implements driver.QueryerContext.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	p, keep := part(query, questionMark)
	if !keep || len(args) > 0 {
		return c.sqliteDriverConn.QueryContext(ctx, p.text, args)
	}
	s, err := c.acquire(ctx, p.text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteDriverConn.QueryContext(ctx, p.text, p.arguments)
	}
	rows, err := s.QueryContext(ctx, p.arguments)
	if err != nil {
		s.release()
		return nil, err
	}
	return &keptRows{Rows: rows, statement: s}, nil
}

// keptRows are the rows of a kept statement.
type keptRows struct {
	driver.Rows

	statement *keptStatement
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	r.statement.release()
	return err
}
