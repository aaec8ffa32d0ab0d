package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
