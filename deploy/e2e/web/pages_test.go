// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run 'TestPages|TestMailedLinks|TestAtTheKeyboard|TestOtherSites'

package web

import (
	"crypto/rand"
	"maps"
	"net"
	"net/url"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestPages: a person signs up, shows themselves, lets agents in and sends them
// away, and leaves, with pictures of every page on the way.
func TestPages(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SIGN_UP": "true"})
		s.RunWithBrowser(t, "pages.test.mjs", map[string]string{"SCREENSHOTS": s.Screenshots(t)})
	})
}

// TestMailedLinks: where there is a mail server, what the links of its letters
// lead to, with pictures too.
func TestMailedLinks(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		password := harness.Secrets.Keep("mail password", rand.Text())
		host := harness.FreeAddress(t)
		_, port, err := net.SplitHostPort(host)
		if err != nil {
			t.Fatal(err)
		}
		mailServer := url.URL{Scheme: "smtp", User: url.UserPassword("kith", password), Host: host, RawQuery: "from=kith@kith.example"}
		s.StartWith(map[string]string{"KITH_SIGN_UP": "true", "KITH_SMTP_URL": mailServer.String()})
		settings := s.NewPerson(t)
		maps.Copy(settings, map[string]string{"SMTP_PORT": port, "SMTP_PASSWORD": password, "SCREENSHOTS": s.Screenshots(t)})
		s.RunWithBrowser(t, "mail.test.mjs", settings)
	})
}

// TestAtTheKeyboard: who has no mouse can let an agent in.
func TestAtTheKeyboard(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		s.RunWithBrowser(t, "keyboard.test.mjs", s.NewPerson(t))
	})
}

// TestOtherSites: pages of other origins, in the browser of a member who is
// signed in, change nothing and read nothing.
func TestOtherSites(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		s.RunWithBrowser(t, "attacks.test.mjs", s.NewPerson(t))
	})
}
