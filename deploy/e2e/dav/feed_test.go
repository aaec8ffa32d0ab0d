// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run 'TestFeed|TestFeedOverTwentyYears'

package dav

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// newFeed makes a calendar feed and returns its path.
func newFeed(t *testing.T, m *harness.Member, flags ...string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(m.Service.Operate(t, "", append([]string{"feed", "create", m.Username, "--name", "dates"}, flags...)...)), "\n")
	_, secret, ok := strings.Cut(lines[len(lines)-1], "/calendar/") // the command does not know the address of the test's service
	if !ok {
		t.Fatalf("the address is %q", lines[len(lines)-1])
	}
	harness.Secrets.Keep("calendar feed", strings.TrimSuffix(secret, ".ics"))
	return "/calendar/" + secret
}

// TestFeed: a program that nobody here wrote subscribes to a calendar, which is gone once it is removed. The harness looks for the
// address in the logs and traces.
func TestFeed(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		agent := ada.Agent(t)
		grace := agent.Create(t, harness.Arguments{"name": "Grace, Hopper; PhD", "important_dates": []harness.Arguments{{"kind": "birthday", "date": "--02-29"}}})
		due := time.Now().AddDate(0, 0, 30).Format(time.DateOnly)
		agent.Call(t, "create_reminder", harness.Arguments{"text": "Ask about COBOL", "due_on": due, "recurrence": "weekly", "connection_ids": []string{grace}})
		path := newFeed(t, ada)

		root := t.TempDir()
		f := folder{filepath.Join(root, "calendar"), filepath.Join(root, "config")}
		if err := os.MkdirAll(f.path, 0o700); err != nil {
			t.Fatal(err)
		}
		config := fmt.Sprintf(`[general]
status_path = "%[1]s/status"
[pair both]
a = "local"
b = "feed"
collections = null
[storage local]
type = "filesystem"
path = "%[1]s/calendar"
fileext = ".ics"
[storage feed]
type = "http"
url = "%[2]s"
`, root, s.Base+path)
		if err := os.WriteFile(f.config, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		f.run(t, "discover")
		f.run(t, "sync")
		files, err := filepath.Glob(f.path + "/*.ics")
		if err != nil || len(files) != 2 {
			t.Fatalf("the calendar has %v, %v", files, err)
		}
		var entries strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file) //nolint:gosec // of this test
			if err != nil {
				t.Fatal(err)
			}
			entries.Write(text)
		}
		unfolded := strings.NewReplacer("\r\n ", "", "\n ", "").Replace(entries.String())
		for _, line := range []string{
			"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", `SUMMARY:Birthday of Grace\, Hopper\; PhD`, `SUMMARY:Ask about COBOL (Grace\, Hopper\; PhD)`,
			"DTSTART;VALUE=DATE:" + strings.ReplaceAll(due, "-", ""), "URL:" + s.Base + "/people/" + grace,
		} {
			if !strings.Contains(unfolded, line) {
				t.Errorf("no %q in\n%s", line, unfolded)
			}
		}

		// khal shows them on their days.
		khal := filepath.Join(root, "khal")
		const formats = "[locale]\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\ndatetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\ntimeformat = %H:%M\n"
		write(t, khal, "[calendars]\n[[feed]]\npath = "+f.path+"\n"+formats+"[sqlite]\npath = "+khal+".db\n")
		days := runPython(t, "", "khal", "--config", khal, "list", "--day-format", "", "--format", "{start-date} {title}", "2028-01-01", "1200d")
		for _, day := range []string{"2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28"} {
			if !strings.Contains(days, day+" Birthday of Grace, Hopper; PhD") {
				t.Errorf("khal shows no birthday on %s in\n%s", day, days)
			}
		}
		if days := runPython(t, "", "khal", "--config", khal, "list", "--day-format", "", "--format", "{start-date} {title}", due, "8d"); strings.Count(days, "Ask about COBOL") != 2 {
			t.Errorf("in a week and a day, khal shows\n%s", days)
		}

		got := s.Send(t, http.MethodGet, path, "", "Accept-Encoding: gzip")
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "text/calendar; charset=utf-8" || got.Header.Get("Cache-Control") != "private, no-cache" ||
			got.Header.Get("Content-Encoding") != "" || got.Header.Get("RateLimit") == "" {
			t.Errorf("%d %v", got.Status, got.Header)
		}
		if same := s.Send(t, http.MethodGet, path, "", "If-None-Match: "+got.Header.Get("ETag")); same.Status != http.StatusNotModified || same.Body != "" {
			t.Errorf("with its tag: %d", same.Status)
		}
		if head := s.Send(t, http.MethodHead, path, ""); head.Status != http.StatusOK || head.Header.Get("ETag") != got.Header.Get("ETag") {
			t.Errorf("HEAD: %d %v", head.Status, head.Header)
		}
		var feedID string
		for line := range strings.Lines(s.Operate(t, "", "feed", "list", ada.Username)) {
			if strings.Contains(line, "dates") {
				feedID = strings.Fields(line)[0]
			}
		}
		s.Operate(t, "", "feed", "revoke", ada.Username, feedID)
		for _, missing := range []string{path, "/calendar/kith_cal_x.ics", "/calendar/x", "/calendar/"} {
			if got := s.Send(t, http.MethodGet, missing, ""); got.Status != http.StatusNotFound || !strings.Contains(got.Body, `"code":"not_found"`) {
				t.Errorf("%s: %d %s", missing, got.Status, got.Body)
			}
		}
	})
}

// TestFeedOverTwentyYears: ical.js shows birthdays and recurring reminders on the days on which Kith reminds, also where months are short.
func TestFeedOverTwentyYears(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		agent := ada.Agent(t)
		today := time.Now().UTC().Truncate(24 * time.Hour)
		until := today.AddDate(20, 0, 0)
		var want []string
		// recur adds the days that are whole numbers of months after a first one, in a shorter month the last day.
		recur := func(first time.Time, months int, title string) {
			for n := 0; ; n += months {
				day := time.Date(first.Year(), first.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
				day = day.AddDate(0, 0, min(first.Day(), day.AddDate(0, 1, -1).Day())-1)
				if day.After(until) {
					return
				}
				want = append(want, day.Format(time.DateOnly)+" "+title)
			}
		}
		for _, r := range []struct {
			day, month int // 0 is any month
			recurrence string
			months     int
		}{
			{29, 0, "monthly", 1}, {30, 0, "monthly", 1}, {31, 0, "monthly", 1}, {15, 0, "monthly", 1}, {29, 11, "quarterly", 3}, {30, 8, "quarterly", 3}, {31, 8, "quarterly", 3},
			{30, 4, "quarterly", 3}, {29, 2, "yearly", 12}, {31, 12, "yearly", 12},
		} {
			first := today.AddDate(0, 0, 1)
			for first.Day() != r.day || r.month > 0 && int(first.Month()) != r.month {
				first = first.AddDate(0, 0, 1)
			}
			title := fmt.Sprintf("%s on %d of %d", r.recurrence, r.day, r.month)
			agent.Call(t, "create_reminder", harness.Arguments{"text": title, "due_on": first.Format(time.DateOnly), "recurrence": r.recurrence})
			recur(first, r.months, title)
		}
		agent.Create(t, harness.Arguments{"name": "Léa \\ 🎂", "important_dates": []harness.Arguments{{"kind": "birthday", "date": "--02-29"}}})
		agent.Create(t, harness.Arguments{"name": "Grace Hopper", "important_dates": []harness.Arguments{{"kind": "birthday", "date": "2012-02-29"}, {"kind": "anniversary", "date": "1906-12-09"}}})
		recur(time.Date(1972, 2, 29, 0, 0, 0, 0, time.UTC), 12, "Birthday of Léa \\ 🎂")
		want = append(want, "1970-02-28 Birthday of Léa \\ 🎂", "1971-02-28 Birthday of Léa \\ 🎂")
		recur(time.Date(2012, 2, 29, 0, 0, 0, 0, time.UTC), 12, "Birthday of Grace Hopper (2012)")
		recur(time.Date(1970, 12, 9, 0, 0, 0, 0, time.UTC), 12, "Anniversary of Grace Hopper (1906)")

		file := filepath.Join(t.TempDir(), "feed.ics")
		if err := os.WriteFile(file, []byte(s.Send(t, http.MethodGet, newFeed(t, ada), "").Body), 0o600); err != nil {
			t.Fatal(err)
		}
		harness.NodeScript(t, "ical.js", "package.json")
		read := harness.RunNode(t, nil, harness.Repository("deploy", "e2e", "dav", "feed.mjs"), file, until.Format(time.DateOnly))
		if read.Code != 0 {
			t.Fatal(read.Stderr)
		}
		got := strings.Split(strings.TrimSpace(read.Stdout), "\n")
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
