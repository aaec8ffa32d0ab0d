package server

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/store"
)

// Backup writes all of a database into a new file, while a server may be using it:
// for SQLite a database again, for PostgreSQL an archive of pg_dump.
func Backup(ctx context.Context, databaseURL, file string) error {
	return store.Backup(ctx, databaseURL, file)
}

// Restore brings what Backup wrote into a SQLite file that is not there yet, or into
// an empty PostgreSQL database.
func Restore(ctx context.Context, databaseURL, file string) error {
	return store.Restore(ctx, databaseURL, file)
}

// Examine looks at a database without changing anything, and returns the clock of
// its server. It fails where a server could not start on it.
func Examine(ctx context.Context, databaseURL string) (clock time.Time, err error) {
	return store.Examine(ctx, databaseURL)
}
