// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestAlertmanager

package operations

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestAlertmanager runs Alertmanager with the shipped file: while all processes of a job are down, the alerts that follow
// from it are silent, and not those of another job.
func TestAlertmanager(t *testing.T) {
	t.Parallel()
	config := harness.Repository("deploy", "compose", "alertmanager.yml")
	if out, err := exec.CommandContext(t.Context(), "amtool", "check-config", config).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := harness.FreeAddress(t)
	server := exec.Command("prometheus-alertmanager", "--config.file="+config, "--storage.path="+t.TempDir(), "--web.listen-address="+address, "--cluster.listen-address=")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	})
	harness.Eventually(t, "Alertmanager is ready", func() bool {
		res, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	amtool := func(args ...string) []byte {
		out, err := exec.CommandContext(t.Context(), "amtool", append([]string{"--alertmanager.url=http://" + address}, args...)...).Output()
		if err != nil {
			t.Fatalf("amtool %v: %v", args, err)
		}
		return out
	}
	for _, labels := range [][]string{
		{"alertname=KithDown", "severity=page", "job=kith-edge"}, {"alertname=KithErrors", "severity=page", "job=kith-edge"},
		{"alertname=KithStoreDown", "severity=page", "job=kith-backend"}, {"alertname=KithDown", "severity=page", "job=other"},
	} {
		amtool(append([]string{"alert", "add"}, labels...)...)
	}
	listed := func(which string) (names []string) {
		var alerts []struct{ Labels map[string]string }
		if err := json.Unmarshal(amtool("alert", "query", "--output=json", which), &alerts); err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			names = append(names, a.Labels["alertname"]+" "+a.Labels["job"])
		}
		slices.Sort(names)
		return names
	}
	harness.Eventually(t, "what follows is inhibited", func() bool { return slices.Equal(listed("--inhibited"), []string{"KithErrors kith-edge"}) })
	if active := listed("--active"); !slices.Equal(active, []string{"KithDown kith-edge", "KithDown other", "KithStoreDown kith-backend"}) {
		t.Errorf("active are %q", active)
	}
}
