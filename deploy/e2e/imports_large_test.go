package e2e

import "testing"

// TestLargeImportsByAgent: what a person uploads is imported by their agent, and
// taken back, while the service dies twice under the import and once under its undo.
// No row is lost or taken twice.
func TestLargeImportsByAgent(t *testing.T) {
	t.Parallel()
	google, linkedIn := largeFiles(t)
	for _, c := range []struct {
		topology topology
		file     peopleFile
	}{{onSQLite, linkedIn}, {inTwo, google}} {
		t.Run(c.topology.name, func(t *testing.T) {
			t.Parallel()
			s, f := newService(t, c.topology), c.file
			s.settings["KITH_SANDBOX"] = "false"
			s.settings["KITH_CREDITS_FREE"] = "2000" // a credit for every hundred rows
			s.binary = kithBinary                    // by the race detector, the rows alone would take minutes
			s.start()
			person := s.person(t)
			username := person["MEMBER_USERNAME"]
			ada := agent{s, pathCurrent, (&member{s, username}).token(t).bearer}
			v := s.newVisitor(t)
			v.signIn(t, person)

			task := ada.call(t, "import_file", arguments{"upload_id": v.upload(t, f)})["task_id"]
			for _, share := range []int{5, 2} { // of all rows
				s.crashAt(t, username, "file_import", f.rows()/share)
			}
			report := at[map[string]any](t, ada.endedLate(t, task), "result")
			f.checkReport(t, report, f.created, f.again, false)
			f.checkOnFile(t, ada, f.created)

			importID := at[string](t, report, "import_id")
			task = ada.call(t, "undo_change", arguments{"import_id": importID})["task_id"]
			s.crashAt(t, username, "undo_import", 5)
			undone := at[map[string]any](t, ada.endedLate(t, task), "result")
			if int(at[float64](t, undone, "restored_count")) != f.created || at[float64](t, undone, "conflict_count") > 0 {
				t.Errorf("undone: %v", undone)
			}
			f.checkOnFile(t, ada, 0)
			if again := ada.call(t, "undo_change", arguments{"import_id": importID}); again["already_undone"] != true {
				t.Errorf("undone again: %v", again)
			}
		})
	}
}
