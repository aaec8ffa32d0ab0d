// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestCaddyfile

package operations

import (
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestCaddyfile runs Caddy with the file of Compose before an edge: it refuses old versions of TLS, and its log has a line
// for each request, without what is secret in it.
func TestCaddyfile(t *testing.T) {
	t.Parallel()
	s := harness.NewService(t, harness.SQLite)
	folder, address := t.TempDir(), "localhost:"+strings.Split(harness.FreeAddress(t), ":")[1]
	s.StartWith(map[string]string{"KITH_BASE_URL": "https://" + address})
	file, err := os.ReadFile(harness.Repository("deploy", "compose", "Caddyfile"))
	if err != nil {
		t.Fatal(err)
	}
	text := "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n" + strings.Replace(string(file), "edge-1:8080 edge-2:8080", s.Addr, 1)
	if err := os.WriteFile(filepath.Join(folder, "Caddyfile"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	caddy := exec.Command("caddy", "run", "--config", filepath.Join(folder, "Caddyfile"), "--adapter", "caddyfile")
	log := &harness.Output{}
	caddy.Env, caddy.Stdout, caddy.Stderr = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "KITH_HOST=" + address}, log, log
	if err := caddy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = caddy.Process.Signal(syscall.SIGTERM)
		_ = caddy.Wait()
	})
	get := func(newest uint16) (*http.Response, error) {
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: newest}, //nolint:gosec // its certificate is of this test
		}}
		defer client.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/v1?code=hunter2", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", "session=hunter2")
		r.Header.Set("Authorization", "Bearer hunter2")
		return client.Do(r)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String())
		}
	})
	harness.Eventually(t, "Caddy answers", func() bool {
		res, err := get(tls.VersionTLS12)
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK && res.Header.Get("X-Request-Id") != ""
	})
	if res, err := get(tls.VersionTLS11); err == nil {
		_ = res.Body.Close()
		t.Error("it accepts TLS 1.1")
	}
	harness.Eventually(t, "the request is in its log", func() bool { return strings.Contains(log.String(), `"uri":"/v1"`) })
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("its log has a secret:\n%s", log.String())
	}
}
