// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestNetwork

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestNetwork: a member without people, and a visitor of the demo, look at the network, by mouse,
// by keyboard and without script, with screenshots.
func TestNetwork(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SANDBOX": "true", "KITH_RATE_DEMO": "off"})
		settings := s.NewPerson(t)
		settings["SCREENSHOTS"] = s.Topology.Screenshots(t)
		s.RunWithBrowser(t, "network.test.mjs", settings)
	})
}
