// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestConsent

package web

import (
	"maps"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestConsent: a member allows an agent some of what it asks for, allows it less, pauses it and
// disconnects it, with screenshots.
func TestConsent(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		wide := "p-" + strings.Repeat("m", 12) // a wide username must not make the page too long
		s.Operate(t, settings["MEMBER_PASSWORD"]+"\n", "member", "create", harness.Secrets.Keep("username", wide), "--email", "wide@member.example", "--password-stdin")
		settings["MEMBER_USERNAME"] = wide
		maps.Copy(settings, map[string]string{"SCREENSHOTS": s.Topology.Screenshots(t)})
		s.RunWithBrowser(t, "consent.test.mjs", settings)
	})
}
