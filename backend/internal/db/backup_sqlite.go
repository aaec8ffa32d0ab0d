package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// sqliteMagic is how every SQLite database begins.
const sqliteMagic = "SQLite format 3\x00"

// backupSQLite writes a copy of a database, and checks both: a page that can't be read, or rows that
// an index has and its table lacks, would be missing from the copy without an error.
func backupSQLite(ctx context.Context, databaseURL, file string) (err error) {
	if _, err := os.Stat(sqlitePath(databaseURL)); err != nil {
		return fmt.Errorf("there is no database to back up: %w", err)
	}
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.CheckIntegrity(ctx); err != nil {
		return fmt.Errorf("the database can't be backed up: %w", err)
	}
	removeLeftovers(file)
	if err := createPrivate(file); err != nil { // VACUUM INTO accepts an empty file
		return err
	}
	defer func() {
		if err != nil {
			removeLeftovers(file)
		}
	}()
	for range 3 { // another process may write meanwhile: then the numbers of rows may differ
		var before, after int64
		if before, err = s.dataVersion(ctx); err != nil {
			return err
		}
		if err := os.Truncate(file, 0); err != nil {
			return fmt.Errorf("the backup cannot be written: %w", err)
		}
		if _, err := s.engine.admin.NewRaw("VACUUM INTO ?", file).Exec(ctx); err != nil {
			return fmt.Errorf("the database cannot be copied: %w", err)
		}
		rows, err := countRows(ctx, s.engine.admin)
		if err != nil {
			return err
		}
		if after, err = s.dataVersion(ctx); err != nil {
			return err
		}
		if before != after {
			rows = nil
		}
		if err := finishBackup(ctx, file, rows); err != nil || rows != nil {
			return err
		}
	}
	return nil
}

// dataVersion returns a number that changes when another connection commits.
func (s *DB) dataVersion(ctx context.Context) (version int64, err error) {
	err = s.engine.admin.NewRaw("PRAGMA data_version").Scan(ctx, &version)
	return version, err
}

// countRows returns the number of rows of each table.
func countRows(ctx context.Context, db bun.IDB) (map[string]int64, error) {
	var names []string
	if err := db.NewRaw("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'").Scan(ctx, &names); err != nil {
		return nil, err
	}
	counts := make(map[string]int64, len(names))
	for _, name := range names {
		var n int64
		// NOT INDEXED reads the table itself: integrity_check has compared the indexes with it.
		if err := db.NewRaw("SELECT count(*) FROM ? NOT INDEXED", bun.Ident(name)).Scan(ctx, &n); err != nil {
			return nil, fmt.Errorf("count the rows of %s: %w", name, err)
		}
		counts[name] = n
	}
	return counts, nil
}

// finishBackup checks a copy, and gives it a marker of its own: a copy over the file of a running
// kith is recognised by it.
func finishBackup(ctx context.Context, file string, rows map[string]int64) (err error) {
	pool, err := openSQLiteFile(file, "_pragma=journal_mode(DELETE)", 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := setMarker(ctx, pool); err != nil {
		return fmt.Errorf("the backup cannot be written: %w", err)
	}
	if err := checkIntegrity(ctx, pool, file); err != nil {
		return fmt.Errorf("the backup is of no use: %w", err)
	}
	copied, err := countRows(ctx, pool)
	for name, n := range rows {
		if copied[name] != n && err == nil {
			err = fmt.Errorf("the backup is of no use: it has %d of %d rows of %s", copied[name], n, name)
		}
	}
	return err
}

// restoreSQLite copies a backup to a new file.
func restoreSQLite(ctx context.Context, databaseURL, file string) (err error) {
	path := sqlitePath(databaseURL)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the database: %w", err)
	}
	alone, err := lockAlone(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	for _, taken := range []string{path, path + "-wal", path + "-journal"} {
		if _, err := os.Lstat(taken); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s is there already: stop kith and move it away first", taken), os.Remove(path+inUseSuffix))
		}
	}
	partial := path + ".partial"
	removeLeftovers(partial)
	err = copyPrivate(partial, file)
	if err == nil {
		err = checkRestored(ctx, partial)
	}
	if err == nil {
		err = giveToFolder(partial)
	}
	if err == nil {
		err = errors.Join(os.Rename(partial, path), syncFile(filepath.Dir(path)))
	}
	removeLeftovers(partial)
	if err != nil {
		_ = os.Remove(path + inUseSuffix) // the error that caused this is returned
	}
	return err
}

// removeLeftovers removes a partial file and what SQLite and kith put beside it. What a killed backup
// or restore left behind would otherwise be taken for a part of the next one.
func removeLeftovers(partial string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm", lockSuffix, inUseSuffix} {
		_ = os.Remove(partial + suffix) // creating the file fails if this did
	}
}

func copyPrivate(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := createPrivate(to); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_TRUNC|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	_, copyErr := io.Copy(target, source)
	if err := errors.Join(copyErr, target.Sync(), target.Close()); err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	return nil
}

// checkRestored checks that a copy is complete, and of a version that this binary knows.
func checkRestored(ctx context.Context, path string) (err error) {
	s, err := connect(ctx, Config{URL: path, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.CheckIntegrity(ctx); err != nil {
		return fmt.Errorf("the backup is of no use: %w", err)
	}
	if known, err := s.hasMigrations(ctx); err != nil || !known {
		return errors.Join(err, errors.New("the file is a SQLite database, but none of Kith"))
	}
	if err := s.checkSchema(ctx); err != nil && !errors.Is(err, ErrSchemaOlder) {
		return err
	}
	return nil
}

// inspectSQLite opens a database for reading and changes nothing on the disk: it creates no file and keeps
// the mode. It refuses the database of another program before SQLite opens it.
func inspectSQLite(path string) (_ *DB, err error) {
	h, err := readHeader(path)
	if err != nil {
		return nil, err
	}
	if h != sqliteApplication {
		return nil, fmt.Errorf("%s is not a database of Kith", path)
	}
	// While kith runs, the log and its index are there. Without them nothing else has the file open.
	options := "mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(1000)"
	beside, err := filepath.Glob(path + "-*")
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(beside, path+"-journal"):
		return nil, fmt.Errorf("%s-journal is the rest of a change that was interrupted: start kith, which takes it back", path)
	case !slices.Contains(beside, path+"-shm"):
		options += "&immutable=1"
	}
	pool, err := openSQLiteFile(path, options, 1)
	if err != nil {
		return nil, err
	}
	return &DB{
		now: time.Now, logger: slog.New(slog.DiscardHandler), fault: func(string) error { return nil }, queryWatch: noop{}, file: path,
		engine: engine{name: sqliteName, serviceRead: pool, serviceWrite: pool, tenantRead: pool, tenantWrite: pool, admin: pool},
	}, nil
}

// readHeader returns the application id of a file.
func readHeader(path string) (application uint32, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no database yet (kith serve makes it): %w", err)
	}
	if err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read the database: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("cannot read the database: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	application, _, err = (&heldFile{file: f}).header()
	if err != nil {
		return 0, fmt.Errorf("%s is not a database of Kith: %w", path, err)
	}
	return application, nil
}
