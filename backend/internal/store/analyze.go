package store

import (
	"context"

	"github.com/uptrace/bun"
)

// fewRows is how many rows a table has that PostgreSQL should be made to look at
// while it grows: of a table that it knows nothing of, it plans the checks of
// foreign keys by an index that holds all of a member's rows, and keeps that plan.
// Larger tables its own autovacuum looks at.
const fewRows = 2000

// importTables are the tables that an import makes grow.
func importTables() []string {
	return []string{"connections", "handles", "organizations", "positions", "tags", "connection_tags", "source_keys",
		"notes", "note_connections", "interactions", "interaction_connections", "groups", "group_connections"}
}

// learnTables makes PostgreSQL look at those tables of an import that it knows
// little of. Not to do so only costs time.
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
