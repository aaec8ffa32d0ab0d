// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestSecretFiles

package operations

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestSecretFiles: a service runs with its secrets in files, and neither its command line
// nor its environment contains them.
func TestSecretFiles(t *testing.T) {
	harness.EachDatabase(t, func(t *testing.T, databaseURL string) {
		s := harness.NewService(t, harness.SQLite)
		s.DatabaseURL = databaseURL
		folder := t.TempDir()
		token, database := filepath.Join(folder, "token"), filepath.Join(folder, "database")
		for file, text := range map[string]string{token: s.ServiceToken + "\n", database: s.DatabaseURL + "\n"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := s.Run("serve", map[string]string{
			"KITH_SERVICE_TOKEN_FILE": token, "KITH_DATABASE_URL_FILE": database, "KITH_BACKEND_ADDR": harness.FreeAddress(t),
		})
		proc := "/proc/" + strconv.Itoa(p.Command.Process.Pid) + "/"
		for _, file := range []string{proc + "cmdline", proc + "environ"} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), s.ServiceToken) || strings.Contains(string(text), s.DatabaseURL) {
				t.Errorf("%s has a secret", file)
			}
		}
		got := harness.Get(t, p.Admin+"/debug/pprof/cmdline", "Accept: */*")
		if got.Status != http.StatusOK || !strings.Contains(got.Body, "serve") {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		harness.Secrets.MustNotBeIn(t, "pprof's command line", got.Body)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.Admin+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "rebind.example"
		res, err := harness.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := harness.ReadResponse(t, res); got.Status != http.StatusMisdirectedRequest {
			t.Errorf("a name that is not the listener's is answered %d", got.Status)
		}
	})
}
