// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestFactors

package web

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestFactors: passkeys with Chromium's own virtual authenticator, and one-time codes, at both widths, with
// the keyboard only, with screenshots.
func TestFactors(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		key := map[string]string{"KITH_SECRET_KEY_FILE": filepath.Join(t.TempDir(), "secret.key")}
		if made := harness.RunKith(t, harness.Environment(s.Database(), key), "", "secret", "create"); made.Code != 0 {
			t.Fatalf("%+v", made)
		}
		s.StartWith(key)
		settings, other := s.NewPerson(t), s.NewPerson(t)
		maps.Copy(settings, map[string]string{
			"OTHER_USERNAME": other["MEMBER_USERNAME"], "OTHER_PASSWORD": other["MEMBER_PASSWORD"], "SCREENSHOTS": s.Screenshots(t),
		})
		s.RunWithBrowser(t, "factors.test.mjs", settings)
	})
}
