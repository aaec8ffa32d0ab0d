// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/oauth -run 'TestWalkOpenIDClient|TestWalkSDK'

package oauth

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestWalkOpenIDClient: openid-client from registration to revocation, while a
// person signs in and consents in a browser.
func TestWalkOpenIDClient(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings, other := s.NewPerson(t), s.NewPerson(t)
		settings["OTHER_USERNAME"], settings["OTHER_PASSWORD"] = other["MEMBER_USERNAME"], other["MEMBER_PASSWORD"]
		s.RunWithBrowser(t, "walk-openid.test.mjs", settings)
	})
}

// TestWalkSDK: the same with auth() of the official SDK. Access tokens expire within
// seconds, so the SDK has to refresh them.
func TestWalkSDK(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_ACCESS_LIFETIME": "3s"})
		s.RunWithBrowser(t, "walk-sdk.test.mjs", s.NewPerson(t))
	})
}
