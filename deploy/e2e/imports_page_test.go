package e2e

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
)

// TestImportsOnThePage: a large file is imported on the settings page, where its
// progress is seen to move while the service dies twice under it. No row is lost or
// taken twice, and the whole is taken back.
func TestImportsOnThePage(t *testing.T) {
	google, linkedIn := largeFiles(t)
	eachSite(t, func(t *testing.T, s *service) {
		f := google
		if s.topology.split {
			f = linkedIn
		}
		s.binary = kithBinary // by the race detector, the rows alone would take minutes
		s.start()
		person := s.person(t)
		settings := map[string]string{
			"FILE": f.keep(t), "ROWS": strconv.Itoa(f.rows()), "REPORT": f.report(),
			"PATIENCE": strconv.Itoa(int(importPatience.Milliseconds())),
		}
		maps.Copy(settings, person)
		ada := agent{s, pathCurrent, (&member{s, person["MEMBER_USERNAME"]}).token(t).bearer}
		inBrowser := func(name string) {
			settings["PART"] = name
			s.runWithBrowser(t, "imports.test.mjs", settings)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			inBrowser("import")
		}()
		for _, share := range []int{5, 2} { // of all rows
			s.crashAt(t, person["MEMBER_USERNAME"], "file_import", f.rows()/share)
		}
		<-done
		f.checkOnFile(t, ada, f.created)
		inBrowser("undo")
		f.checkOnFile(t, ada, 0)
	})
}

// largeFiles are those that are imported on the page and by an agent, each of them
// once into either database. They are large enough for a page that looks every 1.5 s
// to see more of the progress than where it stood still.
func largeFiles(t *testing.T) (google, linkedIn peopleFile) {
	t.Helper()
	const largest = 10 << 20
	google, linkedIn = googleFile(fewer(100_000)), linkedInFile(fewer(80_000))
	for _, f := range []peopleFile{google, linkedIn} {
		if len(f.content) > largest {
			t.Fatalf("%s has %d bytes, which cannot be uploaded", f.name, len(f.content))
		}
	}
	return google, linkedIn
}

// report is what the page says of the import in the end.
func (f peopleFile) report() string {
	return fmt.Sprintf("%d rows: %d added, 0 changed, %d left as they were, %d failed.", f.rows(), f.created, f.again, f.failed)
}

// checkOnFile wants the member to have so many people.
func (f peopleFile) checkOnFile(t *testing.T, a agent, want int) {
	t.Helper()
	username := at[string](t, a.call(t, "get_account", arguments{}), "member", "username")
	got := 0
	err := a.service.openDatabase(t).QueryRowContext(t.Context(),
		"SELECT count(*) FROM connections c JOIN members m ON m.id = c.tenant_id WHERE m.username = '"+username+"'").Scan(&got)
	if err != nil || got != want {
		t.Errorf("%s: %d people are on file, and there should be %d (%v)", f.name, got, want, err)
	}
}

// crashAt kills the service as soon as the member's latest job of a kind has done so
// many units of work, and starts it again.
func (s *service) crashAt(t *testing.T, username, kind string, units int) {
	t.Helper()
	db := s.openDatabase(t)
	var state string
	var fence, done int
	look := func() {
		err := db.QueryRowContext(t.Context(), "SELECT j.state, j.fence, j.done FROM jobs j JOIN members m ON m.id = j.tenant_id WHERE m.username = '"+username+
			"' AND j.kind = '"+kind+"' ORDER BY j.number DESC LIMIT 1").Scan(&state, &fence, &done)
		if err != nil {
			state, done = err.Error(), 0 // there is none yet
		}
	}
	within(t, importPatience, fmt.Sprintf("%s has done %d", kind, units), func() bool { look(); return done >= units })
	s.core.kill()
	if look(); state != "running" {
		t.Fatalf("%s was %s at %d: nothing was interrupted", kind, state, done)
	}
	t.Logf("%s: killed at %d, under token %d", kind, done, fence)
	s.restart()
}

// restart starts what was killed: the one process, or the backend.
func (s *service) restart() {
	s.t.Helper()
	if s.topology.split {
		s.startCore() // the edge goes on, and finds the new backend by itself
	} else {
		s.start()
	}
}
