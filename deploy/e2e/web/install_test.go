// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestInstall

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestInstall: a member installs Kith as an app and shares a contact with it; without a network the
// app has its files, and neither pages nor data. With screenshots.
func TestInstall(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		maps.Copy(settings, map[string]string{"SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "install.test.mjs", settings)
	})
}
