package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver, registered as "pgx"
	_ "modernc.org/sqlite"             // the driver, registered as "sqlite"
)

// database is a database of one service.
type database struct {
	name, url string
	id, admin string // of PostgreSQL: the name of the database, and the server's address
	server    int    // the server's process, once known
	db        *sql.DB
}

func (b *bench) create(ctx context.Context, engine, name string) (*database, error) {
	if engine == sqlite {
		folder := filepath.Join(b.work, name) // of its own, because Kith keeps its secret key beside the database
		return &database{name: name, url: filepath.Join(folder, "kith.db")}, os.MkdirAll(folder, 0o700)
	}
	u, err := url.Parse(b.postgres)
	if err != nil {
		return nil, errors.New("parse the PostgreSQL address")
	}
	id := fmt.Sprintf("kith_%s_%d", strings.ReplaceAll(name, "-", "_"), os.Getpid())
	u.Path = "/" + id
	d := &database{name: name, url: u.String(), id: id, admin: b.postgres}
	return d, d.execute(ctx, "CREATE DATABASE "+id)
}

// execute executes a statement about the database in the server's own one.
func (d *database) execute(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", d.admin)
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
	if d.db, err = sql.Open("sqlite", "file:"+d.url+"?_pragma=busy_timeout(10000)"); err == nil {
		d.db.SetMaxOpenConns(1) // so that BEGIN and COMMIT are on the same connection
	}
	return err
}

// settle updates the statistics of PostgreSQL, as autovacuum would later.
func (d *database) settle(ctx context.Context) error {
	if d.admin == "" {
		return nil
	}
	return d.exec(ctx, "VACUUM ANALYZE") //nolint:misspell // as SQL spells
}

// used returns the processor time of all processes of the database server so far, so the
// server must do nothing else; 0 for SQLite, which runs in the service.
func (d *database) used() (time.Duration, error) {
	if d.admin == "" {
		return 0, nil
	}
	if d.server == 0 {
		var backend int
		if err := d.db.QueryRow("SELECT pg_backend_pid()").Scan(&backend); err != nil {
			return 0, err
		}
		found, err := readStat(backend)
		if err != nil {
			return 0, err
		}
		d.server = found.PPID
	}
	return childrenTime(d.server)
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

// exec executes statements one after the other.
func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.200s: %w", statement, err)
		}
	}
	return nil
}

// insert inserts rows, 500 in each statement.
func (d *database) insert(ctx context.Context, into string, values []string) error {
	var statements []string
	for rows := range slices.Chunk(values, 500) {
		statements = append(statements, "INSERT INTO "+into+" VALUES "+strings.Join(rows, ",\n"))
	}
	if d.admin == "" {
		// SQLite writes its file at each commit.
		statements = append(append([]string{"BEGIN"}, statements...), "COMMIT")
	}
	return d.exec(ctx, statements...)
}

// drop deletes the database.
func (d *database) drop() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	if d.admin != "" {
		return errors.Join(err, d.execute(context.Background(), "DROP DATABASE "+d.id+" WITH (FORCE)"))
	}
	return errors.Join(err, os.RemoveAll(filepath.Dir(d.url)))
}
