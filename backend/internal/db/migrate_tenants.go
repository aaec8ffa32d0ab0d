package db

import (
	"fmt"
	"strings"
	"text/template"
)

// tenantTable is a table whose rows each belong to one member, and how the database
// guards them.
type tenantTable struct {
	Name string
	// Owner is the column that holds the member's id.
	Owner string
	// Grants are the privileges of kith_tenant in PostgreSQL.
	Grants string
	// Refused are the writes that triggers refuse to a read-only tenant.
	Refused []string
}

// tenantTables returns the tenant tables by the migration that creates them. A
// migration that creates one adds a list under its own name here, and
// {{.Protect "its name"}} to its SQL.
func tenantTables() map[string][]tenantTable {
	return map[string][]tenantTable{
		"baseline": append(
			guarded("connections", "removed_connections", "photos", "handles", "duplicate_keys", "organizations", "positions", "important_dates", "relationships", "distinct_pairs",
				"groups", "group_connections", "tags", "connection_tags",
				"notes", "note_connections", "interactions", "interaction_connections",
				"saved_views", "reminders", "changes", "change_objects", "embeddings", "files", "source_keys", "jobs", "decisions"),
			tenantTable{Name: "tenant_states", Owner: tenantColumn, Grants: "SELECT, UPDATE (data_version, removed_version, jobs, embedded_version, notes, interactions, kept_bytes)"},
			tenantTable{Name: "members", Owner: "id", Grants: "SELECT (id, timezone, locale), UPDATE (timezone, locale, updated_at)"},
			tenantTable{Name: "profiles", Owner: "member_id", Grants: "SELECT, UPDATE"},
			tenantTable{Name: "idempotency_keys", Owner: tenantColumn, Grants: allWrites},
			// Every metered call updates a balance and inserts an entry, so these writes
			// have no trigger. They need none: a read-only tenant has no balance, since
			// the insert of one is refused, and an entry needs its balance.
			tenantTable{Name: "credit_balances", Owner: tenantColumn, Grants: allWrites, Refused: []string{"insert", "delete"}},
			// Written with a charge, so these writes need no trigger either.
			tenantTable{Name: "agent_reads", Owner: tenantColumn, Grants: "SELECT, INSERT, UPDATE"},
			tenantTable{Name: "credit_entries", Owner: tenantColumn, Grants: "SELECT, INSERT", Refused: []string{"update", "delete"}},
		),
	}
}

const (
	tenantColumn = "tenant_id"
	allWrites    = "SELECT, INSERT, UPDATE, DELETE"
)

// guarded returns tables that a tenant may write, unless the tenant is read-only.
func guarded(names ...string) []tenantTable {
	tables := make([]tenantTable, len(names))
	for i, name := range names {
		tables[i] = tenantTable{Name: name, Owner: tenantColumn, Grants: allWrites, Refused: []string{"insert", "update", "delete"}}
	}
	return tables
}

// migrationData is what the SQL of a migration can use as a Go template.
type migrationData struct{ engine string }

// Protect returns the statements that guard the tenant tables of a migration, from
// protect.sql: grants and row-level security in PostgreSQL, and in both databases the
// triggers that refuse writes to a read-only tenant.
func (d migrationData) Protect(migration string) (string, error) {
	tables, ok := tenantTables()[migration]
	if !ok {
		return "", fmt.Errorf("tenantTables lists none of the migration %s", migration)
	}
	protect, err := template.ParseFS(migrationFiles, "migrations/"+d.engine+"/protect.sql")
	if err != nil {
		return "", err
	}
	var statements strings.Builder
	err = protect.Execute(&statements, tables)
	return statements.String(), err
}
