// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/jobs -run TestStartsAtOnce

package jobs

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestStartsAtOnce: many concurrent starts of one kind create one job, charged once. A
// member's jobs run one after the other, so the second waits while the first runs.
func TestStartsAtOnce(t *testing.T) {
	const starts = 50
	harness.EachPlain(t, func(t *testing.T, s *harness.Service) {
		a, f := s.NewMember(t).Agent(t), harness.NameFile()
		working := a.Call(t, "import_file", harness.Arguments{"filename": f.Name, "content": f.Content})["task_id"]
		jobs := map[string]map[string]int{"embed_objects": {}, "file_import": {}}
		var mu sync.Mutex
		var wait sync.WaitGroup
		for i := range 2 * starts {
			kind := []string{"embed_objects", "file_import"}[i%2]
			wait.Go(func() {
				got := a.StartJob(t, kind)
				mu.Lock()
				defer mu.Unlock()
				jobs[kind][fmt.Sprint(got.Status, " ", got.Header.Get("Location"))]++
			})
		}
		wait.Wait()
		job := func(number any) string { return fmt.Sprint("202 ", s.Base, "/api/jobs/", number) }
		if want := map[string]map[string]int{"file_import": {job(working): starts}, "embed_objects": {job(2): starts}}; !reflect.DeepEqual(jobs, want) {
			t.Errorf("the answers are %v, want %v", jobs, want)
		}
		a.Call(t, "cancel_job", harness.Arguments{"task_id": working})
		imported, embedded := a.AwaitJob(t, working), a.AwaitJob(t, 2)
		if harness.At[string](t, imported, "state") != "cancelled" || harness.At[string](t, embedded, "state") != "succeeded" {
			t.Fatalf("they are %v and %v", imported, embedded)
		}
		rows, vectors := int(harness.At[float64](t, imported, "progress", "done")), int(harness.At[float64](t, embedded, "result", "embedded"))
		want := 5 + rows/100 + 2 + vectors/100
		if used := harness.At[float64](t, a.Call(t, "get_account", harness.Arguments{}), "credits", "used"); int(used) != want || vectors != rows {
			t.Errorf("%v credits are used for %d rows and %d vectors, want %d", used, rows, vectors, want)
		}
	})
}
