package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
)

// health is what a database knows of its writes.
type health struct {
	// written is when a write last succeeded, in nanoseconds since 1970; begun is when the running
	// write began, or 0.
	written, begun atomic.Int64
	// maintenance is the error of the last maintenance; nil after a good one.
	maintenance atomic.Pointer[error]
	// damaged is the result of the last CheckIntegrity.
	damaged atomic.Bool
}

const (
	// writeProved is how long a write proves that the next one can succeed.
	writeProved = 5 * time.Second
	// writeTooLong is how long one write may keep the others waiting.
	writeTooLong = 30 * time.Second
)

// Ready returns an error while the database cannot be used. For SQLite that means: its file was
// removed or replaced, or cannot be written, which is tried if no write succeeded lately.
func (s *DB) Ready(ctx context.Context) error {
	if s.engine.name == postgresName {
		return s.Ping(ctx)
	}
	if err := s.engine.check(); err != nil {
		return err
	}
	if err := s.engine.wal.failure(); err != nil {
		return err
	}
	if failed := s.health.maintenance.Load(); failed != nil && *failed != nil {
		return *failed
	}
	now := time.Now()
	if now.Sub(time.Unix(0, s.health.written.Load())) < writeProved {
		return nil
	}
	if begun := s.health.begun.Load(); begun != 0 {
		if took := now.Sub(time.Unix(0, begun)); took > writeTooLong {
			return fmt.Errorf("a write has been running for %s", took.Round(time.Second))
		}
		return nil // it waits for no other process: others wait for it
	}
	err := s.Write(ctx, func(ctx context.Context, tx Querier) error {
		_, err := tx.NewRaw(`INSERT INTO installation (number, probed_at) VALUES (1, ?)
ON CONFLICT (number) DO UPDATE SET probed_at = EXCLUDED.probed_at`, s.Now()).Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	return nil
}

// The sizes at which Maintain acts.
const (
	// walLimit is the size of a write-ahead log that is written back and cut off. SQLite writes it
	// back after 16 MiB, but cannot while a reader uses it, and never makes the file smaller.
	walLimit = 64 << 20
	// keepFree is how many free pages are kept for new rows; a tenth of all, if that is more. Others
	// are given back to the file system, at most freePages at a time.
	keepFree  = 1000
	freePages = 2000
)

// Maintain keeps the files of a SQLite database small, and finds out whether the log can be written
// back. Call it every few seconds: while the database is idle, it only looks whether the log has changed.
// Ready returns the last error of Maintain until a later call succeeds. For PostgreSQL it does nothing.
func (s *DB) Maintain(ctx context.Context) error {
	if s.engine.name == postgresName {
		return nil
	}
	err := s.maintain(ctx)
	if ctx.Err() != nil || isConflict(err) { // stopping, or another process writes
		return nil
	}
	if err != nil {
		err = fmt.Errorf("the write-ahead log cannot be written back: %w", err)
	}
	s.health.maintenance.Store(&err)
	return err
}

func (s *DB) maintain(ctx context.Context) error {
	if err := s.engine.check(); err != nil {
		return err
	}
	log, err := os.Stat(s.file + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	written := log.ModTime().UnixNano()
	failed := s.health.maintenance.Load()
	if s.maintained.Swap(written) == written && (failed == nil || *failed == nil) {
		return nil
	}
	// PASSIVE never waits. TRUNCATE would, with the write lock, for readers such as Litestream's: so it
	// runs on a connection that gives up at once.
	mode, pool := "PASSIVE", s.engine.admin
	if log.Size() > walLimit {
		if pool, err = openSQLiteFile(s.file, "_pragma=busy_timeout(0)", 1); err != nil {
			return err
		}
		defer func() { _ = pool.Close() }() // it has written nothing that is not in the log
		mode = "TRUNCATE"
	}
	var busy, frames, moved int
	if err := pool.NewRaw("PRAGMA wal_checkpoint(?)", bun.Safe(mode)).Scan(ctx, &busy, &frames, &moved); err != nil {
		return err
	}
	var free, pages int
	if err := s.engine.admin.NewRaw("SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count").Scan(ctx, &free, &pages); err != nil {
		return err
	}
	if surplus := free - max(keepFree, pages/10); surplus > 0 {
		_, err := s.engine.admin.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", min(surplus, freePages)))
		return err
	}
	return nil
}

// LogSize returns the size of SQLite's write-ahead log in bytes; 0 for PostgreSQL.
func (s *DB) LogSize() int64 {
	if s.engine.name == postgresName {
		return 0
	}
	info, err := os.Stat(s.file + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// ErrDamaged is the error of a SQLite database whose content contradicts itself.
var ErrDamaged = errors.New("the database is damaged")

// CheckIntegrity reads a whole SQLite database, and fails with ErrDamaged if a part of it cannot be
// read, or contradicts another. For PostgreSQL it does nothing.
func (s *DB) CheckIntegrity(ctx context.Context) error {
	if s.engine.name == postgresName {
		return nil
	}
	err := checkIntegrity(ctx, s.engine.serviceRead, s.file)
	if ctx.Err() == nil {
		s.health.damaged.Store(errors.Is(err, ErrDamaged))
	}
	return err
}

// Damaged reports whether the last CheckIntegrity found damage.
func (s *DB) Damaged() bool { return s.health.damaged.Load() }

func checkIntegrity(ctx context.Context, db bun.IDB, path string) error {
	var faults []string
	err := db.NewRaw("PRAGMA integrity_check(3)").Scan(ctx, &faults)
	if err == nil && len(faults) == 1 && faults[0] == "ok" {
		var table string
		err = db.NewRaw(`SELECT "table" FROM pragma_foreign_key_check LIMIT 1`).Scan(ctx, &table)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		faults = []string{"a row of " + table + " refers to one that is missing"}
	}
	if err != nil && !isDamage(err) {
		return fmt.Errorf("check the database %s: %w", path, err)
	}
	if err != nil {
		faults = []string{err.Error()}
	}
	return fmt.Errorf("%w: %s: %s", ErrDamaged, path, strings.Join(faults, "; "))
}
