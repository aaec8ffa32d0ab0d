// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestFirstRun

package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

var ownerLink = regexp.MustCompile(`http://\S+/owner\?link=\S+`)

// TestFirstRun: from the link that an empty server prints to the owner, their contacts, and an agent
// that makes its first call, with screenshots. The process with the database prints the link.
func TestFirstRun(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		if s.Topology.Split { // one process makes its key itself; with it, a form keeps a good password
			s.CreateSecretKey(t)
		}
		s.Start()
		harness.Eventually(t, "the link is printed", func() bool { return ownerLink.MatchString(s.Backend.Stdout.String()) })
		link := ownerLink.FindString(s.Backend.Stdout.String())
		if !strings.HasPrefix(link, s.Base+"/owner?") {
			t.Errorf("the link is %s", link)
		}
		if s.Topology.Split && ownerLink.MatchString(s.Edge.Stdout.String()) {
			t.Error("the edge prints a link")
		}
		env := harness.Environment(s.Database(), map[string]string{"KITH_BASE_URL": s.Base})
		again := harness.RunKith(t, env, "", "owner-link")
		if printed := strings.TrimSpace(again.Stdout); again.Code != 0 || printed == link || ownerLink.FindString(printed) != printed {
			t.Errorf("owner-link: %+v", again)
		}
		s.RunWithBrowser(t, "first.test.mjs", map[string]string{
			"OWNER_LINK": link, "SCREENSHOTS": s.Topology.Screenshots(t), "SAMPLE": harness.Repository("sandbox", "files", "linkedin_connections.csv"),
		})
		if refused := harness.RunKith(t, env, "", "owner-link"); refused.Code == 0 || !strings.Contains(refused.Stderr, "there is a member already: sign in at "+s.Base+"/sign-in") {
			t.Errorf("owner-link beside a member: %+v", refused)
		}
	})
}
