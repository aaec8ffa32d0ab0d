// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestFactors

package web

import (
	"maps"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestFactors: passkeys with Chromium's own virtual authenticator, and one-time codes, with the keyboard only,
// with screenshots: at both widths with two processes, and at one width with one, which makes its secret key itself.
func TestFactors(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		sizes := "desktop"
		if s.Topology.Split {
			sizes = "desktop phone"
			s.CreateSecretKey(t)
		}
		s.Start()
		settings, other := s.NewPerson(t), s.NewPerson(t)
		maps.Copy(settings, map[string]string{
			"OTHER_USERNAME": other["MEMBER_USERNAME"], "OTHER_PASSWORD": other["MEMBER_PASSWORD"], "SIZES": sizes, "SCREENSHOTS": s.Topology.Screenshots(t),
		})
		s.RunWithBrowser(t, "factors.test.mjs", settings)
	})
}
