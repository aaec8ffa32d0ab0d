package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

// Backup writes a database to a new file, while servers may be using it: a SQLite
// database, or an archive of pg_dump for PostgreSQL. The database records when: if that fails, the file is kept, and
// the error says so.
func Backup(ctx context.Context, databaseURL, file string) error {
	if err := db.Backup(ctx, databaseURL, file); err != nil {
		return err
	}
	if err := db.RecordBackup(ctx, databaseURL); err != nil {
		return fmt.Errorf("%s is a good backup, but the database could not record that: %w", file, err)
	}
	return nil
}

// backupName is the form of the names of BackupInto, a time in UTC.
const backupName = "kith-20060102T150405.000Z"

// partialKeep is how old an unfinished file of a backup is when its process cannot be running any more.
const partialKeep = 12 * time.Hour

// BackupInto writes a backup to a new file in a folder, which it makes if only its last part is missing. Then it
// removes the backups that BackupInto wrote there longer than keep ago, and what killed ones left; keep 0 keeps all.
// It returns the file and the number of removed backups.
func BackupInto(ctx context.Context, databaseURL, folder string, keep time.Duration) (file string, removed int, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", 0, fmt.Errorf("make the folder of the backups: %w", err)
	}
	now := time.Now().UTC()
	file = filepath.Join(folder, now.Format(backupName))
	if err := Backup(ctx, databaseURL, file); err != nil || keep == 0 {
		return file, 0, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return file, 0, fmt.Errorf("remove old backups: %w", err)
	}
	for _, entry := range entries {
		name, _, partial := strings.Cut(entry.Name(), ".partial")
		at, err := time.Parse(backupName, name)
		if err != nil || !entry.Type().IsRegular() {
			continue
		}
		if age := now.Sub(at); age <= keep && (!partial || age <= partialKeep) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
			return file, removed, fmt.Errorf("remove an old backup: %w", err)
		}
		if !partial {
			removed++
		}
	}
	return file, removed, nil
}

// RecordBackup stores the present time as that of the last backup, for backups by other programs.
func RecordBackup(ctx context.Context, databaseURL string) error {
	return db.RecordBackup(ctx, databaseURL)
}

// Restore restores a backup into a SQLite file that must not exist, or into an empty
// PostgreSQL database.
func Restore(ctx context.Context, databaseURL, file string) error {
	return db.Restore(ctx, databaseURL, file)
}

// TableRows is what Transfer copied of one table.
type TableRows = db.TableRows

// Transfer copies all rows of a SQLite database into an empty PostgreSQL one, or the other
// way, compares them, and returns what it copied. No Kith may use either.
func Transfer(ctx context.Context, from, to string, begin func(table string)) ([]TableRows, error) {
	return db.Transfer(ctx, from, to, begin)
}

// DatabaseFile returns the path of the SQLite file of a database URL; empty for PostgreSQL.
func DatabaseFile(databaseURL string) string { return db.File(databaseURL) }
