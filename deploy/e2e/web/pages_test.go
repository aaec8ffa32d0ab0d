// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/web -run 'TestPages|TestPeople|TestMailedLinks|TestSettings|TestToday|TestAtTheKeyboard|TestReview|TestOtherSites'

package web

import (
	"crypto/rand"
	"maps"
	"net"
	"net/url"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestPages: a member signs up, publishes a profile, gives agents access and revokes it, and
// deletes the account, with screenshots of every page.
func TestPages(t *testing.T) {
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		s.StartWith(map[string]string{"KITH_SIGN_UP": "true"})
		s.RunWithBrowser(t, "pages.test.mjs", map[string]string{"SCREENSHOTS": s.Topology.Screenshots(t)})
	})
}

// TestPeople: a member filters the list of people, acts on several at once and saves views, with
// and without the script, with screenshots of every page.
func TestPeople(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		m := &harness.Member{Service: s, Username: settings["MEMBER_USERNAME"]}
		settings["BEARER"], settings["SCREENSHOTS"] = m.Token(t).Bearer, s.Topology.Screenshots(t)
		s.RunWithBrowser(t, "people.test.mjs", settings)
	})
}

// TestMailedLinks: the pages behind the links in emails, with screenshots.
func TestMailedLinks(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.RunWithBrowser(t, "mail.test.mjs", startWithMail(t, s))
	})
}

// TestSettings: a member fills in the profile beside its preview, adds a device, and changes their address, with
// and without the script, with screenshots.
func TestSettings(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.RunWithBrowser(t, "settings.test.mjs", startWithMail(t, s))
	})
}

// startWithMail starts a service that sends mail to the test's own server, and returns the
// settings of a browser test with a member.
func startWithMail(t *testing.T, s *harness.Service) map[string]string {
	t.Helper()
	password := harness.Secrets.Keep("mail password", rand.Text())
	host := harness.FreeAddress(t)
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	mailServer := url.URL{Scheme: "smtp", User: url.UserPassword("kith", password), Host: host, RawQuery: "from=kith@kith.example"}
	s.StartWith(map[string]string{"KITH_SIGN_UP": "true", "KITH_SMTP_URL": mailServer.String()})
	settings := s.NewPerson(t)
	maps.Copy(settings, map[string]string{"SMTP_PORT": port, "SMTP_PASSWORD": password, "SCREENSHOTS": s.Topology.Screenshots(t)})
	return settings
}

// TestToday: a member sees what is due and acts on it, by mouse, by keyboard and without script,
// with screenshots.
func TestToday(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		settings["SCREENSHOTS"] = s.Topology.Screenshots(t)
		s.RunWithBrowser(t, "today.test.mjs", settings)
	})
}

// TestAtTheKeyboard: a member can give an agent access with the keyboard only.
func TestAtTheKeyboard(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		s.RunWithBrowser(t, "keyboard.test.mjs", s.NewPerson(t))
	})
}

// TestReview: a member reviews and undoes what an agent did, and uses the bin, groups and tags.
func TestReview(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		settings := s.NewPerson(t)
		settings["SCREENSHOTS"] = s.Topology.Screenshots(t)
		s.RunWithBrowser(t, "activity.test.mjs", settings)
	})
}

// TestOtherSites: pages of other origins, in the browser of a signed-in member, can neither
// change nor read anything.
func TestOtherSites(t *testing.T) {
	harness.SplitSite(t, func(t *testing.T, s *harness.Service) {
		s.Start()
		s.RunWithBrowser(t, "attacks.test.mjs", s.NewPerson(t))
	})
}
