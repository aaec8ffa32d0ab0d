package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/uptrace/bun/migrate"
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

// migrator returns what applies migrations, and the migrations that the binary knows:
// one SQL file each, in the folder of the database engine. A file is a Go template
// whose data is migrationData. Files with the suffix .tx.up.sql run in a transaction.
func (s *DB) migrator() (*migrate.Migrator, *migrate.Migrations, error) {
	dir, err := fs.Sub(migrationFiles, "migrations/"+s.engine.name)
	if err != nil {
		return nil, nil, fmt.Errorf("find migrations: %w", err)
	}
	known := migrate.NewMigrations()
	if err := known.Discover(dir); err != nil {
		return nil, nil, fmt.Errorf("read migrations: %w", err)
	}
	options := []migrate.MigratorOption{migrate.WithMarkAppliedOnSuccess(true), migrate.WithTemplateData(migrationData{engine: s.engine.name})}
	return migrate.NewMigrator(s.engine.admin, known, options...), known, nil
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
	m, _, err := s.migrator()
	if err != nil {
		return 0, err
	}
	if err := m.Init(ctx); err != nil {
		return 0, fmt.Errorf("prepare migrations: %w", err)
	}
	if err := s.checkSchema(ctx); err != nil && !errors.Is(err, ErrSchemaOlder) {
		return 0, err
	}
	group, err := m.Migrate(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate the database: %w", err)
	}
	if s.engine.name == sqliteName {
		err = s.optimize(ctx)
	}
	return len(group.Migrations), err
}

// checkSchema returns nil if the database has exactly the migrations that the binary
// knows, and otherwise ErrSchemaNewer, ErrSchemaOlder or ErrSchemaOther.
func (s *DB) checkSchema(ctx context.Context) error {
	m, known, err := s.migrator()
	if err != nil {
		return err
	}
	exists, err := s.hasMigrations(ctx)
	if err != nil {
		return err
	}
	if !exists {
		return ErrSchemaOlder
	}
	applied, err := m.AppliedMigrations(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", Coded(err))
	}
	names := map[string]bool{}
	for _, migration := range known.Sorted() {
		names[migration.Name] = false
	}
	newer := false
	for _, migration := range applied {
		if _, ok := names[migration.Name]; !ok {
			newer = true
			continue
		}
		names[migration.Name] = true
	}
	older := slices.Contains(slices.Collect(maps.Values(names)), false)
	switch {
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

// hasMigrations reports whether the database was ever migrated.
func (s *DB) hasMigrations(ctx context.Context) (bool, error) {
	query := "SELECT count(*) FROM sqlite_master WHERE name = 'bun_migrations'"
	if s.engine.name == postgresName {
		query = "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('bun_migrations')"
	}
	var n int
	if err := s.engine.admin.NewRaw(query).Scan(ctx, &n); err != nil {
		return false, fmt.Errorf("read the schema's version: %w", Coded(err))
	}
	return n > 0, nil
}
