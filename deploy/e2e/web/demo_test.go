// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDemo

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDemo: a visitor without an account looks around in the demo and can change nothing, with
// screenshots.
func TestDemo(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SANDBOX": "true", "KITH_RATE_DEMO": "off"})
		harness.RunNodeTests(t, "demo.test.mjs", map[string]string{"BASE_URL": s.Base, "CHROMIUM": harness.Chromium(t), "SCREENSHOTS": s.Topology.Screenshots(t)})
	})
}
