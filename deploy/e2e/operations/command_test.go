// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestBadSettings|TestUnwritableFolder|TestNewerSchema|TestOlderSchema'

package operations

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

const goodPassword = "correct horse battery"

// TestBadSettings: with invalid settings a process exits with the reason and leaves no
// files.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("This is no database, and long enough to be told from an empty one."), 0o600); err != nil {
		t.Fatal(err)
	}
	long := harness.Secrets.Keep("service token", "a service token of more than sixteen characters")
	password := harness.Secrets.Keep("database password", "geheim-0815")
	tests := map[string]struct {
		command  string
		settings map[string]string
		words    []string
	}{
		"a taken port":                        {"serve", map[string]string{"KITH_ADDR": taken.Addr().String()}, []string{taken.Addr().String(), "in use"}},
		"a taken port for operators":          {"serve", map[string]string{"KITH_ADMIN_ADDR": taken.Addr().String()}, []string{"KITH_ADMIN_ADDR", "in use"}},
		"a taken port for internal callers":   {"backend", map[string]string{"KITH_BACKEND_ADDR": taken.Addr().String(), "KITH_SERVICE_TOKEN": long}, []string{taken.Addr().String(), "in use"}},
		"a taken port beside an open backend": {"serve", map[string]string{"KITH_BACKEND_ADDR": taken.Addr().String(), "KITH_SERVICE_TOKEN": long}, []string{taken.Addr().String(), "in use"}},
		"a taken port for an edge":            {"edge", map[string]string{"KITH_ADDR": taken.Addr().String(), "KITH_SERVICE_TOKEN": long}, []string{taken.Addr().String(), "in use"}},
		"an address without a port":           {"serve", map[string]string{"KITH_ADDR": "localhost"}, []string{"KITH_ADDR", "host:port"}},
		"an invalid port":                     {"serve", map[string]string{"KITH_ADDR": "127.0.0.1:99999"}, []string{"99999"}},
		"an address of another machine":       {"serve", map[string]string{"KITH_ADDR": "192.0.2.1:80"}, []string{"192.0.2.1:80"}},
		"an operators' address without port":  {"serve", map[string]string{"KITH_ADMIN_ADDR": "localhost"}, []string{"KITH_ADMIN_ADDR"}},
		"a backend's address without port":    {"backend", map[string]string{"KITH_BACKEND_ADDR": "localhost", "KITH_SERVICE_TOKEN": long}, []string{"localhost", "host:port"}},
		"an invalid base URL":                 {"serve", map[string]string{"KITH_BASE_URL": "kith.example"}, []string{"KITH_BASE_URL", "kith.example"}},
		"a base URL without TLS":              {"serve", map[string]string{"KITH_BASE_URL": "http://kith.example"}, []string{"KITH_BASE_URL", "KITH_ALLOW_PLAIN_HTTP"}},
		"a base URL with a path":              {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example/crm"}, []string{"KITH_BASE_URL"}},
		"a base URL with a slash":             {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example/"}, []string{"KITH_BASE_URL"}},
		"a base URL of another scheme":        {"serve", map[string]string{"KITH_BASE_URL": "ftp://kith.example"}, []string{"KITH_BASE_URL"}},
		"a base URL with a space":             {"serve", map[string]string{"KITH_BASE_URL": "https://kith example"}, []string{"KITH_BASE_URL"}},
		"a base URL with a fragment":          {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example#x"}, []string{"base URL"}},
		"a base URL with a bad port":          {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example:http"}, []string{"KITH_BASE_URL"}},
		"a bad log level":                     {"serve", map[string]string{"KITH_LOG_LEVEL": "loud"}, []string{"log level", "loud", "debug"}},
		"a bad log format":                    {"serve", map[string]string{"KITH_LOG_FORMAT": "yaml"}, []string{"log format", "yaml", "json"}},
		"a short service token, backend":      {"backend", map[string]string{"KITH_SERVICE_TOKEN": "short"}, []string{"KITH_SERVICE_TOKEN", "16"}},
		"a short service token, edge":         {"edge", map[string]string{"KITH_SERVICE_TOKEN": "short"}, []string{"KITH_SERVICE_TOKEN", "16"}},
		"a short service token, serve":        {"serve", map[string]string{"KITH_SERVICE_TOKEN": "short"}, []string{"KITH_SERVICE_TOKEN", "16"}},
		"no service token, backend":           {"backend", nil, []string{"KITH_SERVICE_TOKEN"}},
		"no service token, edge":              {"edge", nil, []string{"KITH_SERVICE_TOKEN"}},
		"no service token, an open backend":   {"serve", map[string]string{"KITH_BACKEND_ADDR": "127.0.0.1:0"}, []string{"KITH_BACKEND_ADDR", "KITH_SERVICE_TOKEN"}},
		"a backend URL that is none":          {"edge", map[string]string{"KITH_BACKEND_URL": "::::", "KITH_SERVICE_TOKEN": long}, []string{"backend"}},
		"a backend URL without a scheme":      {"edge", map[string]string{"KITH_BACKEND_URL": "backend:8082", "KITH_SERVICE_TOKEN": long}, []string{"backend"}},
		"an invalid duration":                 {"serve", map[string]string{"KITH_STOP_TIMEOUT": "soon"}, []string{"soon"}},
		"a negative cache time":               {"serve", map[string]string{"KITH_PROFILE_CACHE": "-1s"}, []string{"negative"}},
		"a switch that is neither on nor off": {"serve", map[string]string{"KITH_SANDBOX": "maybe"}, []string{"maybe"}},
		"a folder under a file":               {"serve", map[string]string{"KITH_DATABASE_URL": filepath.Join(file, "kith.db")}, []string{"folder", file}},
		"a database that is a folder":         {"serve", map[string]string{"KITH_DATABASE_URL": filepath.Dir(file)}, []string{"database"}},
		"a database that is a text file":      {"serve", map[string]string{"KITH_DATABASE_URL": file}, []string{"database"}},
		"no database":                         {"serve", map[string]string{"KITH_DATABASE_URL": ""}, []string{"database"}},
		"an unsupported database":             {"serve", map[string]string{"KITH_DATABASE_URL": "mysql://kith:" + password + "@127.0.0.1/kith"}, []string{"postgres://"}},
		"a database that does not answer":     {"serve", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + "@127.0.0.1:1/kith"}, []string{"database", "127.0.0.1:1"}},
		"a database address with a space":     {"serve", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + " x@127.0.0.1:1/kith"}, []string{"database"}},
		"a database address with a bad port":  {"migrate", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + "@127.0.0.1:port/kith"}, []string{"database"}},
		"migrate a database without answer":   {"migrate", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + "@127.0.0.1:1/kith"}, []string{"database"}},
		"an unknown command":                  {"fly", nil, []string{"fly"}},
		"no command":                          {"", nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := harness.Environment(map[string]string{
				"KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": harness.FreeAddress(t), "KITH_BACKEND_ADDR": "",
				"KITH_DATABASE_URL": filepath.Join(t.TempDir(), "kith.db"),
			}, test.settings)
			folder := t.TempDir()
			harness.CheckOneSentence(t, harness.RunBriefly(t, folder, env, nil, strings.Fields(test.command)...), test.words...)
			if left, _ := os.ReadDir(folder); len(left) != 0 {
				t.Errorf("it left %v behind", left)
			}
		})
	}
}

// TestUnwritableFolder: a folder without write permission is an error that names the
// folder.
func TestUnwritableFolder(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("/var/tmp", "kith-e2e-") //nolint:usetesting // others cannot even enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	for name, database := range map[string]string{
		"the file": filepath.Join(folder, "kith.db"), "its folder": filepath.Join(folder, "data", "kith.db"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var unprivileged *syscall.Credential
			if os.Getuid() == 0 { // root can write to every folder
				unprivileged = &syscall.Credential{Uid: 65534, Gid: 65534}
			}
			env := harness.Environment(map[string]string{"KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": harness.FreeAddress(t), "KITH_DATABASE_URL": database})
			harness.CheckOneSentence(t, harness.RunBriefly(t, "/", env, unprivileged, "serve"), "database", filepath.Dir(database))
		})
	}
}

// TestNewerSchema: a database with a newer schema is refused and not changed.
func TestNewerSchema(t *testing.T) {
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		env := harness.Environment(map[string]string{
			"KITH_DATABASE_URL": databaseURL, "KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": harness.FreeAddress(t),
			"KITH_SERVICE_TOKEN": harness.Secrets.Keep("service token", "the service token of a newer kith"), "KITH_BACKEND_ADDR": harness.FreeAddress(t),
		})
		if done := harness.RunKith(t, env, "", "migrate"); done.Code != 0 {
			t.Fatal(done.Stderr)
		}
		harness.ExecDatabase(t, databaseURL, "INSERT INTO schema_migrations (name, applied_at) VALUES ('29991231235959', '2999-12-31')")
		for _, args := range [][]string{
			{"serve"}, {"backend"}, {"migrate"}, {"member", "list"}, {"token", "list", "ada"},
			{"serve", "--no-auto-migrate"}, {"member", "create", "ada", "--email", "ada@member.example", "--password-stdin"},
		} {
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				harness.CheckOneSentence(t, harness.RunKith(t, env, goodPassword, args...), "newer")
			})
		}
		t.Run("accepted", func(t *testing.T) {
			s := harness.NewService(t, harness.Topology{})
			s.DatabaseURL = databaseURL
			s.Settings["KITH_ACCEPT_NEWER_SCHEMA"] = "true"
			s.Start()
			if got := s.Send(t, http.MethodGet, "/api/network/members", ""); got.Status != http.StatusOK {
				t.Errorf("got %d %s", got.Status, got.Body)
			}
			s.Edge.Stop()
		})
		harness.ExecDatabase(t, databaseURL, "DELETE FROM schema_migrations WHERE name = (SELECT min(name) FROM schema_migrations)")
		accepting := append(env, "KITH_ACCEPT_NEWER_SCHEMA=true")
		harness.CheckOneSentence(t, harness.RunKith(t, accepting, "", "backend"), "lacks")
	})
}

// TestOlderSchema: without auto-migrate, a database without the schema is refused.
func TestOlderSchema(t *testing.T) {
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		env := harness.Environment(map[string]string{"KITH_DATABASE_URL": databaseURL, "KITH_ADDR": harness.FreeAddress(t), "KITH_ADMIN_ADDR": harness.FreeAddress(t)})
		for _, args := range [][]string{{"serve", "--no-auto-migrate"}, {"member", "list", "--no-auto-migrate"}} {
			harness.CheckOneSentence(t, harness.RunKith(t, env, "", args...), "kith migrate")
		}
	})
}
