package integration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/insights"
)

// BenchmarkStats measures the figures of a network of 20,000 people with a position,
// a group, a tag and an interaction each, and an interval for half of them.
func BenchmarkStats(b *testing.B) {
	const people = 20_000
	for name, url := range map[string]string{"sqlite": dbtest.SQLite(b), "postgres": dbtest.Postgres(b)} {
		b.Run(name, func(b *testing.B) {
			s := dbtest.Open(b, url, time.Now)
			owner := dbtest.Member(b, s, fmt.Sprintf("maria-%d", b.N))
			q := dbtest.OpenSQL(b, url)
			pad, number := "printf('%026d', i)", "printf('%d', (i * 7) %% 400)"
			if db.IsPostgres(url) {
				pad, number = "lpad(i::text, 26, '0')", "((i * 7) %% 400)::text"
			}
			number = strings.ReplaceAll(number, "%%", "%")
			fill := func(table, values string, rows int) {
				b.Helper()
				statement := fmt.Sprintf("INSERT INTO %s WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n", table, rows-1, values)
				if _, err := q.Exec(strings.ReplaceAll(statement, "OWNER", "'"+string(owner)+"'")); err != nil {
					b.Fatalf("%s: %v", table, err)
				}
			}
			const at = "'2026-01-01 00:00:00+00:00'"
			fill("connections (tenant_id, id, name, nickname, location, bio, starred, met_on, met_how, source, cadence_days, last_interaction_at, version, data_version, folded_name, created_at, updated_at)",
				"OWNER, 'con_' || "+pad+", 'P ' || i, '', 'City ' || "+number+", '', FALSE, '', '', 'manual', 30 * (i % 2), "+at+", 1, 1, '', "+at+", "+at, people)
			fill("organizations (tenant_id, id, name, normal_name, domain, created_at, updated_at)", "OWNER, 'org_' || i, 'Firm ' || i, 'firm ' || i, '', "+at+", "+at, 400)
			fill("positions (tenant_id, id, connection_id, organization_id, title, started_on, ended_on, current, ordinal)",
				"OWNER, 'pos_' || "+pad+", 'con_' || "+pad+", 'org_' || "+number+", 'Engineer', '', '', TRUE, 0", people)
			fill("groups (tenant_id, id, name, folded_name, description, cadence_days, version, created_at, updated_at)", "OWNER, 'grp_' || i, 'G ' || i, 'g ' || i, '', 0, 1, "+at+", "+at, 400)
			fill("group_connections (tenant_id, group_id, connection_id)", "OWNER, 'grp_' || "+number+", 'con_' || "+pad, people)
			fill("tags (tenant_id, id, name, folded_name)", "OWNER, 'tag_' || i, 'T ' || i, 't ' || i", 400)
			fill("connection_tags (tenant_id, connection_id, tag_id)", "OWNER, 'con_' || "+pad+", 'tag_' || "+number, people)
			fill("interactions (tenant_id, id, kind, occurred_at, summary, duration_minutes, external_key, created_at)",
				"OWNER, 'int_' || "+pad+", 'call', "+at+", '', 0, NULL, "+at, people)
			fill("interaction_connections (tenant_id, interaction_id, connection_id)", "OWNER, 'int_' || "+pad+", 'con_' || "+pad, people)
			if _, err := q.Exec("ANALYZE"); err != nil { //nolint:misspell // of tables that were just filled, PostgreSQL may think that they are empty
				b.Fatal(err)
			}
			data := s.Tenant(owner, true)
			ix := searchIndex(b, s, owner)
			for b.Loop() {
				stats, err := insights.GetStats(b.Context(), data, ix, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), time.UTC)
				if err != nil || stats.People != people || len(stats.Organizations) != 10 || len(stats.Closest) != 10 {
					b.Fatal(stats, err)
				}
			}
		})
	}
}
