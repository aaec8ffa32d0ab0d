package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Backup writes a whole database into a new file, while the database is in use. For
// SQLite the file is a database too, for PostgreSQL an archive of pg_dump, which must be
// installed. The file is written completely or not at all, and only its owner can read it.
func Backup(ctx context.Context, databaseURL, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s already exists: name a new file", file)
	}
	partial := file + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove what an earlier backup left: %w", err)
	}
	write := backupSQLite
	if IsPostgres(databaseURL) {
		write = dumpPostgres
	}
	if err := write(ctx, databaseURL, partial); err != nil {
		_ = os.Remove(partial) // the error that caused this is returned
		return err
	}
	if err := os.Rename(partial, file); err != nil {
		return fmt.Errorf("the backup cannot be kept: %w", err)
	}
	return nil
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
