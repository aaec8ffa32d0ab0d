// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDecide

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDecide: an agent asks before it deletes; the member approves one call and refuses another, with
// screenshots.
func TestDecide(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SANDBOX": "true", "KITH_RATE_DEMO": "off"})
		settings := s.NewPerson(t)
		grant := s.NewGrant(t, settings, "connections account write")
		maps.Copy(settings, map[string]string{"ACCESS_TOKEN": grant.Tokens.Access, "SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "decide.test.mjs", settings)
	})
}
