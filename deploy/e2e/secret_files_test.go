package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSecretFiles: a service whose secrets are in files runs, and neither its command
// line nor its environment has them.
func TestSecretFiles(t *testing.T) {
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newService(t, onSQLite)
		s.databaseURL = databaseURL
		folder := t.TempDir()
		token, database := filepath.Join(folder, "token"), filepath.Join(folder, "database")
		for file, text := range map[string]string{token: s.serviceToken + "\n", database: s.databaseURL + "\n"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := s.run("serve", map[string]string{
			"KITH_SERVICE_TOKEN_FILE": token, "KITH_DATABASE_URL_FILE": database, "KITH_BACKEND_ADDR": freeAddress(t),
		})
		proc := "/proc/" + strconv.Itoa(p.command.Process.Pid) + "/"
		for _, file := range []string{proc + "cmdline", proc + "environ"} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), s.serviceToken) || strings.Contains(string(text), s.databaseURL) {
				t.Errorf("%s has a secret", file)
			}
		}
		got := s.sendTo(t, p.admin+"/debug/pprof/cmdline", "Accept: */*")
		if got.status != http.StatusOK || !strings.Contains(got.body, "serve") {
			t.Errorf("%d %s", got.status, got.body)
		}
		secrets.mustNotBeIn(t, "pprof's command line", got.body)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "rebind.example"
		res, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := readAnswer(t, res); got.status != http.StatusMisdirectedRequest {
			t.Errorf("a name that is not the listener's is answered %d", got.status)
		}
	})
}
