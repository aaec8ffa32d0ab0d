package e2e

import (
	"crypto/rand"
	"maps"
	"net"
	"net/url"
	"testing"
)

// TestPages: a person signs up, shows themselves, lets agents in and sends them
// away, and leaves, with pictures of every page on the way.
func TestPages(t *testing.T) {
	eachSite(t, func(t *testing.T, s *service) {
		s.startWith(map[string]string{"KITH_SIGN_UP": "true"})
		s.runWithBrowser(t, "pages.test.mjs", map[string]string{"SCREENSHOTS": s.screenshots(t)})
	})
}

// TestMailedLinks: where there is a mail server, what the links of its letters
// lead to, with pictures too.
func TestMailedLinks(t *testing.T) {
	atSplitSite(t, func(t *testing.T, s *service) {
		password := secrets.keep("mail password", rand.Text())
		host := freeAddress(t)
		_, port, err := net.SplitHostPort(host)
		if err != nil {
			t.Fatal(err)
		}
		mailServer := url.URL{Scheme: "smtp", User: url.UserPassword("kith", password), Host: host, RawQuery: "from=kith@kith.example"}
		s.startWith(map[string]string{"KITH_SIGN_UP": "true", "KITH_SMTP_URL": mailServer.String()})
		settings := s.person(t)
		maps.Copy(settings, map[string]string{"SMTP_PORT": port, "SMTP_PASSWORD": password, "SCREENSHOTS": s.screenshots(t)})
		s.runWithBrowser(t, "mail.test.mjs", settings)
	})
}

// TestAtTheKeyboard: who has no mouse can let an agent in.
func TestAtTheKeyboard(t *testing.T) {
	atSplitSite(t, func(t *testing.T, s *service) {
		s.start()
		s.runWithBrowser(t, "keyboard.test.mjs", s.person(t))
	})
}

// TestOtherSites: pages of other origins, in the browser of a member who is
// signed in, change nothing and read nothing.
func TestOtherSites(t *testing.T) {
	atSplitSite(t, func(t *testing.T, s *service) {
		s.start()
		s.runWithBrowser(t, "attacks.test.mjs", s.person(t))
	})
}
