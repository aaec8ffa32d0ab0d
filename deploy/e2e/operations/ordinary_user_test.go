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
// cannot run backups: the command gives the reason and leaves no file. What a superuser restores belongs to
// the owner of the database, so that the ordinary user can serve it.
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
	second := harness.NewPostgres(t)
	t.Cleanup(func() {
		for _, d := range []string{database, second} {
			harness.ExecPostgres(t, d, "DROP OWNED BY "+user+" CASCADE")
			harness.ExecPostgres(t, d, "REASSIGN OWNED BY "+user+" TO CURRENT_USER")
		}
		harness.ExecPostgres(t, server, "DROP ROLE "+user)
	})
	harness.ExecPostgres(t, server, "GRANT kith_tenant, kith_service TO "+user)
	owned := func(database string) string { // the address for the ordinary user, who owns the database
		address, err := url.Parse(database)
		if err != nil {
			t.Fatal(err)
		}
		harness.ExecPostgres(t, server, "ALTER DATABASE "+strings.TrimPrefix(address.Path, "/")+" OWNER TO "+user)
		address.User = url.UserPassword(user, password)
		return address.String()
	}

	s := harness.NewService(t, harness.SQLite)
	s.DatabaseURL = owned(database)
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

	// A superuser writes the backup and restores it into another database of the ordinary user, who serves it.
	with := func(database string) []string {
		return harness.Environment(map[string]string{"KITH_DATABASE_URL": database})
	}
	restored := harness.NewService(t, harness.SQLite)
	restored.DatabaseURL = owned(second)
	for _, step := range []struct {
		database string
		args     []string
	}{{database, []string{"backup", file}}, {second, []string{"restore", file}}} {
		if done := harness.RunKith(t, with(step.database), "", step.args...); done.Code != 0 {
			t.Fatalf("kith %v: %s", step.args, done.Stderr)
		}
	}
	restored.Start()
	if got := restored.Operate(t, "", "member", "list"); !strings.Contains(got, "ada") {
		t.Errorf("the members are %s", got)
	}
	harness.Secrets.Keep("personal token", restored.Operate(t, "", "token", "create", "ada", "--name", "x"))
}
