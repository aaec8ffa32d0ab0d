package db

import (
	"context"

	"github.com/uptrace/bun"
)

// fewRows is the size, in rows, up to which LearnTables analyses a table. Larger ones
// are left to autovacuum.
const fewRows = 2000

// importTables returns the tables that an import adds rows to.
func importTables() []string {
	return []string{"connections", "handles", "duplicate_keys", "organizations", "positions", "tags", "connection_tags", "source_keys",
		"notes", "note_connections", "interactions", "interaction_connections", "groups", "group_connections"}
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
