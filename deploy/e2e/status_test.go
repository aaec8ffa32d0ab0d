package e2e

import (
	"net/http"
	"testing"
)

// TestStatusPage: each process shows the figures that are its own.
func TestStatusPage(t *testing.T) {
	eachSite(t, func(t *testing.T, s *service) {
		s.start()
		s.send(t, http.MethodGet, "/api/network/members", "")
		figures := map[*program]string{s.front: "Requests;Resident memory;Goroutines"}
		if s.topology.split {
			figures[s.core] = "Connect calls;Resident memory"
		} else {
			figures[s.front] += ";Connect calls"
		}
		for p, titles := range figures {
			runNodeTests(t, "status.test.mjs", map[string]string{
				"ADMIN_URL": p.admin, "CHROMIUM": chromium(t), "SCREENSHOTS": s.screenshots(t), "FIGURES": titles,
			})
		}
	})
}
