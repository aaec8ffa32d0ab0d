package db

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/uptrace/bun"
)

// dumpMagic is how every archive of pg_dump begins.
const dumpMagic = "PGDMP"

func dumpPostgres(ctx context.Context, databaseURL, file string) error {
	if err := createPrivate(file); err != nil {
		return err
	}
	if err := runPostgres(ctx, databaseURL, "pg_dump", "--format=custom", "--no-owner", "--file="+file); err != nil {
		return err
	}
	list, err := exec.CommandContext(ctx, "pg_restore", "--list", file).Output()
	if err != nil || !bytes.Contains(list, []byte("TABLE DATA")) {
		return fmt.Errorf("the backup is of no use: pg_restore can't read it (%w)", cmp.Or(err, errors.New("it has no table")))
	}
	return nil
}

func restorePostgres(ctx context.Context, databaseURL, file string) (err error) {
	s, err := connect(ctx, Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var tables int
	err = s.engine.admin.NewRaw("SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()").Scan(ctx, &tables)
	if err != nil {
		return fmt.Errorf("look into the database: %w", err)
	}
	if tables > 0 {
		return fmt.Errorf("the database holds %d tables already: name an empty one", tables)
	}
	// Roles belong to the server, not to the database, so dumps don't contain them.
	for _, role := range []string{tenantRole, serviceRole} {
		_, err := s.engine.admin.ExecContext(ctx, "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '"+role+"') THEN CREATE ROLE "+role+
			" NOLOGIN; END IF; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
		if err != nil {
			return fmt.Errorf("make the role %s: %w", role, err)
		}
	}
	args := []string{"--exit-on-error", "--single-transaction", "--no-owner"}
	owner, err := otherOwner(ctx, s)
	if err != nil {
		return err
	}
	if owner != "" {
		args = append(args, "--role="+owner)
	}
	return runPostgres(ctx, databaseURL, "pg_restore", append(args, file)...)
}

// otherOwner returns the owner of the database if that is not the user of its URL, and gives them the roles that
// kith works as: backups need another user than the service, whose tables the restored ones must be. It returns
// an empty name for a database that the user owns.
func otherOwner(ctx context.Context, s *DB) (string, error) {
	var owner, user string
	err := s.engine.admin.NewRaw("SELECT pg_get_userbyid(datdba), current_user FROM pg_database WHERE datname = current_database()").Scan(ctx, &owner, &user)
	if err != nil {
		return "", fmt.Errorf("look up the owner of the database: %w", err)
	}
	if owner == user {
		return "", nil
	}
	if _, err := s.engine.admin.ExecContext(ctx, "GRANT ?, ? TO ?", bun.Ident(tenantRole), bun.Ident(serviceRole), bun.Ident(owner)); err != nil {
		return "", fmt.Errorf("give %s, the owner of the database, the roles of kith: %w", owner, err)
	}
	return owner, nil
}

// runPostgres runs one of PostgreSQL's programs on a database.
func runPostgres(ctx context.Context, databaseURL, program string, args ...string) error {
	address, password, err := splitPassword(databaseURL)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, append([]string{"--dbname=" + address}, args...)...)
	command.Env = os.Environ()
	if password != "" {
		command.Env = append(command.Env, "PGPASSWORD="+password)
	}
	var complaint bytes.Buffer
	command.Stderr = &complaint
	err = command.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed here: it comes with PostgreSQL's client programs", program)
	}
	if strings.Contains(complaint.String(), "row-level security") {
		return fmt.Errorf("%s may not read every row: row-level security holds for the owner of the tables too, so the user of the database URL must be "+
			"a superuser or have BYPASSRLS", program)
	}
	if err != nil {
		return fmt.Errorf("%s failed: %s", program, firstComplaint(complaint.String()))
	}
	return nil
}

// splitPassword removes the password from a database URL, where it follows the user's name
// or is in the query. Every user of the machine can read command lines, but only the owner
// of a process can read its environment.
func splitPassword(databaseURL string) (address, password string, err error) {
	tx, err := url.Parse(databaseURL)
	if err != nil {
		return "", "", errors.New("the database URL cannot be read")
	}
	query, err := url.ParseQuery(tx.RawQuery)
	if err != nil {
		return "", "", errors.New("the query of the database URL cannot be read")
	}
	if query.Has(poolMode) {
		return "", "", errors.New("the database URL leads to a connection pooler, which backups can't go through: give the address of PostgreSQL itself, " +
			"without pool_mode")
	}
	if query.Has("sslpassword") {
		return "", "", errors.New("the database URL has sslpassword, which PostgreSQL's programs take on the command line only: name an sslkey that needs none")
	}
	if beside, has := tx.User.Password(); has {
		password, tx.User = beside, url.User(tx.User.Username())
	}
	if query.Has("password") {
		password = query.Get("password")
		query.Del("password")
		tx.RawQuery = query.Encode()
	}
	return tx.String(), password, nil
}

// firstComplaint returns the first line of a program's output, without the program's name.
func firstComplaint(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if _, said, found := strings.Cut(line, "error: "); found {
		line = said
	}
	return line
}
