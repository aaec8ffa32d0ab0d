// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestCapture

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestCapture: a member adds people from one line, with a script and without one, with
// screenshots.
func TestCapture(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		maps.Copy(settings, map[string]string{"SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "capture.test.mjs", settings)
	})
}
