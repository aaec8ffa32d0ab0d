// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run TestImportsOnThePage

package imports

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestImportsOnThePage: a large file is imported on the settings page, where its
// progress is seen to move while the service dies twice under it. No row is lost or
// taken twice, and the whole is taken back.
func TestImportsOnThePage(t *testing.T) {
	google, linkedIn := largeFiles(t)
	harness.EachSite(t, func(t *testing.T, s *harness.Service) {
		f := google
		if s.Topology.Split {
			f = linkedIn
		}
		s.Binary = harness.PlainBinary // by the race detector, the rows alone would take minutes
		s.Start()
		person := s.NewPerson(t)
		settings := map[string]string{
			"FILE": keep(t, f), "ROWS": strconv.Itoa(f.Rows()), "REPORT": report(f),
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
		for _, share := range []int{5, 2} { // of all rows
			crashAt(t, s, person["MEMBER_USERNAME"], "file_import", f.Rows()/share)
		}
		<-done
		checkOnFile(t, f, ada, f.Created)
		inBrowser("undo")
		checkOnFile(t, f, ada, 0)
	})
}

// largeFiles are those that are imported on the page and by an agent, each of them
// once into either database. They are large enough for a page that looks every 1.5 s
// to see more of the progress than where it stood still.
func largeFiles(t *testing.T) (google, linkedIn harness.ContactFile) {
	t.Helper()
	const largest = 10 << 20
	google, linkedIn = harness.GoogleFile(20_000), linkedInFile(16_000)
	for _, f := range []harness.ContactFile{google, linkedIn} {
		if len(f.Content) > largest {
			t.Fatalf("%s has %d bytes, which cannot be uploaded", f.Name, len(f.Content))
		}
	}
	return google, linkedIn
}

// report is what the page says of the import in the end.
func report(f harness.ContactFile) string {
	return fmt.Sprintf("%d rows: %d added, 0 changed, %d left as they were, %d failed.", f.Rows(), f.Created, f.Repeated, f.Failed)
}

// checkOnFile wants the member to have so many people.
func checkOnFile(t *testing.T, f harness.ContactFile, a harness.Agent, want int) {
	t.Helper()
	username := harness.At[string](t, a.Call(t, "get_account", harness.Arguments{}), "member", "username")
	got := 0
	err := a.Service.OpenDatabase(t).QueryRowContext(t.Context(),
		"SELECT count(*) FROM connections c JOIN members m ON m.id = c.tenant_id WHERE m.username = '"+username+"'").Scan(&got)
	if err != nil || got != want {
		t.Errorf("%s: %d people are on file, and there should be %d (%v)", f.Name, got, want, err)
	}
}

// crashAt kills the service as soon as the member's latest job of a kind has done so
// many units of work, and starts it again.
func crashAt(t *testing.T, s *harness.Service, username, kind string, units int) {
	t.Helper()
	db := s.OpenDatabase(t)
	var state string
	var fence, done int
	look := func() {
		err := db.QueryRowContext(t.Context(), "SELECT j.state, j.fence, j.done FROM jobs j JOIN members m ON m.id = j.tenant_id WHERE m.username = '"+username+
			"' AND j.kind = '"+kind+"' ORDER BY j.number DESC LIMIT 1").Scan(&state, &fence, &done)
		if err != nil {
			state, done = err.Error(), 0 // there is none yet
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
