package harness

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Import imports a file, waits for the job to end, and returns the report.
func (a Agent) Import(t *testing.T, file Arguments) map[string]any {
	t.Helper()
	job := a.AwaitJob(t, a.Call(t, "import_file", file)["task_id"])
	if state := At[string](t, job, "state"); state != "succeeded" {
		t.Fatalf("the import %s: %v", state, job["error"])
	}
	return At[map[string]any](t, job, "result")
}

// AwaitJob waits until a job has ended, and returns it.
func (a Agent) AwaitJob(t *testing.T, task any) map[string]any {
	t.Helper()
	return a.AwaitJobWithin(t, Timeout, task)
}

func (a Agent) AwaitJobWithin(t *testing.T, most time.Duration, task any) map[string]any {
	t.Helper()
	var job map[string]any
	Within(t, most, fmt.Sprintf("job %v has ended", task), func() bool {
		job = At[map[string]any](t, a.Call(t, "get_job", Arguments{"task_id": task, "wait_seconds": 20}), "job")
		return At[bool](t, job, "terminal")
	})
	return job
}

// ParkedJob returns the number of a queued job that no worker takes. It is made from an
// ended job by giving it an unknown kind.
func (a Agent) ParkedJob(t *testing.T) int {
	t.Helper()
	job := a.AwaitJob(t, a.Call(t, "embed_objects", Arguments{})["task_id"])
	number, username := int(At[float64](t, job, "job_id")), At[string](t, a.Call(t, "get_account", Arguments{}), "member", "username")
	ExecDatabase(t, a.Service.DatabaseURL, fmt.Sprintf("UPDATE jobs SET kind = 'parked', state = 'queued', checkpoint = '', result = '', ended_at = NULL "+
		"WHERE number = %d AND tenant_id = (SELECT id FROM members WHERE username = '%s')", number, username))
	return number
}

// StartJob starts a job over plain HTTP.
func (a Agent) StartJob(t *testing.T, kind string) Response {
	t.Helper()
	return a.Service.Send(t, http.MethodPost, "/api/jobs", `{"kind":"`+kind+`"}`, JSONType, "Authorization: Bearer "+a.Bearer)
}
