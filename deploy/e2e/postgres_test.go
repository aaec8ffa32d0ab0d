package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// postgresVariable holds the address of a PostgreSQL server, as a superuser.
const postgresVariable = "KITH_TEST_POSTGRES_URL"

// newPostgres makes an empty database that lives as long as the test, and returns
// its address.
func newPostgres(t *testing.T) string {
	t.Helper()
	return newPostgresFrom(t, "template0")
}

// newPostgresFrom makes it as a copy of another, to which nobody is connected.
func newPostgresFrom(t *testing.T, original string) string {
	t.Helper()
	server := os.Getenv(postgresVariable)
	if server == "" {
		t.Fatalf("%s is not set: `make test` starts a PostgreSQL for these tests, `go test -short` leaves them out", postgresVariable)
	}
	address, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is no address", postgresVariable)
	}
	name := "kith_e2e_" + strings.ToLower(rand.Text())
	execPostgres(t, server, "CREATE DATABASE "+name+" TEMPLATE "+original)
	t.Cleanup(func() { execPostgres(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	address.Path = "/" + name
	if _, has := address.User.Password(); !has {
		// A server that trusts this machine does not ask for it. It is here to be
		// looked for in what the service prints.
		address.User = url.UserPassword(address.User.Username(), rand.Text())
	}
	password, _ := address.User.Password()
	secrets.keep("database password", password)
	return address.String()
}

func execPostgres(t *testing.T, address, statement string) {
	t.Helper()
	// Not the test's context: cleanups run after its end.
	if err := tellPostgres(address, statement); err != nil {
		t.Error(err)
	}
}

func tellPostgres(address, statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("PostgreSQL cannot be reached: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
