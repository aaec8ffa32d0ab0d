// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run TestCalendars

package dav

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestCalendars: programs that nobody here wrote find the calendar feeds of a member from the bare address, with the password of a device: tsdav, and
// vdirsyncer, whose copy khal reads. They see changes made in Kith, and cannot make any.
func TestCalendars(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		agent := ada.Agent(t)
		grace := agent.Create(t, harness.Arguments{"name": "Grace Hopper", "important_dates": []harness.Arguments{{"kind": "birthday", "date": "1904-02-29"}}})
		due := time.Now().AddDate(0, 0, 30).Format(time.DateOnly)
		agent.Call(t, "create_reminder", harness.Arguments{"text": "Ask about COBOL", "due_on": due, "recurrence": "weekly", "connection_ids": []string{grace}})
		newFeed(t, ada)
		password := newDevice(t, ada)
		t.Run("vdirsyncer", func(t *testing.T) { inKhal(t, s, ada, password, due) })
		harness.RunNodeTests(t, "calendars.test.mjs", map[string]string{"BASE_URL": s.Base, "MEMBER_USERNAME": ada.Username, "APP_PASSWORD": password, "DUE": due})
		if got := s.Send(t, "PROPFIND", "/.well-known/caldav", ""); got.Status != http.StatusMovedPermanently || got.Header.Get("Location") != s.Base+"/dav/" {
			t.Errorf("the well-known path: %d %v", got.Status, got.Header)
		}
	})
}

// inKhal synchronises the calendars of a member with a folder, in which khal finds the entries on their days.
func inKhal(t *testing.T, s *harness.Service, m *harness.Member, password, due string) {
	root := t.TempDir()
	f := folder{filepath.Join(root, "calendars"), filepath.Join(root, "config")}
	write(t, f.config, fmt.Sprintf(`[general]
status_path = "%[1]s/status"
[pair both]
a = "local"
b = "kith"
collections = ["from b"]
conflict_resolution = "b wins"
metadata = ["displayname"]
[storage local]
type = "filesystem"
path = "%[1]s/calendars"
fileext = ".ics"
[storage kith]
type = "caldav"
url = "%[2]s/"
username = "%[3]s"
password = "%[4]s"
read_only = true
`, root, s.Base, m.Username, password))
	discover := func() { runPython(t, "y\ny\n", "vdirsyncer", "--config", f.config, "discover") }
	discover()
	f.run(t, "sync")
	f.run(t, "metasync")
	names, err := filepath.Glob(f.path + "/*/displayname")
	if err != nil || len(names) != 1 {
		t.Fatalf("there are the calendars %v, %v", names, err)
	}
	if name, err := os.ReadFile(names[0]); err != nil || string(name) != "dates" {
		t.Errorf("the calendar is called %q, %v", name, err)
	}
	khal := filepath.Join(root, "khal")
	const formats = "[locale]\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ndatetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\ntimeformat = %H:%M\n"
	write(t, khal, "[calendars]\n[[dates]]\npath = "+filepath.Dir(names[0])+"\n"+formats+"[sqlite]\npath = "+khal+".db\n")
	list := func(from, span string) string {
		return runPython(t, "", "khal", "--config", khal, "list", "--day-format", "", "--format", "{start-date} {title}", from, span)
	}
	days := list("2028-01-01", "500d")
	for _, day := range []string{"2028-02-29", "2029-02-28"} {
		if !strings.Contains(days, day+" Birthday of Grace Hopper (1904)") {
			t.Errorf("khal shows no birthday on %s in\n%s", day, days)
		}
	}
	if days := list(due, "8d"); strings.Count(days, "Ask about COBOL") != 2 {
		t.Errorf("in a week and a day, khal shows\n%s", days)
	}

	agent := m.Agent(t)
	agent.Create(t, harness.Arguments{"name": "Alan Turing", "important_dates": []harness.Arguments{{"kind": "birthday", "date": "1912-06-23"}}})
	f.run(t, "sync")
	if days := list("2028-06-23", "1d"); !strings.Contains(days, "2028-06-23 Birthday of Alan Turing (1912)") {
		t.Errorf("after a change, khal shows\n%s", days)
	}
}
