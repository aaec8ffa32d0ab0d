package e2e

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
)

// TestOrdinaryDatabaseUser: Kith migrates and serves as a user who is no superuser and
// makes no roles, as deploy/compose/postgres sets one up. Such a user cannot back up:
// the command says why, and leaves no file.
func TestOrdinaryDatabaseUser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	database, server := newPostgres(t), os.Getenv(postgresVariable)
	user := "kith_ordinary_" + strings.ToLower(rand.Text())
	password := secrets.keep("database password", rand.Text())
	// Roles are the server's; the first database that was migrated made these two.
	for _, role := range []string{"kith_tenant", "kith_service"} {
		execPostgres(t, server, "DO $$ BEGIN CREATE ROLE "+role+" NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
	}
	execPostgres(t, server, "CREATE ROLE "+user+" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '"+password+"'")
	t.Cleanup(func() {
		execPostgres(t, database, "DROP OWNED BY "+user+" CASCADE")
		execPostgres(t, database, "REASSIGN OWNED BY "+user+" TO CURRENT_USER")
		execPostgres(t, server, "DROP ROLE "+user)
	})
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	execPostgres(t, server, "GRANT kith_tenant, kith_service TO "+user)
	execPostgres(t, server, "ALTER DATABASE "+strings.TrimPrefix(address.Path, "/")+" OWNER TO "+user)
	address.User = url.UserPassword(user, password)

	s := newService(t, onSQLite)
	s.databaseURL = address.String()
	s.start()
	if got := s.send(t, http.MethodGet, "/api/human/"+demo, ""); got.status != http.StatusOK {
		t.Errorf("the seeded account is answered %d %s", got.status, got.body)
	}
	s.operate(t, "a password of some length\n", "member", "create", "ada", "--email=ada@example.com", "--password-stdin")
	file := t.TempDir() + "/backup"
	done := kith(t, environment(s.database()), "", "backup", file)
	if _, err := os.Stat(file); done.code == 0 || err == nil || !strings.Contains(done.stderr, "BYPASSRLS") {
		t.Errorf("exit code %d: %s", done.code, done.stderr)
	}
}
