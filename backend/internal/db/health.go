package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
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

// Inspect opens a database to look at it: nothing is changed, and the schema is not compared.
func Inspect(ctx context.Context, databaseURL string) (*DB, error) {
	if IsPostgres(databaseURL) {
		return connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	}
	return inspectSQLite(sqlitePath(databaseURL))
}

// CheckOwner returns an error if a SQLite database, or a file beside it that Kith uses, has another owner than their
// folder: the user who runs Kith owns the folder, and may not be able to open the file. For PostgreSQL it does nothing.
func CheckOwner(databaseURL string, beside ...string) error {
	if IsPostgres(databaseURL) {
		return nil
	}
	path := sqlitePath(databaseURL)
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("look at the folder of the database: %w", err)
	}
	owner, _, _ := ownerOf(folder)
	for _, name := range append([]string{path, path + "-wal", path + "-shm", path + lockSuffix, path + inUseSuffix}, beside...) {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at the files of the database: %w", err)
		}
		if uid, _, _ := ownerOf(info); uid != owner {
			return fmt.Errorf("%s belongs to %s, and its folder to %s, so the service may not be able to open it: chown --reference=%s %s",
				name, userName(uid), userName(owner), filepath.Dir(path), name)
		}
	}
	return nil
}

// userName returns the name of a user, or the number if there is none.
func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "user " + number
}

// Check checks a database without changing anything, and returns the time of its server;
// for SQLite that is this machine's. It fails when Open would fail, when the database
// doesn't exist yet, and when a SQLite file is damaged.
func Check(ctx context.Context, databaseURL string) (clock time.Time, err error) {
	s, err := Inspect(ctx, databaseURL)
	if err != nil {
		return clock, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.engine.name == sqliteName {
		return time.Now(), errors.Join(s.checkSchema(ctx), s.CheckIntegrity(ctx), s.checkPast(ctx))
	}
	if err := s.engine.admin.NewRaw("SELECT clock_timestamp()").Scan(ctx, &clock); err != nil {
		return clock, Coded(err)
	}
	return clock, s.checkSchema(ctx)
}

// checkPast returns an error if a SQLite database was written at a time that has not come yet: then this machine's
// clock was wrong, or is.
func (s *DB) checkPast(ctx context.Context) error {
	var probed sql.NullTime
	if err := s.engine.serviceRead.NewRaw("SELECT (SELECT probed_at FROM installation WHERE number = 1)").Scan(ctx, &probed); err != nil {
		return Coded(err)
	}
	if ahead := time.Until(probed.Time); probed.Valid && ahead > time.Minute {
		return fmt.Errorf("the database was written %s in the future: this machine's clock is wrong, or was", ahead.Round(time.Minute))
	}
	return nil
}

// fewRows is the size, in rows, up to which LearnTables analyses a table. Larger ones
// are left to autovacuum.
const fewRows = 2000

// importTables returns the tables that an import adds rows to.
func importTables() []string {
	return []string{"connections", "handles", "duplicate_keys", "organizations", "positions", "tags", "connection_tags", "source_keys",
		"notes", "note_connections", "interactions", "interaction_connections", "entry_numbers", "entry_words", "groups", "group_connections"}
}

// LearnTables updates the statistics of the tables that an import adds rows to, while
// they are small. An error is logged only: without statistics, imports are slower but
// correct.
func (s *DB) LearnTables(ctx context.Context) {
	learn := s.analyzeSmall
	if s.engine.name == sqliteName {
		learn = s.optimize
	}
	if err := learn(ctx); err != nil && ctx.Err() == nil {
		s.logger.WarnContext(ctx, "tables cannot be analysed", "error", err)
	}
}

// analyzeSmall analyses those tables of PostgreSQL. Without statistics, it plans foreign key checks
// with an index that lists all rows of a member, and keeps that plan for the connection.
func (s *DB) analyzeSmall(ctx context.Context) error {
	var unknown []string
	err := s.engine.admin.NewRaw("SELECT relname FROM pg_class WHERE oid = to_regclass(relname) AND relname IN (?) AND reltuples < ?",
		bun.List(importTables()), fewRows).Scan(ctx, &unknown)
	for _, table := range unknown {
		if err == nil {
			_, err = s.engine.admin.NewRaw("ANALYSE (SKIP_LOCKED) ?", bun.Ident(table)).Exec(ctx)
		}
	}
	return err
}

// optimizeSQLite has SQLite analyse the tables that have no statistics yet, or ten times as
// many rows as when they were analysed. Without statistics, it assumes that a member has about ten
// rows in each table. In the mask, 0x02 analyses, 0x10 limits that to 2,000 rows of an index, and
// 0x10000 includes tables that this connection has not read. With that limit, SQLite stores no
// samples of values. With samples, it would plan a prepared statement again at each call.
const optimizeSQLite = "PRAGMA optimize = 0x10012"

// optimize updates SQLite's statistics.
func (s *DB) optimize(ctx context.Context) error {
	_, err := s.engine.admin.ExecContext(ctx, optimizeSQLite)
	return err
}
