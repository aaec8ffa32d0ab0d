// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run TestLargeImportsByAgent

package imports

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestLargeImportsByAgent: an agent imports an uploaded file and undoes the import, while
// the service is killed twice during the import and once during the undo. No row is lost or
// imported twice.
func TestLargeImportsByAgent(t *testing.T) {
	t.Parallel()
	google, linkedIn := largeFiles(t, 8_000)
	for _, c := range []struct {
		topology harness.Topology
		file     harness.ContactFile
	}{{harness.SQLite, linkedIn}, {harness.Split, google}} {
		t.Run(c.topology.Name, func(t *testing.T) {
			t.Parallel()
			s, f := harness.NewService(t, c.topology), c.file
			s.Settings["KITH_SANDBOX"] = "false"
			s.Settings["KITH_CREDITS_FREE"] = "2000" // a credit for every hundred rows
			s.Binary = harness.PlainBinary           // with the race detector the rows would take minutes
			s.Start()
			person := s.NewPerson(t)
			username := person["MEMBER_USERNAME"]
			ada := s.Agent(harness.PathCurrent, (&harness.Member{Service: s, Username: username}).Token(t).Bearer)
			v := s.NewSession(t)
			v.SignIn(t, person)

			task := ada.Call(t, "import_file", harness.Arguments{"upload_id": upload(t, v, f)})["task_id"]
			for _, share := range []int{5, 2} { // of all rows
				crashAt(t, s, username, "file_import", f.Rows()/share)
			}
			report := harness.At[map[string]any](t, endedLate(t, ada, task), "result")
			checkReport(t, f, report, f.Created, f.Repeated, false)
			checkOnFile(t, f, ada, f.Created)

			importID := harness.At[string](t, report, "import_id")
			task = ada.Call(t, "undo_change", harness.Arguments{"import_id": importID})["task_id"]
			crashAt(t, s, username, "undo_import", 5)
			undone := harness.At[map[string]any](t, endedLate(t, ada, task), "result")
			if int(harness.At[float64](t, undone, "restored_count")) != f.Created || harness.At[float64](t, undone, "conflict_count") > 0 {
				t.Errorf("undone: %v", undone)
			}
			checkOnFile(t, f, ada, 0)
			if again := ada.Call(t, "undo_change", harness.Arguments{"import_id": importID}); again["already_undone"] != true {
				t.Errorf("undone again: %v", again)
			}
		})
	}
}
