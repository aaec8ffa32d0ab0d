// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/oauth -run TestConformanceOfAuthorization

package oauth

import (
	"net"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestConformanceOfAuthorization: the official conformance suite tests the authorization
// server. All of its tests pass, so there is no baseline.
func TestConformanceOfAuthorization(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		_, port, err := net.SplitHostPort(harness.FreeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		settings := s.NewPerson(t)
		settings["CALLBACK_PORT"] = port
		s.RunWithBrowser(t, "conformance.test.mjs", settings)
	})
}
