// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestNewcomer

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestNewcomer: a new owner's first steps, on a wide and on a narrow screen, each on an empty
// server of its own.
func TestNewcomer(t *testing.T) {
	for _, width := range []string{"1280", "390"} {
		t.Run(width, func(t *testing.T) {
			harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
				s.Start()
				harness.Eventually(t, "the link is printed", func() bool { return ownerLink.MatchString(s.Backend.Stdout.String()) })
				s.RunWithBrowser(t, "newcomer.test.mjs", map[string]string{
					"OWNER_LINK": ownerLink.FindString(s.Backend.Stdout.String()), "WIDTH": width,
					"SCREENSHOTS": s.Topology.Screenshots(t), "SAMPLE": harness.Repository("sandbox", "files", "linkedin_connections.csv"),
				})
			})
		})
	}
}
