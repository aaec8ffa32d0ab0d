// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDocs

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDocs: a visitor tries the requests of the landing page and reads the documentation, by mouse,
// by keyboard and without script, with screenshots.
func TestDocs(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SANDBOX": "true"})
		harness.RunNodeTests(t, "docs.test.mjs", map[string]string{"BASE_URL": s.Base, "CHROMIUM": harness.Chromium(t), "SCREENSHOTS": s.Topology.Screenshots(t)})
	})
}
