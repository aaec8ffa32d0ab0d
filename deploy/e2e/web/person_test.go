// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestPersonPage

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestPersonPage: a member keeps a person up to date on their page, with a script and without
// one, with screenshots.
func TestPersonPage(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		agent := s.Agent(harness.PathCurrent, s.NewGrant(t, settings, "connections write").Tokens.Access)
		person := agent.Create(t, harness.Arguments{
			"name": "Ada Stone", "organization": "Helios", "title": "CTO", "location": "Lisbon", "emails": []string{"ada@helios.example"}, "bio": "Likes rowing.",
		})
		agent.Create(t, harness.Arguments{"name": "Ben Okafor", "location": "Lagos"})
		agent.Create(t, harness.Arguments{"name": "Adah Stone", "location": "Faro", "emails": []string{"ada@helios.example"}, "phones": []string{"+351 21 000 0000"}, "on_duplicate": "create"})
		maps.Copy(settings, map[string]string{"PERSON": "/people/" + person, "SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "person.test.mjs", settings)
	})
}
