package e2e

import "testing"

// TestWalkOpenIDClient: openid-client from registration to revocation, while a
// person signs in and consents in a browser.
func TestWalkOpenIDClient(t *testing.T) {
	eachSite(t, func(t *testing.T, s *service) {
		s.start()
		settings, other := s.person(t), s.person(t)
		settings["OTHER_USERNAME"], settings["OTHER_PASSWORD"] = other["MEMBER_USERNAME"], other["MEMBER_PASSWORD"]
		s.runWithBrowser(t, "walk-openid.test.mjs", settings)
	})
}

// TestWalkSDK: the official SDK's own auth(), in the same way. Access tokens live
// for moments, so that it has to refresh them.
func TestWalkSDK(t *testing.T) {
	eachSite(t, func(t *testing.T, s *service) {
		s.startWith(map[string]string{"KITH_ACCESS_LIFETIME": "3s"})
		s.runWithBrowser(t, "walk-sdk.test.mjs", s.person(t))
	})
}
