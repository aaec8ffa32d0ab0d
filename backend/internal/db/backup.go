package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Backup writes a whole database into a new file, while the database is in use. For
// SQLite the file is a database too, for PostgreSQL an archive of pg_dump, which must be
// installed. The file is written completely or not at all, is checked before Backup returns, and only
// its owner can read it.
func Backup(ctx context.Context, databaseURL, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists: name a new file", file)
	}
	if folder := filepath.Dir(file); !isFolder(folder) {
		return fmt.Errorf("the folder %s does not exist: make it first", folder)
	}
	partial := file + ".partial"
	removeLeftovers(partial)
	write := backupSQLite
	if IsPostgres(databaseURL) {
		write = dumpPostgres
	}
	if err := write(ctx, databaseURL, partial); err != nil {
		removeLeftovers(partial)
		return err
	}
	if err := errors.Join(syncFile(partial), os.Rename(partial, file), syncFile(filepath.Dir(file))); err != nil {
		return fmt.Errorf("the backup cannot be kept: %w", err)
	}
	return nil
}

// RecordBackup stores the present time as the time of the last backup.
func RecordBackup(ctx context.Context, databaseURL string) (err error) {
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, err = s.engine.admin.NewRaw(`INSERT INTO installation (number, backed_up_at) VALUES (1, ?)
ON CONFLICT (number) DO UPDATE SET backed_up_at = EXCLUDED.backed_up_at`, s.Now()).Exec(ctx)
	return Coded(err)
}

// Installation has the times of the last backup and the last sweep of the database; the zero time means never.
type Installation struct {
	// MadeAt is when the database was made, BackedUpAt when it was last backed up (Backup, RecordBackup), and
	// SweptAt when expired rows were last deleted (MarkSwept).
	MadeAt, BackedUpAt, SweptAt time.Time
}

// Installation reads these times.
func (s *DB) Installation(ctx context.Context) (Installation, error) {
	pool := s.engine.serviceRead
	if s.engine.name == postgresName {
		pool = s.engine.admin // the others may not read the migrations
	}
	var made, backedUp, swept sql.NullTime
	err := pool.NewRaw(`SELECT (SELECT applied_at FROM schema_migrations ORDER BY applied_at LIMIT 1),
(SELECT backed_up_at FROM installation WHERE number = 1), (SELECT swept_at FROM installation WHERE number = 1)`).Scan(ctx, &made, &backedUp, &swept)
	return Installation{MadeAt: made.Time, BackedUpAt: backedUp.Time, SweptAt: swept.Time}, Coded(err)
}

// MarkSwept stores the time of a sweep, by the clock of this process.
func (s *DB) MarkSwept(ctx context.Context, at time.Time) error {
	_, err := s.NewWrite(`INSERT INTO installation (number, swept_at) VALUES (1, ?)
ON CONFLICT (number) DO UPDATE SET swept_at = EXCLUDED.swept_at`, at.UTC()).Exec(ctx)
	return err
}

// syncFile writes a file, or the names in a folder, to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Restore restores a file that Backup wrote: into a SQLite database that doesn't exist
// yet, or into an empty PostgreSQL one. The file must be of the same kind of database, and
// of this version of Kith or an older one; run `kith migrate` after it.
func Restore(ctx context.Context, databaseURL, file string) error {
	head := make([]byte, len(sqliteMagic))
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	_, _ = f.Read(head) // a file that is too short is of neither kind
	if err := f.Close(); err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	ofSQLite, ofPostgres := string(head) == sqliteMagic, strings.HasPrefix(string(head), dumpMagic)
	switch {
	case IsPostgres(databaseURL) && ofPostgres:
		return restorePostgres(ctx, databaseURL, file)
	case !IsPostgres(databaseURL) && ofSQLite:
		return restoreSQLite(ctx, databaseURL, file)
	case ofSQLite:
		return fmt.Errorf("%s is a backup of a SQLite database, and the database URL names PostgreSQL", file)
	case ofPostgres:
		return fmt.Errorf("%s is a backup of a PostgreSQL database, and the database URL names a SQLite file", file)
	default:
		return fmt.Errorf("%s is no backup of Kith", file)
	}
}
