// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestPublicPages

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestPublicPages: a visitor finds a member in the directory and reads their profile, with and
// without script; a member publishes one; errors have pages, too; with screenshots.
func TestPublicPages(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SANDBOX": "true"})
		settings := s.NewPerson(t)
		settings["SCREENSHOTS"] = s.Topology.Screenshots(t)
		s.RunWithBrowser(t, "public.test.mjs", settings)
	})
}
