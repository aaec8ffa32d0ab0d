package db

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/uptrace/bun"
)

//go:embed migrations
var migrationFiles embed.FS

// Open and Migrate return these errors when the database's schema is not the binary's.
var (
	// ErrSchemaNewer: the database has all migrations that the binary knows, and more.
	ErrSchemaNewer = errors.New("the database was written by a newer kith: start that version, or a newer one " +
		"(KITH_ACCEPT_NEWER_SCHEMA=true goes back to the version before)")
	// ErrSchemaOther: the database has migrations that the binary doesn't know, and lacks
	// some that it needs.
	ErrSchemaOther = errors.New("the database was written by a newer kith and lacks what this one needs: start that version, or a newer one")
	// ErrSchemaOlder: the database lacks migrations.
	ErrSchemaOlder = errors.New("the database needs an upgrade: run `kith migrate` first")
	// ErrSchemaForeign: Kith never migrated the database, and it has tables.
	ErrSchemaForeign = errors.New("the database has tables of another program: give Kith an empty one of its own (CREATE DATABASE kith OWNER kith)")
)

// migration is one SQL file in the folder of the database engine. The file is a Go template
// whose data is migrationData.
type migration struct{ name, file string }

// files has the folder "migrations".
func (s *DB) files() fs.FS {
	if s.further != nil {
		return s.further
	}
	return migrationFiles
}

// migrations returns the migrations that the binary knows, in order. A file is named by the time of
// the migration and a word: 20261122000000_baseline.sql.
func (s *DB) migrations() ([]migration, error) {
	files, err := fs.Glob(s.files(), "migrations/"+s.engine.name+"/[0-9]*.sql") // sorted
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find migrations: %w", cmp.Or(err, fs.ErrNotExist))
	}
	known := make([]migration, len(files))
	for i, file := range files {
		name, _, _ := strings.Cut(path.Base(file), "_")
		known[i] = migration{name: name, file: file}
	}
	return known, nil
}

// statements returns the SQL of a migration.
func (s *DB) statements(m migration) (string, error) {
	text, err := template.ParseFS(s.files(), m.file)
	if err != nil {
		return "", fmt.Errorf("read a migration: %w", err)
	}
	var b strings.Builder
	if err := text.Execute(&b, migrationData{engine: s.engine.name}); err != nil {
		return "", fmt.Errorf("read a migration: %w", err)
	}
	return b.String(), nil
}

// migrate applies the migrations that the database lacks, each in a transaction of its own: if the process is
// killed, the next start continues with the first one that is missing. One process migrates at a time; others wait for the lock. SQLite's
// statistics are brought up to date before other connections read them.
func (s *DB) migrate(ctx context.Context) (result Migrated, err error) {
	unlock, err := s.engine.lock(ctx)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	known, err := s.migrations()
	if err != nil {
		return result, err
	}
	done, err := s.appliedMigrations(ctx)
	if err != nil {
		return result, err
	}
	if err := compareSchema(known, done); err != nil && !errors.Is(err, ErrSchemaOlder) {
		return result, err
	}
	if len(done) == 0 {
		if err := s.refuseForeign(ctx); err != nil {
			return result, err
		}
	}
	for _, m := range known {
		if done[m.name] {
			continue
		}
		if len(done) > 0 && result.Applied == 0 && s.backUpBefore && s.engine.name == sqliteName {
			if result.Backup, err = s.keepBefore(ctx, m); err != nil {
				return result, err
			}
		}
		if err := s.apply(ctx, m); err != nil {
			return result, fmt.Errorf("migrate the database: %w", err)
		}
		result.Applied++
	}
	if s.engine.name == sqliteName {
		if err := s.engine.file.learnMarker(ctx, s.engine.admin); err != nil {
			return result, err
		}
		err = s.optimize(ctx)
	}
	return result, err
}

// refuseForeign returns ErrSchemaForeign if a database that was never migrated has tables, other than those of
// PostgreSQL's extensions. SQLite files of other programs are refused when they are opened.
func (s *DB) refuseForeign(ctx context.Context) error {
	if s.engine.name != postgresName {
		return nil
	}
	var n int
	if err := s.engine.admin.NewRaw(`SELECT count(*) FROM pg_catalog.pg_class AS t
WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') AND t.relname <> 'schema_migrations'
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = t.oid AND deptype = 'e')`).Scan(ctx, &n); err != nil {
		return fmt.Errorf("read the tables of the database: %w", Coded(err))
	}
	if n > 0 {
		return ErrSchemaForeign
	}
	return nil
}

// migrationsTable returns the statement that makes the table of applied migrations.
func migrationsTable(engine string) string {
	if engine == postgresName {
		return `CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT COLLATE "C" PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)`
	}
	return "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TIMESTAMP NOT NULL)"
}

// apply runs a migration and records it, in one transaction: a process that is killed in between
// leaves neither.
func (s *DB) apply(ctx context.Context, m migration) error {
	statements, err := s.statements(m)
	if err != nil {
		return err
	}
	return s.inTx(ctx, s.engine.admin, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, text := range []string{migrationsTable(s.engine.name), statements} {
			if _, err := tx.Tx.ExecContext(ctx, text); err != nil { // not bun's: its question marks are arguments
				return err
			}
		}
		if s.engine.name == sqliteName && s.engine.file.marker.Load() == 0 {
			if err := setMarker(ctx, tx); err != nil {
				return err
			}
		}
		_, err := tx.NewRaw("INSERT INTO schema_migrations (name, applied_at) VALUES (?, ?)", m.name, s.Now()).Exec(ctx)
		return err
	})
}

// checkSchema returns nil if the database has exactly the migrations that the binary
// knows, and otherwise ErrSchemaNewer, ErrSchemaOlder or ErrSchemaOther.
func (s *DB) checkSchema(ctx context.Context) error {
	known, err := s.migrations()
	if err != nil {
		return err
	}
	done, err := s.appliedMigrations(ctx)
	if err != nil {
		return err
	}
	return compareSchema(known, done)
}

func compareSchema(known []migration, done map[string]bool) error {
	unknown, older := maps.Clone(done), false
	for _, m := range known {
		older = older || !done[m.name]
		delete(unknown, m.name)
	}
	switch newer := len(unknown) > 0; {
	case newer && older:
		return ErrSchemaOther
	case newer:
		return ErrSchemaNewer
	case older:
		return ErrSchemaOlder
	default:
		return nil
	}
}

// appliedMigrations returns the names of the migrations that the database has.
func (s *DB) appliedMigrations(ctx context.Context) (map[string]bool, error) {
	exists, err := s.hasMigrations(ctx)
	if err != nil || !exists {
		return nil, err
	}
	var names []string
	if err := s.engine.admin.NewRaw("SELECT name FROM schema_migrations").Scan(ctx, &names); err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", Coded(err))
	}
	done := make(map[string]bool, len(names))
	for _, name := range names {
		done[name] = true
	}
	return done, nil
}

// hasMigrations reports whether the database was ever migrated.
func (s *DB) hasMigrations(ctx context.Context) (bool, error) {
	query := "SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'"
	if s.engine.name == postgresName {
		query = "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('schema_migrations')"
	}
	var n int
	if err := s.engine.admin.NewRaw(query).Scan(ctx, &n); err != nil {
		return false, fmt.Errorf("read the schema's version: %w", Coded(err))
	}
	return n > 0, nil
}

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
			guarded("connections", "removed_connections", "cards", "proposals", "photos", "handles", "duplicate_keys", "organizations", "positions", "important_dates", "relationships", "distinct_pairs",
				"groups", "group_connections", "tags", "connection_tags", "custom_fields",
				"notes", "note_connections", "interactions", "interaction_connections", "entry_numbers", "entry_words", "entry_blocks",
				"sources", "source_meetings", "source_people", "source_cards", "saved_views", "digests", "reminders", "reminder_connections", "changes", "change_objects", "embeddings", "files", "source_keys", "jobs", "decisions"),
			tenantTable{Name: "tenant_states", Owner: tenantColumn, Grants: "SELECT, UPDATE (data_version, removed_version, jobs, embedded_version, notes, interactions, kept_bytes)"},
			tenantTable{Name: "members", Owner: "id", Grants: "SELECT (id, timezone, locale), UPDATE (timezone, locale, updated_at)"},
			// A device can be removed from a read-only tenant too.
			tenantTable{Name: "device_cards", Owner: tenantColumn, Grants: allWrites, Refused: []string{"insert", "update"}},
			tenantTable{Name: "device_groups", Owner: tenantColumn, Grants: allWrites, Refused: []string{"insert", "update"}},
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

// ColumnKind is what a column holds. It is the same in both databases, whose names for it differ.
type ColumnKind string

// The kinds of columns.
const (
	TextColumn   ColumnKind = "text"
	NumberColumn ColumnKind = "number" // 64 bits, signed
	FlagColumn   ColumnKind = "flag"   // true or false
	TimeColumn   ColumnKind = "time"
	BytesColumn  ColumnKind = "bytes"
)

// columnKinds returns the kinds by the types that the schemas use.
func columnKinds() map[string]ColumnKind {
	return map[string]ColumnKind{
		"TEXT": TextColumn, "INTEGER": NumberColumn, "BIGINT": NumberColumn, "BOOLEAN": FlagColumn, "TIMESTAMP": TimeColumn, "BLOB": BytesColumn,
		"text": TextColumn, "integer": NumberColumn, "bigint": NumberColumn, "boolean": FlagColumn, "timestamp with time zone": TimeColumn, "bytea": BytesColumn,
	}
}

// Table is a table of the database.
type Table struct {
	Name string
	// Columns are in the order of the table.
	Columns []Column
}

// Column is a column of a table.
type Column struct {
	Name string
	Kind ColumnKind
	// Key is the position in the primary key, from 1; 0 if the column is not part of it.
	Key int
}

// Key returns the columns of the primary key, in its order.
func (t Table) Key() []string {
	columns := slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.Key == 0 })
	slices.SortFunc(columns, func(a, b Column) int { return a.Key - b.Key })
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// Has reports whether the table has a column.
func (t Table) Has(column string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == column })
}

const (
	sqliteCatalogue = `SELECT l.name AS table_name, c.name AS column_name, c.type AS column_type, c.pk AS key_position
FROM pragma_table_list AS l JOIN pragma_table_info(l.name) AS c
WHERE l.schema = 'main' AND l.type = 'table' AND l.name NOT LIKE 'sqlite_%' ORDER BY l.name, c.cid`

	// The positions of an index's columns count from 0.
	postgresCatalogue = `SELECT t.relname AS table_name, c.attname AS column_name, format_type(c.atttypid, NULL) AS column_type,
    coalesce(array_position(i.indkey::int2[], c.attnum) + 1, 0) AS key_position
FROM pg_catalog.pg_class AS t JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.oid
    LEFT JOIN pg_catalog.pg_index AS i ON i.indrelid = t.oid AND i.indisprimary
WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition AND c.attnum > 0 AND NOT c.attisdropped
ORDER BY t.relname COLLATE "C", c.attnum`
)

// Catalogue returns the tables of the database by name, as the database itself lists them, without
// the tables of SQLite's full-text index.
func Catalogue(ctx context.Context, q Querier) (map[string]Table, error) {
	var rows []struct {
		TableName, ColumnName, ColumnType string
		KeyPosition                       int
	}
	query := sqliteCatalogue
	if isPostgres(q) {
		query = postgresCatalogue
	}
	if err := q.NewRaw(query).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read the catalogue of the database: %w", err)
	}
	kinds, tables := columnKinds(), map[string]Table{}
	for _, row := range rows {
		t := tables[row.TableName]
		t.Name = row.TableName
		t.Columns = append(t.Columns, Column{Name: row.ColumnName, Kind: kinds[row.ColumnType], Key: row.KeyPosition})
		tables[row.TableName] = t
	}
	return tables, nil
}

// SchemaVersion returns the name of the last migration that the binary knows; later ones have
// greater names. An open database has it, or a later one (Config.AcceptNewer).
func (s *DB) SchemaVersion() (string, error) {
	known, err := s.migrations()
	if err != nil {
		return "", err
	}
	return known[len(known)-1].name, nil
}
