// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestImportPages

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestImportPages: a member says what the columns of a file mean and what to do with its rows,
// imports it and undoes that, with a script and without one, with screenshots.
func TestImportPages(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		agent := s.Agent(harness.PathCurrent, s.NewGrant(t, settings, "connections write").Tokens.Access)
		agent.Create(t, harness.Arguments{"name": "Ada Stone", "emails": []string{"ada@helios.example"}})
		agent.Create(t, harness.Arguments{"name": "Cy Chen", "emails": []string{"cy@chen.example"}})
		maps.Copy(settings, map[string]string{"SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "import.test.mjs", settings)
	})
}
