// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestDrafts

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDrafts: what a member types survives a reload, an expired session and a change by somebody else, and
// signing out forgets it.
func TestDrafts(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		grant := s.NewGrant(t, settings, "connections timeline write")
		person := s.Agent(harness.PathCurrent, grant.Tokens.Access).Create(t, harness.Arguments{"name": "Ada Stone", "bio": "Likes rowing."})
		maps.Copy(settings, map[string]string{"PERSON": "/people/" + person, "ACCESS_TOKEN": grant.Tokens.Access, "SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "drafts.test.mjs", settings)
	})
}
