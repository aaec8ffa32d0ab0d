// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run 'TestImportByAgent|TestCancelledImport|TestUploadForAgent'

package imports

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestImportByAgent: an agent previews a file, imports it, imports it again without any
// change, and undoes the import.
func TestImportByAgent(t *testing.T) {
	harness.EachPlain(t, func(t *testing.T, s *harness.Service) {
		a, f := s.NewMember(t).Agent(t), harness.GoogleFile(600)
		call := harness.Arguments{"filename": f.Name, "content": f.Content}

		tried := a.Import(t, harness.Arguments{"filename": f.Name, "content": f.Content, "dry_run": true})
		checkReport(t, f, tried, f.Created, f.Repeated, true)
		checkOnFile(t, f, a, 0)

		done := a.Import(t, call)
		checkReport(t, f, done, f.Created, f.Repeated, false)
		checkOnFile(t, f, a, f.Created)
		if found := a.Find(t, "p7@mail.example"); len(found) != 1 {
			t.Errorf("the seventh is found as %v", found)
		}
		changes := harness.Encode(t, a.Call(t, "list_changes", harness.Arguments{}))

		again := a.Import(t, call)
		checkReport(t, f, again, 0, f.Created+f.Repeated, false)
		checkOnFile(t, f, a, f.Created)
		if now := harness.Encode(t, a.Call(t, "list_changes", harness.Arguments{})); now != changes {
			t.Errorf("the second import changed something: %s", now)
		}

		importID := harness.At[string](t, done, "import_id")
		tried = a.Call(t, "undo_change", harness.Arguments{"import_id": importID, "dry_run": true})
		if int(harness.At[float64](t, tried, "restored_count")) != f.Created || len(harness.At[[]any](t, tried, "conflicts")) != 0 {
			t.Errorf("undoing it would do %v", tried)
		}
		checkOnFile(t, f, a, f.Created)
		undone := undo(t, a, importID)
		if int(harness.At[float64](t, undone, "restored_count")) != f.Created || harness.At[float64](t, undone, "conflict_count") > 0 {
			t.Errorf("undoing it did %v", undone)
		}
		checkOnFile(t, f, a, 0)
		if again := a.Call(t, "undo_change", harness.Arguments{"import_id": importID}); again["already_undone"] != true || again["task_id"] != nil {
			t.Errorf("undoing it again answers %v", again)
		}
		undo(t, a, harness.At[string](t, undone, "undo_id"))
		checkOnFile(t, f, a, f.Created)
	})
}

// undo undoes an import, waits for the job to end, and returns the report.
func undo(t *testing.T, a harness.Agent, importID string) map[string]any {
	t.Helper()
	job := a.AwaitJob(t, a.Call(t, "undo_change", harness.Arguments{"import_id": importID})["task_id"])
	if state := harness.At[string](t, job, "state"); state != "succeeded" {
		t.Fatalf("the undo %s: %v", state, job["error"])
	}
	return harness.At[map[string]any](t, job, "result")
}

// maxErrors is how many failed rows a report lists.
const maxErrors = 50

// checkReport fails the test unless the report has these counts.
func checkReport(t *testing.T, f harness.ContactFile, report map[string]any, created, skipped int, dry bool) {
	t.Helper()
	for name, want := range map[string]int{"total": f.Rows(), "created": created, "updated": 0, "skipped": skipped, "failed": f.Failed} {
		if got := harness.At[float64](t, report, name); int(got) != want {
			t.Errorf("%s: %s is %v, want %d", f.Name, name, got, want)
		}
	}
	failures, _ := report["errors"].([]any) // absent if there are none
	if harness.At[bool](t, report, "dry_run") != dry || len(failures) != min(f.Failed, maxErrors) {
		t.Errorf("the report is %v", report)
	}
}

// TestCancelledImport: rows that a cancelled import added stay until the import is undone.
// The job has no result, but names the import.
func TestCancelledImport(t *testing.T) {
	harness.EachPlain(t, func(t *testing.T, s *harness.Service) {
		a, f := s.NewMember(t).Agent(t), harness.NameFile()
		task := a.Call(t, "import_file", harness.Arguments{"filename": f.Name, "content": f.Content})["task_id"]
		harness.Eventually(t, "the import is running", func() bool {
			return harness.At[float64](t, a.Call(t, "get_job", harness.Arguments{"task_id": task}), "job", "progress", "done") > 0
		})
		a.Call(t, "cancel_job", harness.Arguments{"task_id": task})
		job := a.AwaitJob(t, task)
		created := harness.At[float64](t, job, "progress", "done")
		if harness.At[string](t, job, "state") != "cancelled" || int(created) >= f.Rows() || job["result"] != nil {
			t.Errorf("it is %v", job)
		}
		checkOnFile(t, f, a, int(created))
		undo(t, a, harness.At[string](t, job, "import_id"))
		checkOnFile(t, f, a, 0)
	})
}

var uploadPattern = regexp.MustCompile(`fil_[a-z]{2}\d{3}[a-z]{2}\d{3}`)

// upload uploads a file on the page for the member's agent, and returns its id.
func upload(t *testing.T, v *harness.Session, f harness.ContactFile) string {
	t.Helper()
	const path = "/import"
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range harness.Form(v.Send(t, path, nil)) {
		_ = w.WriteField(name, values[0]) // into memory
	}
	part, err := w.CreateFormFile("file", f.Name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(f.Content))
	_ = w.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.Service.Base+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("Origin", v.Service.Base)
	res, err := v.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	got := harness.ReadResponse(t, res)
	if got.Status != http.StatusSeeOther {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	return uploadPattern.FindString(got.Header.Get("Location"))
}

// TestUploadForAgent: an agent imports a file that its member uploaded, by the file's id or,
// over plain HTTP, the oldest first. Another member's agent cannot.
func TestUploadForAgent(t *testing.T) {
	harness.EachPlain(t, func(t *testing.T, s *harness.Service) {
		person := s.NewPerson(t)
		ada, eve := s.Agent(harness.PathCurrent, (&harness.Member{Service: s, Username: person["MEMBER_USERNAME"]}).Token(t).Bearer), s.NewMember(t).Agent(t)
		v := s.NewSession(t)
		v.SignIn(t, person)
		first, second, third := harness.GoogleFile(20), linkedInFile(30), harness.NameFile()
		uploadID := upload(t, v, first)
		if stolen := eve.Try(t, "import_file", harness.Arguments{"upload_id": uploadID}); !stolen.IsError || !strings.Contains(stolen.Text(), "no file "+uploadID) {
			t.Errorf("another member is answered %s", stolen.Text())
		}
		checkReport(t, first, ada.Import(t, harness.Arguments{"upload_id": uploadID, "dry_run": true}), first.Created, 0, true)
		checkReport(t, first, ada.Import(t, harness.Arguments{"upload_id": uploadID}), first.Created, 0, false)
		if again := ada.Try(t, "import_file", harness.Arguments{"upload_id": uploadID}); !again.IsError {
			t.Errorf("the same upload is imported twice: %s", again.Text())
		}

		upload(t, v, second)
		upload(t, v, third)
		started := ada.StartJob(t, "file_import")
		var job struct {
			ID   int `json:"job_id"`
			Poll string
		}
		if err := json.Unmarshal([]byte(started.Body), &job); err != nil || started.Header.Get("Retry-After") == "" {
			t.Fatalf("got %d %v %s", started.Status, started.Header, started.Body)
		}
		harness.CheckSame(t, "the start of the job", started.Head("Location"), map[string]string{"status": "202", "Location": job.Poll})
		checkReport(t, second, harness.At[map[string]any](t, ada.AwaitJob(t, job.ID), "result"), second.Created, 0, false)
		checkOnFile(t, second, ada, first.Created+second.Created)
		polled := s.Send(t, http.MethodGet, strings.TrimPrefix(job.Poll, s.Base), "", "Authorization: Bearer "+ada.Bearer)
		if polled.Status != http.StatusOK || polled.Header.Get("Retry-After") != "" || !strings.Contains(polled.Body, `"created":30`) {
			t.Errorf("got %d %v %s", polled.Status, polled.Header, polled.Body)
		}

		next := ada.StartJob(t, "file_import")
		ada.Call(t, "cancel_job", harness.Arguments{"task_id": job.ID + 1})
		ada.AwaitJob(t, job.ID+1)
		none := ada.StartJob(t, "file_import")
		harness.CheckSame(t, "the next file and no file", []int{next.Status, none.Status}, []int{http.StatusAccepted, http.StatusConflict})
		if !strings.Contains(none.Body, "/settings/imports") || strings.Contains(none.Body, "content_base64") {
			t.Errorf("the next file: %s; no file: %s", next.Body, none.Body)
		}
	})
}
