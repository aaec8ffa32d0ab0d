// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run TestImportsOnThePage

package imports

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestImportsOnThePage: a large file is imported on the pages, which show progress
// while the service is killed twice. No row is lost or imported twice, and the import is
// undone.
func TestImportsOnThePage(t *testing.T) {
	google, linkedIn := largeFiles(t, 20_000) // so many that a page that polls every 1.5 s sees the progress change
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		f := google
		if s.Topology.Split {
			f = linkedIn
		}
		s.Binary = harness.PlainBinary // with the race detector the rows would take minutes
		s.Start()
		person := s.NewPerson(t)
		watched := filepath.Join(t.TempDir(), "watched") // exists once the page shows the import
		settings := map[string]string{
			"WATCHED": watched,
			"FILE":    keep(t, f), "ROWS": strconv.Itoa(f.Rows()), "REPORT": report(f),
			"PATIENCE": strconv.Itoa(int(harness.LongTimeout.Milliseconds())),
		}
		maps.Copy(settings, person)
		ada := s.Agent(harness.PathCurrent, (&harness.Member{Service: s, Username: person["MEMBER_USERNAME"]}).Token(t).Bearer)
		inBrowser := func(name string) {
			settings["PART"] = name
			s.RunWithBrowser(t, "imports.test.mjs", settings)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			inBrowser("import")
		}()
		harness.Eventually(t, "the page shows the import", func() bool { _, err := os.Stat(watched); return err == nil })
		for _, share := range []int{5, 2} { // of all rows
			crashAt(t, s, person["MEMBER_USERNAME"], "file_import", f.Rows()/share)
		}
		<-done
		checkOnFile(t, f, ada, f.Created)
		inBrowser("undo")
		checkOnFile(t, f, ada, 0)
	})
}

// largeFiles are imported on the page and by an agent, each file once into each database.
// The larger one has this number of rows.
func largeFiles(t *testing.T, rows int) (google, linkedIn harness.ContactFile) {
	t.Helper()
	const largest = 10 << 20
	google, linkedIn = harness.GoogleFile(rows), linkedInFile(rows*4/5)
	for _, f := range []harness.ContactFile{google, linkedIn} {
		if len(f.Content) > largest {
			t.Fatalf("%s has %d bytes, which cannot be uploaded", f.Name, len(f.Content))
		}
	}
	return google, linkedIn
}

// report is what the page says about the finished import.
func report(f harness.ContactFile) string {
	return message.NewPrinter(language.English).Sprintf("%d people added, %d skipped, %d failed.", f.Created, f.Repeated, f.Failed)
}

// checkOnFile fails the test unless the member has this number of connections.
func checkOnFile(t *testing.T, f harness.ContactFile, a harness.Agent, want int) {
	t.Helper()
	username := harness.At[string](t, a.Call(t, "get_account", harness.Arguments{}), "member", "username")
	got := 0
	err := a.Service.OpenDatabase(t).QueryRowContext(t.Context(),
		"SELECT count(*) FROM connections c JOIN members m ON m.id = c.tenant_id WHERE m.username = '"+username+"'").Scan(&got)
	if err != nil || got != want {
		t.Errorf("%s: %d connections are stored, want %d (%v)", f.Name, got, want, err)
	}
}

// crashAt kills and restarts the service as soon as the member's latest job of a kind has
// done this many units of work.
func crashAt(t *testing.T, s *harness.Service, username, kind string, units int) {
	t.Helper()
	db := s.OpenDatabase(t)
	var state string
	var fence, done int
	look := func() {
		err := db.QueryRowContext(t.Context(), "SELECT j.state, j.fence, j.done FROM jobs j JOIN members m ON m.id = j.tenant_id WHERE m.username = '"+username+
			"' AND j.kind = '"+kind+"' ORDER BY j.number DESC LIMIT 1").Scan(&state, &fence, &done)
		if err != nil {
			state, done = err.Error(), 0 // no job yet
		}
	}
	harness.Within(t, harness.LongTimeout, fmt.Sprintf("%s has done %d", kind, units), func() bool { look(); return done >= units })
	s.Backend.Kill()
	if look(); state != "running" {
		t.Fatalf("%s was %s at %d: nothing was interrupted", kind, state, done)
	}
	t.Logf("%s: killed at %d, under token %d", kind, done, fence)
	s.Restart()
}
