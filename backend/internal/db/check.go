package db

import (
	"context"
	"errors"
	"time"
)

// Check checks a database without changing anything, and returns the time of its server;
// for SQLite that is this machine's. It fails when Open would fail, when the database
// doesn't exist yet, and when a SQLite file is damaged.
func Check(ctx context.Context, databaseURL string) (clock time.Time, err error) {
	var s *DB
	if IsPostgres(databaseURL) {
		s, err = connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	} else {
		s, err = inspectSQLite(sqlitePath(databaseURL))
	}
	if err != nil {
		return clock, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.engine.name == sqliteName {
		return time.Now(), errors.Join(s.checkSchema(ctx), s.CheckIntegrity(ctx))
	}
	if err := s.engine.admin.NewRaw("SELECT clock_timestamp()").Scan(ctx, &clock); err != nil {
		return clock, Coded(err)
	}
	return clock, s.checkSchema(ctx)
}
