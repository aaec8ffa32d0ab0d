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
)

// migration is one SQL file in the folder of the database engine. The file is a Go template
// whose data is migrationData.
type migration struct{ name, file string }

// migrations returns the migrations that the binary knows, in order. A file is named by the time of
// the migration and a word: 20261122000000_baseline.sql.
func (s *DB) migrations() ([]migration, error) {
	files, err := fs.Glob(migrationFiles, "migrations/"+s.engine.name+"/[0-9]*.sql") // sorted
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
	text, err := template.ParseFS(migrationFiles, m.file)
	if err != nil {
		return "", fmt.Errorf("read a migration: %w", err)
	}
	var b strings.Builder
	if err := text.Execute(&b, migrationData{engine: s.engine.name}); err != nil {
		return "", fmt.Errorf("read a migration: %w", err)
	}
	return b.String(), nil
}

// migrate applies the migrations that the database lacks and returns how many. One
// process at a time does so; others wait for the lock. SQLite's statistics are brought
// up to date before other connections read them.
func (s *DB) migrate(ctx context.Context) (applied int, err error) {
	unlock, err := s.engine.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	known, err := s.migrations()
	if err != nil {
		return 0, err
	}
	done, err := s.appliedMigrations(ctx)
	if err != nil {
		return 0, err
	}
	if err := compareSchema(known, done); err != nil && !errors.Is(err, ErrSchemaOlder) {
		return 0, err
	}
	for _, m := range known {
		if done[m.name] {
			continue
		}
		if err := s.apply(ctx, m); err != nil {
			return applied, fmt.Errorf("migrate the database: %w", err)
		}
		applied++
	}
	if s.engine.name == sqliteName {
		if err := s.engine.file.learnMarker(ctx, s.engine.admin); err != nil {
			return applied, err
		}
		err = s.optimize(ctx)
	}
	return applied, err
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
