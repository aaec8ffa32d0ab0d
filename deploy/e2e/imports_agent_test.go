package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestImportByAgent: an agent tries a file, imports it, finds that importing it
// again changes nothing, and takes the import back.
func TestImportByAgent(t *testing.T) {
	eachTopologyOf(t, kithBinary, func(t *testing.T, s *service) {
		a, f := s.newMember(t).agent(t), googleFile(600)
		call := arguments{"filename": f.name, "content": f.content}

		tried := a.imported(t, arguments{"filename": f.name, "content": f.content, "dry_run": true})
		f.checkReport(t, tried, f.created, f.again, true)
		f.checkOnFile(t, a, 0)

		done := a.imported(t, call)
		f.checkReport(t, done, f.created, f.again, false)
		f.checkOnFile(t, a, f.created)
		if found := a.find(t, "p7@mail.example"); len(found) != 1 {
			t.Errorf("the seventh is found as %v", found)
		}
		changes := encode(t, a.call(t, "list_changes", arguments{}))

		again := a.imported(t, call)
		f.checkReport(t, again, 0, f.created+f.again, false)
		f.checkOnFile(t, a, f.created)
		if now := encode(t, a.call(t, "list_changes", arguments{})); now != changes {
			t.Errorf("the second import changed something: %s", now)
		}

		importID := at[string](t, done, "import_id")
		tried = a.call(t, "undo_change", arguments{"import_id": importID, "dry_run": true})
		if int(at[float64](t, tried, "restored_count")) != f.created || len(at[[]any](t, tried, "conflicts")) > 0 {
			t.Errorf("undoing it would do %v", tried)
		}
		f.checkOnFile(t, a, f.created)
		undone := a.undone(t, importID)
		if int(at[float64](t, undone, "restored_count")) != f.created || at[float64](t, undone, "conflict_count") > 0 {
			t.Errorf("undoing it did %v", undone)
		}
		f.checkOnFile(t, a, 0)
		if again := a.call(t, "undo_change", arguments{"import_id": importID}); again["already_undone"] != true || again["task_id"] != nil {
			t.Errorf("undoing it again answers %v", again)
		}
		a.undone(t, at[string](t, undone, "undo_id"))
		f.checkOnFile(t, a, f.created)
	})
}

// imported imports a file to its end, and returns the report.
func (a agent) imported(t *testing.T, file arguments) map[string]any {
	t.Helper()
	job := a.ended(t, a.call(t, "import_file", file)["task_id"])
	if state := at[string](t, job, "state"); state != "succeeded" {
		t.Fatalf("the import %s: %v", state, job["error"])
	}
	return at[map[string]any](t, job, "result")
}

// undone takes an import back to the end, and returns the report.
func (a agent) undone(t *testing.T, importID string) map[string]any {
	t.Helper()
	job := a.ended(t, a.call(t, "undo_change", arguments{"import_id": importID})["task_id"])
	if state := at[string](t, job, "state"); state != "succeeded" {
		t.Fatalf("the undo %s: %v", state, job["error"])
	}
	return at[map[string]any](t, job, "result")
}

// maxErrors is how many rows that failed are told.
const maxErrors = 50

// checkReport wants a report to have these counts, which sum.
func (f peopleFile) checkReport(t *testing.T, report map[string]any, created, skipped int, dry bool) {
	t.Helper()
	for name, want := range map[string]int{"total": f.rows(), "created": created, "updated": 0, "skipped": skipped, "failed": f.failed} {
		if got := at[float64](t, report, name); int(got) != want {
			t.Errorf("%s: %s is %v, and should be %d", f.name, name, got, want)
		}
	}
	if at[bool](t, report, "dry_run") != dry || len(at[[]any](t, report, "errors")) != min(f.failed, maxErrors) {
		t.Errorf("the report is %v", report)
	}
}

// nameFile is a table of names with as many rows as an agent can pass.
func nameFile() peopleFile {
	const most = 1 << 20
	f := peopleFile{name: "names.csv"}
	var b strings.Builder
	b.WriteString("Name\n")
	for row := ""; b.Len()+len(row) < most; f.created++ {
		b.WriteString(row)
		row = fmt.Sprintf("Some One %d\n", 100_000+f.created)
	}
	f.created--
	f.content = b.String()
	return f
}

// TestCancelledImport: what an import did that is stopped on its way stays until it
// is taken back. The job has no result, and names the import.
func TestCancelledImport(t *testing.T) {
	eachTopologyOf(t, kithBinary, func(t *testing.T, s *service) {
		a, f := s.newMember(t).agent(t), nameFile()
		task := a.call(t, "import_file", arguments{"filename": f.name, "content": f.content})["task_id"]
		eventually(t, "the import is at work", func() bool {
			return at[float64](t, a.call(t, "get_job", arguments{"task_id": task}), "job", "progress", "done") > 0
		})
		a.call(t, "cancel_job", arguments{"task_id": task})
		job := a.ended(t, task)
		created := at[float64](t, job, "progress", "done")
		if at[string](t, job, "state") != "cancelled" || int(created) >= f.rows() || job["result"] != nil {
			t.Errorf("it is %v", job)
		}
		f.checkOnFile(t, a, int(created))
		a.undone(t, at[string](t, job, "import_id"))
		f.checkOnFile(t, a, 0)
	})
}

var uploadPattern = regexp.MustCompile(`fil_[0-9A-Z]{26}`)

// upload leaves a file on the settings page for the person's agent, and returns
// its id.
func (v *visitor) upload(t *testing.T, f peopleFile) string {
	t.Helper()
	const path = "/settings/imports"
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range form(v.send(t, path, nil)) {
		_ = w.WriteField(name, values[0]) // into memory
	}
	_ = w.WriteField("action", "keep")
	part, err := w.CreateFormFile("file", f.name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(f.content))
	_ = w.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.service.base+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("Origin", v.service.base)
	res, err := v.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := readAnswer(t, res); got.status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	return uploadPattern.FindString(v.send(t, path, nil).body)
}

// TestUploadForAgent: what a person uploads, their agent imports, by its id, or over
// plain HTTP, where the oldest comes first; another member's agent does not.
func TestUploadForAgent(t *testing.T) {
	eachTopologyOf(t, kithBinary, func(t *testing.T, s *service) {
		person := s.person(t)
		ada, eve := agent{s, pathCurrent, (&member{s, person["MEMBER_USERNAME"]}).token(t).bearer}, s.newMember(t).agent(t)
		v := s.newVisitor(t)
		v.signIn(t, person)
		first, second, third := googleFile(20), linkedInFile(30), nameFile()
		uploadID := v.upload(t, first)
		if stolen := eve.try(t, "import_file", arguments{"upload_id": uploadID}); !stolen.IsError || !strings.Contains(stolen.text(), "no file "+uploadID) {
			t.Errorf("another member is answered %s", stolen.text())
		}
		first.checkReport(t, ada.imported(t, arguments{"upload_id": uploadID, "dry_run": true}), first.created, 0, true)
		first.checkReport(t, ada.imported(t, arguments{"upload_id": uploadID}), first.created, 0, false)
		if again := ada.try(t, "import_file", arguments{"upload_id": uploadID}); !again.IsError {
			t.Errorf("what was imported is imported again: %s", again.text())
		}

		v.upload(t, second)
		v.upload(t, third)
		started := ada.startJob(t, "file_import")
		var job struct {
			ID   int `json:"job_id"`
			Poll string
		}
		if err := json.Unmarshal([]byte(started.body), &job); err != nil || started.status != http.StatusAccepted || started.header.Get("Location") != job.Poll ||
			started.header.Get("Retry-After") == "" {
			t.Fatalf("got %d %v %s", started.status, started.header, started.body)
		}
		second.checkReport(t, at[map[string]any](t, ada.ended(t, job.ID), "result"), second.created, 0, false)
		second.checkOnFile(t, ada, first.created+second.created)
		polled := s.send(t, http.MethodGet, strings.TrimPrefix(job.Poll, s.base), "", "Authorization: Bearer "+ada.bearer)
		if polled.status != http.StatusOK || polled.header.Get("Retry-After") != "" || !strings.Contains(polled.body, `"created":30`) {
			t.Errorf("got %d %v %s", polled.status, polled.header, polled.body)
		}

		next := ada.startJob(t, "file_import")
		ada.call(t, "cancel_job", arguments{"task_id": job.ID + 1})
		ada.ended(t, job.ID+1)
		none := ada.startJob(t, "file_import")
		if next.status != http.StatusAccepted || none.status != http.StatusConflict || !strings.Contains(none.body, "/settings/imports") ||
			strings.Contains(none.body, "content_base64") {
			t.Errorf("the next file: %d %s; no file: %d %s", next.status, next.body, none.status, none.body)
		}
	})
}
