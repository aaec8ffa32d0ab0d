package db_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// TestSchemasAgree: both databases have the same tables, columns and indexes, except the full-text
// index of the directory. That is a virtual table in SQLite, with the numbers of profiles as row
// ids, and two indexes in PostgreSQL.
func TestSchemasAgree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	lite, postgres := dbtest.OpenSQL(t, dbtest.SQLite(t)), dbtest.OpenSQL(t, dbtest.Postgres(t))
	for what, queries := range map[string][2]string{
		"columns": {
			`SELECT m.name || '.' || c.name || iif(c."notnull" OR c.pk > 0, ' NOT NULL', '') FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'
AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'directory_words%' AND m.name || '.' || c.name <> 'profiles.number'`,
			`SELECT table_name || '.' || column_name || CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END FROM information_schema.columns
WHERE table_schema = 'public'`,
		},
		"indexes": {
			`SELECT tbl_name || '.' || i.name || iif(i."unique", ' UNIQUE', '') || iif(i.partial, ' WHERE', '') FROM sqlite_schema m JOIN pragma_index_list(m.tbl_name) i ON i.name = m.name
WHERE m.type = 'index' AND i.origin = 'c'`,
			`SELECT tablename || '.' || indexname || CASE WHEN indexdef LIKE '% UNIQUE %' THEN ' UNIQUE' ELSE '' END || CASE WHEN indexdef LIKE '% WHERE %' THEN ' WHERE' ELSE '' END
FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%\_key' AND indexname NOT LIKE '%\_pkey' AND indexdef NOT LIKE '%USING gin%'`,
		},
		"references": {
			`SELECT m.name || ' ' || group_concat(f."from", ',' ORDER BY f.seq) || ' ' || f."table" || ' ' || f.on_delete FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f
WHERE m.type = 'table' GROUP BY m.name, f.id, f."table", f.on_delete`,
			`SELECT c.conrelid::regclass || ' ' || string_agg(a.attname, ',' ORDER BY k.place) || ' ' || c.confrelid::regclass || ' '
|| CASE c.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'NO ACTION' END
FROM pg_constraint c CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS k (number, place) JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
WHERE c.contype = 'f' GROUP BY c.oid, c.conrelid, c.confrelid, c.confdeltype`,
		},
		"unique keys": {
			`SELECT m.name || ' ' || (SELECT group_concat(x.name, ',' ORDER BY x.seqno) FROM pragma_index_info(i.name) x) FROM sqlite_schema m JOIN pragma_index_list(m.name) i
WHERE m.type = 'table' AND m.name <> 'profiles' AND i.origin = 'u'`,
			`SELECT c.conrelid::regclass || ' ' || string_agg(a.attname, ',' ORDER BY k.place) FROM pg_constraint c CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS k (number, place)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number WHERE c.contype = 'u' AND c.connamespace = 'public'::regnamespace GROUP BY c.oid, c.conrelid`,
		},
	} {
		found := texts(t, postgres, queries[1])
		if len(found) < 5 {
			t.Errorf("%s: only %v", what, found)
		}
		if diff := cmp.Diff(found, texts(t, lite, queries[0])); diff != "" {
			t.Errorf("%s (-PostgreSQL +SQLite):\n%s", what, diff)
		}
	}
}

// TestTenantTablesAreGuarded: every table with rows of one member has row-level
// security in PostgreSQL, and triggers for each kind of write in both databases, except
// for those named here.
func TestTenantTablesAreGuarded(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		dbtest.Open(t, url, time.Now)
		conn := dbtest.OpenSQL(t, url)
		exceptions := map[string]bool{
			"credit_balances": true, "credit_entries": true, "agent_reads": true, // some writes, see tenantTables
			"device_cards":     true, // a device can be removed from a read-only tenant, too
			"device_groups":    true,
			"idempotency_keys": true, // a read-only tenant's calls can be repeated, too
			"security_events":  true, // only kith_service reaches it
			"tenant_states":    true, // has the flag itself
		}
		unguarded := `SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c ON c.name = 'tenant_id' WHERE m.type = 'table'
AND (SELECT count(*) FROM sqlite_schema r WHERE r.type = 'trigger' AND r.tbl_name = m.name AND r.sql LIKE '%tenant is read-only%') < 3`
		if db.IsPostgres(url) {
			// 31: a BEFORE trigger for each row, on INSERT, UPDATE and DELETE.
			unguarded = `SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' WHERE c.relkind = 'r'
AND NOT EXISTS (SELECT FROM pg_trigger r JOIN pg_proc f ON f.oid = r.tgfoid WHERE r.tgrelid = c.oid AND f.proname = 'kith_refuse_read_only' AND r.tgtype = 31)`
			open := texts(t, conn, `SELECT c.relname FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND has_any_column_privilege('kith_tenant', c.oid, 'SELECT') AND NOT (c.relrowsecurity AND c.relforcerowsecurity
AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant'))`)
			if len(open) > 0 {
				t.Errorf("kith_tenant can read without row-level security: %v", open)
			}
		}
		found := texts(t, conn, unguarded)
		for table := range found {
			if !exceptions[table] {
				t.Errorf("%s lacks a trigger that refuses writes to a read-only tenant", table)
			}
		}
		if len(found) != len(exceptions) {
			t.Errorf("tables without all triggers: %v", found)
		}
	})
}

// texts returns the only column of a query as a set.
func texts(t *testing.T, conn *sql.DB, query string) map[string]bool {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := map[string]bool{}
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		found[s] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
