// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestDoctor

package operations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDoctor: a correct service passes all checks, and each problem is reported in its own
// sentence.
func TestDoctor(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		well := harness.Environment(s.Database(), map[string]string{"KITH_ADDR": s.Addr})
		done := harness.RunKith(t, well, "", "doctor")
		if done.Code != 0 || strings.Contains(done.Stdout, "FAIL") || !strings.Contains(done.Stdout, "kith answers at "+s.Base) {
			t.Errorf("exit code %d:\n%s%s", done.Code, done.Stdout, done.Stderr)
		}
		harness.Secrets.MustNotBeIn(t, "what the doctor says", done.Stdout)
		folder := t.TempDir()
		notPEM := filepath.Join(folder, "not.pem")
		if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			settings map[string]string
			want     string
		}{
			"nothing listens":      {map[string]string{"KITH_ADDR": harness.FreeAddress(t)}, "base URL"},
			"an unknown host":      {map[string]string{"KITH_BASE_URL": "http://" + s.Addr + "y.invalid"}, "base URL"},
			"a base URL with path": {map[string]string{"KITH_BASE_URL": "https://kith.example/api"}, "settings"},
			"no database":          {map[string]string{"KITH_DATABASE_URL": filepath.Join(folder, "kith.db")}, "database"},
			"no server":            {map[string]string{"KITH_DATABASE_URL": "postgres://kith@127.0.0.1:1/kith"}, "database"},
			"no Redis":             {map[string]string{"KITH_REDIS_URL": "redis://127.0.0.1:1/0"}, "redis"},
			"no certificate":       {map[string]string{"KITH_TLS_CERT": notPEM, "KITH_TLS_KEY": notPEM}, "certificates"},
		} {
			done := harness.RunKith(t, harness.Environment(s.Database(), map[string]string{"KITH_ADDR": s.Addr}, test.settings), "", "doctor")
			harness.CheckOneSentence(t, done, "checks failed")
			if !strings.Contains(done.Stdout, "FAIL  "+test.want+" ") {
				t.Errorf("%s:\n%s", name, done.Stdout)
			}
		}
		if left, _ := os.ReadDir(folder); len(left) != 1 {
			t.Errorf("it left %v behind", left)
		}
	})
}
