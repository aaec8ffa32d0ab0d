package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver, registered as "pgx"
	_ "modernc.org/sqlite"             // the driver, registered as "sqlite"
)

// database is a database of one service.
type database struct {
	name, url string
	admin     string // the server's address, of PostgreSQL
	server    int    // the server's process, once known
	db        *sql.DB
}

func (b *bench) create(ctx context.Context, engine, name string) (*database, error) {
	if engine == sqlite {
		return &database{name: name, url: filepath.Join(b.work, name+".db")}, nil
	}
	u, err := url.Parse(b.postgres)
	if err != nil {
		return nil, errors.New("parse the PostgreSQL address")
	}
	id := fmt.Sprintf("kith_%s_%d", strings.ReplaceAll(name, "-", "_"), os.Getpid())
	if err := execute(ctx, b.postgres, "CREATE DATABASE "+id); err != nil {
		return nil, err
	}
	u.Path = "/" + id
	return &database{name: name, url: u.String(), admin: b.postgres}, nil
}

func execute(ctx context.Context, address, statement string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// open opens a connection of the benchmark's own.
func (d *database) open() (err error) {
	if d.admin != "" {
		// Without triggers, which would run for each inserted row.
		u, err := url.Parse(d.url)
		if err != nil {
			return err
		}
		query := u.Query()
		query.Set("session_replication_role", "replica")
		u.RawQuery = query.Encode()
		d.db, err = sql.Open("pgx", u.String())
		return err
	}
	d.db, err = sql.Open("sqlite", "file:"+d.url+"?_pragma=busy_timeout(10000)")
	return err
}

// settle updates the statistics of PostgreSQL, as autovacuum would later.
func (d *database) settle(ctx context.Context) error {
	if d.admin == "" {
		return nil
	}
	_, err := d.db.ExecContext(ctx, "VACUUM ANALYZE") //nolint:misspell // as SQL spells
	return err
}

// used returns the processor time of all processes of the database server so far, so the
// server must do nothing else; 0 for SQLite, which runs in the service.
func (d *database) used(ctx context.Context) (time.Duration, error) {
	if d.admin == "" {
		return 0, nil
	}
	if d.server == 0 {
		var backend int
		if err := d.db.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
			return 0, err
		}
		parent, _, err := parse(backend)
		if err != nil {
			return 0, err
		}
		d.server = parent
	}
	_, ended, err := parse(d.server)
	if err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", d.server, d.server))
	for child := range strings.FieldsSeq(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			if used, err := cpuTime(pid); err == nil { // otherwise it has ended
				ended += used
			}
		}
	}
	return ended, err
}

// rowsRead returns the number of rows that PostgreSQL has read for statements of the service
// so far, by indexes or not. It ends the service's connections, because each reports its
// reads only from time to time, and when it ends.
func (d *database) rowsRead(ctx context.Context) (rows int64, err error) {
	for others := 1; others > 0; pause(ctx, 5*time.Millisecond) {
		if err := d.db.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'kith' AND backend_type = 'client backend'`).Scan(&others); err != nil {
			return 0, err
		}
	}
	err = d.db.QueryRowContext(ctx, "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_user_tables").Scan(&rows)
	return rows, err
}

// drop deletes the database.
func (d *database) drop() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	if d.admin != "" {
		_, id, _ := strings.Cut(strings.TrimPrefix(d.url, "postgres://"), "/")
		id, _, _ = strings.Cut(id, "?")
		return errors.Join(err, execute(context.Background(), d.admin, "DROP DATABASE "+id+" WITH (FORCE)"))
	}
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		if removeErr := os.Remove(d.url + end); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}
