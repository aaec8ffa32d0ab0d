// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run 'TestDay|TestEveryPage'

package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestDay: a member does a day's tasks with the mouse, with the keyboard only and without
// JavaScript, and an agent reads the results.
func TestDay(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		settings["BEARER"] = (&harness.Member{Service: s, Username: settings["MEMBER_USERNAME"]}).Token(t).Bearer
		s.RunWithBrowser(t, "day.test.mjs", settings)
	})
}

// TestEveryPage: each page, including the demo's, is small, fast and accessible, and its layout
// does not shift while it loads. It takes screenshots.
func TestEveryPage(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Binary = harness.PlainBinary // paint times are checked
		s.CreateSecretKey(t)
		s.StartWith(map[string]string{"KITH_SIGN_UP": "true", "KITH_SANDBOX": "true", "KITH_RATE_DEMO": "off", "KITH_PRIVATE_SOURCES": "true"})
		settings := s.NewPerson(t)
		settings["BEARER"] = (&harness.Member{Service: s, Username: settings["MEMBER_USERNAME"]}).Token(t).Bearer
		settings["SCREENSHOTS"] = s.Topology.Screenshots(t)
		s.RunWithBrowser(t, "budgets.test.mjs", settings)
	})
}
