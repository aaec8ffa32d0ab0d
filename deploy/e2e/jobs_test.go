package e2e

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"time"
)

// ended waits for the end of a job, and returns it.
func (a agent) ended(t *testing.T, task any) map[string]any {
	t.Helper()
	return a.endedWithin(t, patience, task)
}

// endedLate is ended, of a job with very much to do.
func (a agent) endedLate(t *testing.T, task any) map[string]any {
	t.Helper()
	return a.endedWithin(t, importPatience, task)
}

func (a agent) endedWithin(t *testing.T, most time.Duration, task any) map[string]any {
	t.Helper()
	var job map[string]any
	within(t, most, fmt.Sprintf("job %v has ended", task), func() bool {
		job = at[map[string]any](t, a.call(t, "get_job", arguments{"task_id": task, "wait_seconds": 20}), "job")
		return at[bool](t, job, "terminal")
	})
	return job
}

// parkedJob returns the number of a job that is queued, and that nobody works on:
// it is made of one that has ended.
func (a agent) parkedJob(t *testing.T) int {
	t.Helper()
	job := a.ended(t, a.call(t, "embed_objects", arguments{})["task_id"])
	number, username := int(at[float64](t, job, "job_id")), at[string](t, a.call(t, "get_account", arguments{}), "member", "username")
	execDatabase(t, a.service.databaseURL, fmt.Sprintf("UPDATE jobs SET kind = 'parked', state = 'queued', checkpoint = '', result = '', ended_at = NULL "+
		"WHERE number = %d AND tenant_id = (SELECT id FROM members WHERE username = '%s')", number, username))
	return number
}

// startJob starts a job over plain HTTP.
func (a agent) startJob(t *testing.T, kind string) answer {
	t.Helper()
	return a.service.send(t, http.MethodPost, "/api/jobs", `{"kind":"`+kind+`"}`, jsonType, "Authorization: Bearer "+a.bearer)
}

// TestStartsAtOnce: many starts of one kind at once give one job, for one price.
// A member's jobs run one after the other, so that one waits while the other is at
// work.
func TestStartsAtOnce(t *testing.T) {
	const starts = 50
	eachTopologyOf(t, kithBinary, func(t *testing.T, s *service) {
		a, f := s.newMember(t).agent(t), nameFile()
		working := a.call(t, "import_file", arguments{"filename": f.name, "content": f.content})["task_id"]
		jobs := map[string]map[string]int{"embed_objects": {}, "file_import": {}}
		var mu sync.Mutex
		var wait sync.WaitGroup
		for i := range 2 * starts {
			kind := []string{"embed_objects", "file_import"}[i%2]
			wait.Go(func() {
				got := a.startJob(t, kind)
				mu.Lock()
				defer mu.Unlock()
				jobs[kind][fmt.Sprint(got.status, " ", got.header.Get("Location"))]++
			})
		}
		wait.Wait()
		job := func(number any) string { return fmt.Sprint("202 ", s.base, "/api/jobs/", number) }
		if want := map[string]map[string]int{"file_import": {job(working): starts}, "embed_objects": {job(2): starts}}; !reflect.DeepEqual(jobs, want) {
			t.Errorf("they were answered %v, and not %v", jobs, want)
		}
		a.call(t, "cancel_job", arguments{"task_id": working})
		imported, embedded := a.ended(t, working), a.ended(t, 2)
		if at[string](t, imported, "state") != "cancelled" || at[string](t, embedded, "state") != "succeeded" {
			t.Fatalf("they are %v and %v", imported, embedded)
		}
		rows, vectors := int(at[float64](t, imported, "progress", "done")), int(at[float64](t, embedded, "result", "embedded"))
		want := 5 + rows/100 + 2 + vectors/100
		if used := at[float64](t, a.call(t, "get_account", arguments{}), "credits", "used"); int(used) != want || vectors != rows {
			t.Errorf("%v credits are used for %d rows and %d vectors, and not %d", used, rows, vectors, want)
		}
	})
}
