// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestClicks

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestClicks: what a member does every day takes few clicks, on a wide and on a narrow screen.
func TestClicks(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		settings["BEARER"] = (&harness.Member{Service: s, Username: settings["MEMBER_USERNAME"]}).Token(t).Bearer
		s.RunWithBrowser(t, "clicks.test.mjs", settings)
	})
}
