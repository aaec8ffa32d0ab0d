package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor: a service in order passes, and each thing that is wrong is told in a
// sentence of its own.
func TestDoctor(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		well := environment(s.database(), map[string]string{"KITH_ADDR": s.addr})
		done := kith(t, well, "", "doctor")
		if done.code != 0 || strings.Contains(done.stdout, "FAIL") || !strings.Contains(done.stdout, "kith answers at "+s.base) {
			t.Errorf("exit code %d:\n%s%s", done.code, done.stdout, done.stderr)
		}
		secrets.mustNotBeIn(t, "what the doctor says", done.stdout)
		folder := t.TempDir()
		notPEM := filepath.Join(folder, "not.pem")
		if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			settings map[string]string
			want     string
		}{
			"nobody there":         {map[string]string{"KITH_ADDR": freeAddress(t)}, "base URL"},
			"somebody else there":  {map[string]string{"KITH_BASE_URL": "http://" + s.addr + "y.invalid"}, "base URL"},
			"a base URL with path": {map[string]string{"KITH_BASE_URL": "https://kith.example/api"}, "settings"},
			"no database":          {map[string]string{"KITH_DATABASE_URL": filepath.Join(folder, "kith.db")}, "database"},
			"no server":            {map[string]string{"KITH_DATABASE_URL": "postgres://kith@127.0.0.1:1/kith"}, "database"},
			"no Redis":             {map[string]string{"KITH_REDIS_URL": "redis://127.0.0.1:1/0"}, "redis"},
			"no certificate":       {map[string]string{"KITH_TLS_CERT": notPEM, "KITH_TLS_KEY": notPEM}, "certificates"},
		} {
			done := kith(t, environment(s.database(), map[string]string{"KITH_ADDR": s.addr}, test.settings), "", "doctor")
			checkOneSentence(t, done, "checks failed")
			if !strings.Contains(done.stdout, "FAIL  "+test.want+" ") {
				t.Errorf("%s:\n%s", name, done.stdout)
			}
		}
		if left, _ := os.ReadDir(folder); len(left) != 1 {
			t.Errorf("it left %v behind", left)
		}
	})
}
