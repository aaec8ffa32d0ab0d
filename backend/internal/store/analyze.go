package store

import (
	"context"

	"github.com/uptrace/bun"
)

// fewRows is the size, in rows, up to which learnTables analyses a table. Larger ones
// are left to autovacuum.
const fewRows = 2000

// importTables returns the tables that an import adds rows to.
func importTables() []string {
	return []string{"connections", "handles", "organizations", "positions", "tags", "connection_tags", "source_keys",
		"notes", "note_connections", "interactions", "interaction_connections", "groups", "group_connections"}
}

// learnTables updates PostgreSQL's statistics of the tables that an import adds rows
// to, while they are small. Without statistics, PostgreSQL plans the checks of foreign
// keys by an index that holds all rows of a member, and keeps that plan for the
// connection. An error is logged only: without statistics, imports are slower but
// correct. SQLite needs none, see its baseline migration.
func (s *Store) learnTables(ctx context.Context) {
	if s.engine.name != postgresName {
		return
	}
	var unknown []string
	err := s.engine.admin.NewRaw("SELECT relname FROM pg_class WHERE oid = to_regclass(relname) AND relname IN (?) AND reltuples < ?",
		bun.List(importTables()), fewRows).Scan(ctx, &unknown)
	for _, table := range unknown {
		if err == nil {
			_, err = s.engine.admin.NewRaw("ANALYSE (SKIP_LOCKED) ?", bun.Ident(table)).Exec(ctx)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.logger.WarnContext(ctx, "tables cannot be analysed", "error", err)
	}
}
