package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// dumpMagic is how every archive of pg_dump begins.
const dumpMagic = "PGDMP"

func dumpPostgres(ctx context.Context, databaseURL, file string) error {
	if err := createPrivate(file); err != nil {
		return err
	}
	return runPostgres(ctx, databaseURL, "pg_dump", "--format=custom", "--no-owner", "--file="+file)
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
	// Roles are the server's, not the database's, so that no dump holds them.
	for _, role := range []string{tenantRole, serviceRole} {
		_, err := s.engine.admin.ExecContext(ctx, "DO $$ BEGIN CREATE ROLE "+role+
			" NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
		if err != nil {
			return fmt.Errorf("make the role %s: %w", role, err)
		}
	}
	return runPostgres(ctx, databaseURL, "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", file)
}

// runPostgres runs one of PostgreSQL's programs on a database. The password goes by
// the environment, since every user of the machine may read command lines.
func runPostgres(ctx context.Context, databaseURL, program string, args ...string) error {
	address, err := url.Parse(databaseURL)
	if err != nil {
		return errors.New("the database URL cannot be read")
	}
	command := exec.CommandContext(ctx, program)
	command.Env = os.Environ()
	if password, has := address.User.Password(); has {
		address.User = url.User(address.User.Username())
		command.Env = append(command.Env, "PGPASSWORD="+password)
	}
	command.Args = append(command.Args, append([]string{"--dbname=" + address.String()}, args...)...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	err = command.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed here: it comes with PostgreSQL's client programs", program)
	}
	if err != nil {
		return fmt.Errorf("%s failed: %s", program, firstComplaint(complaint.String()))
	}
	return nil
}

// firstComplaint is the first line of what a program wrote, without its name.
func firstComplaint(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if _, said, found := strings.Cut(line, "error: "); found {
		line = said
	}
	return line
}
