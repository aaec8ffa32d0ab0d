package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("cannot lock the database: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-wait.C:
		}
	}
}
