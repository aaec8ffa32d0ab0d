package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Check checks a database without changing anything, and returns the time of its server;
// for SQLite that is this machine's. It fails when Open would fail, or when the database
// doesn't exist yet.
func Check(ctx context.Context, databaseURL string) (clock time.Time, err error) {
	if !IsPostgres(databaseURL) {
		if _, err := os.Stat(sqlitePath(databaseURL)); err != nil {
			return clock, fmt.Errorf("there is no database yet (kith serve makes it): %w", err)
		}
	}
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return clock, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.engine.name == sqliteName {
		clock = time.Now()
	} else if err := s.engine.admin.NewRaw("SELECT clock_timestamp()").Scan(ctx, &clock); err != nil {
		return clock, Coded(err)
	}
	return clock, s.checkSchema(ctx)
}
