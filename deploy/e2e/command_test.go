package e2e

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

const goodPassword = "correct horse battery"

// checkOneSentence wants a command that failed, and said why in one line. A
// service's log may have begun before it, with the build that was starting.
func checkOneSentence(t *testing.T, done outcome, words ...string) {
	t.Helper()
	if done.code == 0 {
		t.Errorf("the exit code is 0; standard output: %s", done.stdout)
	}
	complaint := done.stderr
	if first, rest, _ := strings.Cut(complaint, "\n"); strings.Contains(first, "starting kith") && strings.Contains(first, stampedVersion) {
		complaint = rest
	}
	line, rest, _ := strings.Cut(complaint, "\n")
	if !strings.HasPrefix(line, "kith: ") || strings.TrimSpace(rest) != "" {
		t.Errorf("standard error is not one line that says why: %q", done.stderr)
	}
	for _, trace := range []string{"goroutine ", "panic", ".go:", "0x", "runtime error", "DATA RACE"} {
		if strings.Contains(done.stdout+done.stderr, trace) {
			t.Errorf("there is a trace of the program in it: %s", done.stderr)
		}
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(line), strings.ToLower(word)) {
			t.Errorf("standard error is %q, want %q in it", line, word)
		}
	}
	secrets.mustNotBeIn(t, "the complaint", done.stderr)
}

// TestBadSettings: a process that cannot run says why, and leaves nothing behind.
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
	long := secrets.keep("service token", "a service token of more than sixteen characters")
	password := secrets.keep("database password", "geheim-0815")
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
		"a port that is none":                 {"serve", map[string]string{"KITH_ADDR": "127.0.0.1:99999"}, []string{"99999"}},
		"an address of another machine":       {"serve", map[string]string{"KITH_ADDR": "192.0.2.1:80"}, []string{"192.0.2.1:80"}},
		"an operators' address without port":  {"serve", map[string]string{"KITH_ADMIN_ADDR": "localhost"}, []string{"KITH_ADMIN_ADDR"}},
		"a backend's address without port":    {"backend", map[string]string{"KITH_BACKEND_ADDR": "localhost", "KITH_SERVICE_TOKEN": long}, []string{"localhost", "host:port"}},
		"a base URL that is none":             {"serve", map[string]string{"KITH_BASE_URL": "kith.example"}, []string{"KITH_BASE_URL", "kith.example"}},
		"a base URL in the clear":             {"serve", map[string]string{"KITH_BASE_URL": "http://kith.example"}, []string{"KITH_BASE_URL", "KITH_ALLOW_PLAIN_HTTP"}},
		"a base URL with a path":              {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example/crm"}, []string{"KITH_BASE_URL"}},
		"a base URL with a slash":             {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example/"}, []string{"KITH_BASE_URL"}},
		"a base URL of another scheme":        {"serve", map[string]string{"KITH_BASE_URL": "ftp://kith.example"}, []string{"KITH_BASE_URL"}},
		"a base URL with a space":             {"serve", map[string]string{"KITH_BASE_URL": "https://kith example"}, []string{"KITH_BASE_URL"}},
		"a base URL with a fragment":          {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example#x"}, []string{"base URL"}},
		"a base URL with a port from nowhere": {"serve", map[string]string{"KITH_BASE_URL": "https://kith.example:http"}, []string{"KITH_BASE_URL"}},
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
		"a duration that is none":             {"serve", map[string]string{"KITH_STOP_TIMEOUT": "soon"}, []string{"soon"}},
		"a negative cache time":               {"serve", map[string]string{"KITH_PROFILE_CACHE": "-1s"}, []string{"negative"}},
		"a switch that is neither on nor off": {"serve", map[string]string{"KITH_SANDBOX": "maybe"}, []string{"maybe"}},
		"a folder under a file":               {"serve", map[string]string{"KITH_DATABASE_URL": filepath.Join(file, "kith.db")}, []string{"folder", file}},
		"a database that is a folder":         {"serve", map[string]string{"KITH_DATABASE_URL": filepath.Dir(file)}, []string{"database"}},
		"a database that is a text file":      {"serve", map[string]string{"KITH_DATABASE_URL": file}, []string{"database"}},
		"no database":                         {"serve", map[string]string{"KITH_DATABASE_URL": ""}, []string{"database"}},
		"a database of another make":          {"serve", map[string]string{"KITH_DATABASE_URL": "mysql://kith:" + password + "@127.0.0.1/kith"}, []string{"postgres://"}},
		"a database that nobody serves":       {"serve", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + "@127.0.0.1:1/kith"}, []string{"database", "127.0.0.1:1"}},
		"a database address with a space":     {"serve", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + " x@127.0.0.1:1/kith"}, []string{"database"}},
		"a database address with a bad port":  {"migrate", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + "@127.0.0.1:port/kith"}, []string{"database"}},
		"migrate a database nobody serves":    {"migrate", map[string]string{"KITH_DATABASE_URL": "postgres://kith:" + password + "@127.0.0.1:1/kith"}, []string{"database"}},
		"an unknown command":                  {"fly", nil, []string{"fly"}},
		"no command":                          {"", nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment(map[string]string{
				"KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": freeAddress(t), "KITH_BACKEND_ADDR": "",
				"KITH_DATABASE_URL": filepath.Join(t.TempDir(), "kith.db"),
			}, test.settings)
			folder := t.TempDir()
			checkOneSentence(t, runBriefly(t, folder, env, nil, strings.Fields(test.command)...), test.words...)
			if left, _ := os.ReadDir(folder); len(left) != 0 {
				t.Errorf("it left %v behind", left)
			}
		})
	}
}

// runBriefly runs kith in the folder as whoever may be named. It should end by
// itself; if it does not, it is told to, and its exit code 0 will give it away.
func runBriefly(t *testing.T, folder string, env []string, as *syscall.Credential, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience/3)
	defer cancel()
	command := exec.CommandContext(ctx, kithBinary, args...)
	command.Dir, command.Env = folder, append(bareEnvironment(), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	return runToEnd(t, command, "")
}

// TestUnwritableFolder: another user's folder is not written to, and the
// complaint names it.
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
			var nobody *syscall.Credential
			if os.Getuid() == 0 { // to whom every folder is writable
				nobody = &syscall.Credential{Uid: 65534, Gid: 65534}
			}
			env := environment(map[string]string{"KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": freeAddress(t), "KITH_DATABASE_URL": database})
			checkOneSentence(t, runBriefly(t, "/", env, nobody, "serve"), "database", filepath.Dir(database))
		})
	}
}

// TestNewerSchema: a database that a newer kith wrote is refused, and not touched.
func TestNewerSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		env := environment(map[string]string{
			"KITH_DATABASE_URL": databaseURL, "KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": freeAddress(t),
			"KITH_SERVICE_TOKEN": secrets.keep("service token", "the service token of a newer kith"), "KITH_BACKEND_ADDR": freeAddress(t),
		})
		if done := kith(t, env, "", "migrate"); done.code != 0 {
			t.Fatal(done.stderr)
		}
		execDatabase(t, databaseURL, "INSERT INTO bun_migrations (name, group_id) VALUES ('29991231235959', 99)")
		for _, args := range [][]string{
			{"serve"}, {"backend"}, {"migrate"}, {"member", "list"}, {"token", "list", "ada"},
			{"serve", "--no-auto-migrate"}, {"member", "create", "ada", "--email", "ada@member.example", "--password-stdin"},
		} {
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				checkOneSentence(t, kith(t, env, goodPassword, args...), "newer")
			})
		}
		t.Run("accepted", func(t *testing.T) {
			s := newService(t, topology{})
			s.databaseURL = databaseURL
			s.settings["KITH_ACCEPT_NEWER_SCHEMA"] = "true"
			s.start()
			if got := s.send(t, http.MethodGet, "/api/network/members", ""); got.status != http.StatusOK {
				t.Errorf("got %d %s", got.status, got.body)
			}
			s.front.stop()
		})
		execDatabase(t, databaseURL, "DELETE FROM bun_migrations WHERE name = (SELECT min(name) FROM bun_migrations)")
		accepting := append(env, "KITH_ACCEPT_NEWER_SCHEMA=true")
		checkOneSentence(t, kith(t, accepting, "", "backend"), "lacks")
	})
}

// TestOlderSchema: without auto-migrate, a database without the schema is refused.
func TestOlderSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		env := environment(map[string]string{"KITH_DATABASE_URL": databaseURL, "KITH_ADDR": freeAddress(t), "KITH_ADMIN_ADDR": freeAddress(t)})
		for _, args := range [][]string{{"serve", "--no-auto-migrate"}, {"member", "list", "--no-auto-migrate"}} {
			checkOneSentence(t, kith(t, env, "", args...), "kith migrate")
		}
	})
}

func execDatabase(t *testing.T, databaseURL, statement string) {
	t.Helper()
	if u, err := url.Parse(databaseURL); err == nil && u.Scheme != "" {
		execPostgres(t, databaseURL, statement)
		return
	}
	db, err := sql.Open("sqlite", "file:"+databaseURL+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
