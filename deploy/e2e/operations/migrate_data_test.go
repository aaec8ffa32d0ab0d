// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestMigrateData

package operations

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestMigrateData: an installation moves from SQLite to PostgreSQL and back. Tokens, agents,
// sessions and passwords go on working.
func TestMigrateData(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	s := harness.NewService(t, harness.SQLite)
	s.Start()
	person := s.NewPerson(t)
	token := (&harness.Member{Service: s, Username: person["MEMBER_USERNAME"]}).Token(t)
	agent := s.Agent(harness.PathCurrent, token.Bearer)
	for i := range 20 {
		id := agent.Create(t, harness.Arguments{"name": fmt.Sprintf("Moved Person %c", 'A'+i), "emails": []string{fmt.Sprintf("moved%d@people.example", i)}})
		agent.Call(t, "add_note", harness.Arguments{"connection_ids": []string{id}, "body": "Ünïcode \u2028 'quoted' \"twice\"\n, \\ and 100 %."})
	}
	grant := s.NewGrant(t, person, "connections")
	session := signedIn(t, s, person)

	postgres, password := withoutPassword(t, harness.NewPostgres(t))
	env := harness.Environment(map[string]string{"PGPASSWORD": password})
	from, to := "sqlite:"+s.DatabaseURL, postgres.String()
	harness.CheckOneSentence(t, harness.RunKith(t, env, "", "migrate-data", from, to), "in use", "stop")
	s.Edge.Stop()
	for _, way := range []harness.Topology{harness.Postgres, harness.SQLite} {
		done := harness.RunKith(t, env, "", "migrate-data", from, to)
		if lines := strings.Split(strings.TrimSpace(done.Stdout), "\n"); done.Code != 0 || len(lines) < 40 || !strings.Contains(lines[len(lines)-1], "KITH_SECRET_KEY_FILE") {
			t.Fatalf("exit code %d: %s%s", done.Code, done.Stdout, done.Stderr)
		}
		again := harness.RunKith(t, env, "", "migrate-data", from, to)
		if again.Code == 0 || !strings.Contains(again.Stderr, "the target is not empty") {
			t.Errorf("a second time: exit code %d: %s", again.Code, again.Stderr)
		}
		moved := harness.NewService(t, way)
		moved.Addr, moved.Base = s.Addr, s.Base // clients compare the issuer
		moved.DatabaseURL = strings.TrimPrefix(to, "sqlite:")
		moved.Start()
		agent.Service = moved
		if found := agent.Find(t, "moved12@people.example"); len(found) != 1 {
			t.Errorf("the moved service finds %v", found)
		}
		grant.Refresh(t, "")
		if found := grant.Agent().Find(t, "moved7@people.example"); len(found) != 1 {
			t.Errorf("the agent finds %v", found)
		}
		agent.Create(t, harness.Arguments{"name": "New Person in " + way.Name})
		if page := session.Send(t, "/people", nil); page.Status != http.StatusOK || !strings.Contains(page.Body, "Moved Person A") {
			t.Errorf("the session gets %d from %s", page.Status, page.Header.Get("Location"))
		}
		signedIn(t, moved, person)
		moved.Edge.Stop()
		from, to = to, "sqlite:"+filepath.Join(t.TempDir(), "back", "kith.db")
	}
}

// signedIn returns a browser in which the person is signed in.
func signedIn(t *testing.T, s *harness.Service, person map[string]string) *harness.Session {
	t.Helper()
	v := s.NewSession(t)
	values := harness.Form(v.Send(t, "/sign-in", nil))
	values.Set("login", person["MEMBER_USERNAME"])
	values.Set("password", person["MEMBER_PASSWORD"])
	v.Send(t, "/sign-in", values)
	if page := v.Send(t, "/people", nil); page.Status != http.StatusOK {
		t.Fatalf("after the sign-in: %d %s", page.Status, page.Header.Get("Location"))
	}
	return v
}

// withoutPassword takes the password out of a database's address.
func withoutPassword(t *testing.T, address string) (*url.URL, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	harness.CheckOneSentence(t, harness.RunKith(t, nil, "", "migrate-data", "sqlite:none", address), "password", "PGPASSWORD")
	u.User = url.User(u.User.Username())
	return u, password
}
