package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sqliteMagic is how every SQLite database begins.
const sqliteMagic = "SQLite format 3\x00"

func backupSQLite(ctx context.Context, databaseURL, file string) (err error) {
	if _, err := os.Stat(sqlitePath(databaseURL)); err != nil {
		return fmt.Errorf("there is no database to back up: %w", err)
	}
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := createPrivate(file); err != nil { // VACUUM INTO accepts an empty file
		return err
	}
	if _, err := s.engine.admin.NewRaw("VACUUM INTO ?", file).Exec(ctx); err != nil {
		return fmt.Errorf("the database cannot be copied: %w", err)
	}
	return nil
}

func restoreSQLite(ctx context.Context, databaseURL, file string) error {
	path := sqlitePath(databaseURL)
	for _, taken := range []string{path, path + "-wal"} {
		if _, err := os.Lstat(taken); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already: stop kith and move it away first", taken)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot make the folder of the database: %w", err)
	}
	partial := path + ".partial"
	err := copyPrivate(partial, file)
	if err == nil {
		err = checkRestored(ctx, partial)
	}
	if err == nil {
		err = os.Rename(partial, path)
	}
	for _, left := range []string{partial, partial + "-wal", partial + "-shm", partial + ".lock"} {
		_ = os.Remove(left) // the error that caused this is returned
	}
	return err
}

func copyPrivate(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := createPrivate(to); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_TRUNC|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	_, copyErr := io.Copy(target, source)
	if err := errors.Join(copyErr, target.Sync(), target.Close()); err != nil {
		return fmt.Errorf("the database cannot be written: %w", err)
	}
	return nil
}

// checkRestored checks that a copy is complete, and of a version that this binary knows.
func checkRestored(ctx context.Context, path string) (err error) {
	s, err := connect(ctx, Config{URL: path, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var verdict string
	if err := s.engine.admin.NewRaw("PRAGMA integrity_check(1)").Scan(ctx, &verdict); err != nil || verdict != "ok" {
		return fmt.Errorf("the backup is damaged: %s %w", verdict, errors.Join(err))
	}
	if known, err := s.hasMigrations(ctx); err != nil || !known {
		return errors.Join(err, errors.New("the file is a SQLite database, but none of Kith"))
	}
	if err := s.checkSchema(ctx); err != nil && !errors.Is(err, ErrSchemaOlder) {
		return err
	}
	return nil
}
