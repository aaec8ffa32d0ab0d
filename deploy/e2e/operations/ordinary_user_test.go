// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestOrdinaryDatabaseUser

package operations

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestOrdinaryDatabaseUser: Kith migrates and serves as a database user that is not a
// superuser and cannot create roles, like the one of deploy/compose/postgres. Such a user
// cannot run backups: the command gives the reason and leaves no file.
func TestOrdinaryDatabaseUser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	database, server := harness.NewPostgres(t), os.Getenv(harness.PostgresVariable)
	user := "kith_ordinary_" + strings.ToLower(rand.Text())
	password := harness.Secrets.Keep("database password", rand.Text())
	// Roles belong to the server; the first migration of any database created these two.
	for _, role := range []string{"kith_tenant", "kith_service"} {
		harness.ExecPostgres(t, server, "DO $$ BEGIN CREATE ROLE "+role+" NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
	}
	harness.ExecPostgres(t, server, "CREATE ROLE "+user+" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '"+password+"'")
	t.Cleanup(func() {
		harness.ExecPostgres(t, database, "DROP OWNED BY "+user+" CASCADE")
		harness.ExecPostgres(t, database, "REASSIGN OWNED BY "+user+" TO CURRENT_USER")
		harness.ExecPostgres(t, server, "DROP ROLE "+user)
	})
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	harness.ExecPostgres(t, server, "GRANT kith_tenant, kith_service TO "+user)
	harness.ExecPostgres(t, server, "ALTER DATABASE "+strings.TrimPrefix(address.Path, "/")+" OWNER TO "+user)
	address.User = url.UserPassword(user, password)

	s := harness.NewService(t, harness.SQLite)
	s.DatabaseURL = address.String()
	s.Start()
	if got := s.Send(t, http.MethodGet, "/api/human/"+harness.Demo, ""); got.Status != http.StatusOK {
		t.Errorf("the seeded account is answered %d %s", got.Status, got.Body)
	}
	s.Operate(t, "a password of some length\n", "member", "create", "ada", "--email=ada@example.com", "--password-stdin")
	file := t.TempDir() + "/backup"
	done := harness.RunKith(t, harness.Environment(s.Database()), "", "backup", file)
	if _, err := os.Stat(file); done.Code == 0 || err == nil || !strings.Contains(done.Stderr, "BYPASSRLS") {
		t.Errorf("exit code %d: %s", done.Code, done.Stderr)
	}
}
