package server

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

// Backup writes a database to a new file, while servers may be using it: a SQLite
// database, or an archive of pg_dump for PostgreSQL.
func Backup(ctx context.Context, databaseURL, file string) error {
	return db.Backup(ctx, databaseURL, file)
}

// Restore restores a backup into a SQLite file that must not exist, or into an empty
// PostgreSQL database.
func Restore(ctx context.Context, databaseURL, file string) error {
	return db.Restore(ctx, databaseURL, file)
}

// CheckDatabase returns the time on the database server. It returns an error if a backend
// could not start with the database. It changes nothing.
func CheckDatabase(ctx context.Context, databaseURL string) (clock time.Time, err error) {
	return db.Check(ctx, databaseURL)
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
