// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestStatusPage

package web

import (
	"net/http"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestStatusPage: each process shows its own figures.
func TestStatusPage(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		s.Send(t, http.MethodGet, "/api/network/members", "")
		figures := map[*harness.Program]string{s.Edge: "Requests;Resident memory;Goroutines"}
		if s.Topology.Split {
			figures[s.Backend] = "Connect calls;Resident memory"
		} else {
			figures[s.Edge] += ";Connect calls"
		}
		for p, titles := range figures {
			harness.RunNodeTests(t, "status.test.mjs", map[string]string{
				"ADMIN_URL": p.Admin, "CHROMIUM": harness.Chromium(t), "SCREENSHOTS": s.Topology.Screenshots(t), "FIGURES": titles,
			})
		}
	})
}
