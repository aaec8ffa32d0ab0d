// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run 'TestDoctor|TestDoctorFinds'

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
			"no key":               {map[string]string{"KITH_SECRET_KEY_FILE": notPEM}, "secret key"},
			"no mail server":       {map[string]string{"KITH_SMTP_URL": "smtp://127.0.0.1:1?from=kith@kith.example"}, "mail"},
			"no backend":           {map[string]string{"KITH_BACKEND_URL": "http://127.0.0.1:1", "KITH_SERVICE_TOKEN": "0123456789abcdef"}, "backend"},
			"no provider":          {map[string]string{"KITH_PROVIDER_ISSUER": "http://127.0.0.1:1", "KITH_PROVIDER_CLIENT_ID": "kith"}, "provider"},
			"no embeddings":        {map[string]string{"KITH_EMBEDDINGS_URL": "http://127.0.0.1:1", "KITH_EMBEDDINGS_MODEL": "m"}, "embeddings"},
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
		checkEdgeHost(t, s)
	})
}

// checkEdgeHost: with the settings of an edge alone, the doctor asks the backend and looks for no database.
func checkEdgeHost(t *testing.T, s *harness.Service) {
	t.Helper()
	if !s.Topology.Split {
		return
	}
	for token, code := range map[string]int{s.ServiceToken: 0, "another-service-token": 1} {
		settings := map[string]string{"KITH_ADDR": s.Addr, "KITH_BACKEND_URL": "http://" + s.BackendAddr, "KITH_SERVICE_TOKEN": token}
		done := harness.RunKith(t, harness.Environment(settings), "", "doctor")
		if done.Code != code || !strings.Contains(done.Stdout, "-     database      not used by an edge") || strings.Contains(done.Stdout, "FAIL  backend") != (code == 1) {
			t.Errorf("exit code %d:\n%s%s", done.Code, done.Stdout, done.Stderr)
		}
	}
}

// TestDoctorFinds: the doctor finds a database that was written in the future, files of another user, and a secret key that
// is needed and gone.
func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "kith.db")
	env := harness.Environment(map[string]string{"KITH_DATABASE_URL": file})
	said := func() string { return harness.RunKith(t, env, "", "doctor").Stdout }
	for _, args := range [][]string{{"migrate"}, {"member", "create", "ada", "--email", "ada@member.example", "--password-stdin"}} {
		if done := harness.RunKith(t, env, goodPassword, args...); done.Code != 0 {
			t.Fatal(done.Stderr)
		}
	}
	for _, check := range []string{"database", "files", "backup", "secret key"} {
		if got := said(); !strings.Contains(got, "ok    "+check) {
			t.Fatalf("%s of a new database:\n%s", check, got)
		}
	}
	key := filepath.Join(folder, "secret.key")
	if done := harness.RunKith(t, env, "", "secret", "create"); done.Code != 0 {
		t.Fatal(done.Stderr)
	}
	if err := os.Chmod(key, 0o644); err != nil { //nolint:gosec // what the doctor finds
		t.Fatal(err)
	}
	if got := said(); !strings.Contains(got, "FAIL  secret key    every user of this machine can read") {
		t.Errorf("an open key:\n%s", got)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if got := harness.RunKith(t, env, "", "doctor", "--mail", "ada@member.example").Stdout; !strings.Contains(got, "FAIL  mail          no mail can be sent, because KITH_SMTP_URL is not set") {
		t.Errorf("a test mail without a mail server:\n%s", got)
	}
	harness.ExecDatabase(t, file, "INSERT INTO installation (number, probed_at) VALUES (1, '2099-01-01 00:00:00')")
	harness.ExecDatabase(t, file, "INSERT INTO totp_secrets (member_id, secret, last_step, created_at, last_used_at) SELECT id, 'sealed', 0, created_at, created_at FROM members")
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	for check, words := range map[string]string{"database": "in the future", "files": "chown --reference", "secret key": "is missing"} {
		if check == "files" && os.Geteuid() != 0 {
			continue // only root can make such a file
		}
		if got := said(); !strings.Contains(got, "FAIL  "+check) || !strings.Contains(got, words) {
			t.Errorf("%s:\n%s", check, got)
		}
	}
}
