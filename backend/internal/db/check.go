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
	"syscall"
	"time"
)

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
	owner := folder.Sys().(*syscall.Stat_t).Uid //nolint:forcetypeassert // of every file of this system
	for _, name := range append([]string{path, path + "-wal", path + "-shm", path + lockSuffix, path + inUseSuffix}, beside...) {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at the files of the database: %w", err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != owner { //nolint:forcetypeassert // as above
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
