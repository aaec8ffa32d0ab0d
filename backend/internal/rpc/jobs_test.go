package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const (
	getJob    = "/kith.jobs.v1.JobService/GetJob"
	cancelJob = "/kith.jobs.v1.JobService/CancelJob"
)

// waker replaces the workers of a backend without workers.
type waker struct{ job.Hub }

func (*waker) Wake() {}

// started queues a job for a member and returns its number.
func started(t *testing.T, s *db.DB, owner tenant.ID, kind string) int32 {
	t.Helper()
	var number int32
	err := s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
		j, _, err := job.StartJob(ctx, u, job.Draft{Kind: kind, Total: 200})
		if err == nil {
			number = j.Number
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// ended claims and ends the member's queued job of a kind.
func ended(t *testing.T, s *db.DB, kind string, e job.End) {
	t.Helper()
	j, err := dbtest.Queue(t, s).ClaimJob(t.Context(), []string{kind}, time.Now().Add(time.Minute))
	if err != nil || j == nil {
		t.Fatalf("claimed %v, %v", j, err)
	}
	if err := dbtest.Queue(t, s).EndJob(t.Context(), job.Lease{ID: j.ID, Tenant: j.TenantID, Fence: j.Fence}, e); err != nil {
		t.Fatal(err)
	}
}

func TestGetJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		task := fmt.Sprintf(`{"task_id":%d}`, started(t, b.store, b.member, "file_import"))
		queued := b.call(t, getJob, task)
		if queued.at("job", "state") != "queued" || queued.at("job", "terminal") != false || queued.at("job", "retry_after") != 1.0 ||
			queued.at("job", "poll") != "https://kith.example/api/jobs/1" || queued.at("job", "progress", "total") != 200.0 ||
			queued.at("job", "result") != nil || queued.at("job", "error") != nil || queued.at("job", "object") != "job" {
			t.Errorf("queued: %v", queued.body)
		}
		ended(t, b.store, "file_import", job.End{State: job.Succeeded, Result: []byte(`{"total":200000,"errors":[{"row":7,"message":"no name"}]}`)})
		done := b.call(t, getJob, task)
		if done.at("job", "terminal") != true || done.at("job", "retry_after") != 0.0 || done.at("job", "result", "total") != 200000.0 ||
			done.at("job", "result", "errors", 0, "row") != 7.0 {
			t.Errorf("done: %v", done.body)
		}
		started(t, b.store, b.member, "file_import")
		ended(t, b.store, "file_import", job.End{State: job.Failed, Failure: &job.Failure{Code: "file_unreadable", Detail: "It is empty."}})
		failed := b.call(t, getJob, `{"task_id":2}`)
		if failed.at("job", "error", "code") != "file_unreadable" || failed.at("job", "error", "detail") != "It is empty." {
			t.Errorf("failed: %v", failed.body)
		}
		if none := b.call(t, getJob, `{"task_id":3}`); none.code() != "not_found" {
			t.Errorf("none: %v", none.body)
		}
		other := dbtest.Member(t, b.store, "other")
		started(t, b.store, other, "file_import")
		bearer := dbtest.Token(t, b.store, other)
		if theirs := b.call(t, getJob, `{"task_id":2}`, "Authorization", "Bearer "+bearer); theirs.code() != "not_found" {
			t.Errorf("another member's: %v", theirs.body)
		}
		if own := b.call(t, getJob, `{"task_id":1}`, "Authorization", "Bearer "+bearer); own.at("job", "state") != "queued" {
			t.Errorf("without any scope, their own: %v", own.body)
		}
	})
}

// A call that waits for a job returns when the job ends, even in another process.
func TestWaitForAJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		started(t, b.store, b.member, "file_import")
		answered := make(chan answer)
		go func() { answered <- b.call(t, getJob, `{"task_id":1,"wait_seconds":20}`) }()
		ended(t, b.store, "file_import", job.End{State: job.Succeeded})
		if got := <-answered; got.at("job", "state") != "succeeded" {
			t.Errorf("got %v", got.body)
		}
		started(t, b.store, b.member, "file_import")
		if got := b.call(t, getJob, `{"task_id":2,"wait_seconds":1}`); got.at("job", "state") != "queued" {
			t.Errorf("after its time: %v", got.body)
		}
		for _, body := range []string{`{"task_id":1,"wait_seconds":21}`, `{"task_id":0}`, `{}`, `{"task_id":"x"}`, `{"task_id":1.5}`} {
			if got := b.call(t, getJob, body); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}

// Only a job that succeeded has a result. A cancelled import reports an id by which the part that
// was imported can be undone.
func TestOnlySuccessHasAResult(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const result = `{"created":3,"import_id":"imp_up013wj881"}`
		for i, state := range []string{job.Cancelled, job.Failed, job.Succeeded} {
			number := started(t, b.store, b.member, "file_import")
			ended(t, b.store, "file_import", job.End{State: state, Result: json.RawMessage(result)})
			got := b.call(t, getJob, fmt.Sprintf(`{"task_id":%d}`, number))
			if succeeded := state == job.Succeeded; (got.at("job", "result") != nil) != succeeded || (got.at("job", "import_id") == nil) != succeeded {
				t.Errorf("%d, %s: %v", i, state, got.body)
			}
		}
	})
}

func TestCancelJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		started(t, b.store, b.member, "file_import")
		for range 2 {
			if got := b.call(t, cancelJob, `{"task_id":1}`); got.at("job", "state") != "cancelled" {
				t.Errorf("got %v", got.body)
			}
		}
		if got := b.call(t, cancelJob, `{"task_id":2}`); got.code() != "not_found" {
			t.Errorf("none: %v", got.body)
		}
		reader := dbtest.Token(t, b.store, b.member, "account")
		if got := b.call(t, cancelJob, `{"task_id":1}`, "Authorization", "Bearer "+reader); got.code() != "permission_denied" ||
			!strings.Contains(fmt.Sprint(got.body), "write") {
			t.Errorf("without write: %v", got.body)
		}
	})
}

// A job shows its result and its error only to a credential that may call the tool of the job.
// Others learn its state and progress.
func TestJobShowsItsResultToItsTool(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const secret = "Ada Lovelace"
		for _, state := range []string{job.Succeeded, job.Failed, job.Cancelled} {
			number := started(t, b.store, b.member, "file_import")
			ended(t, b.store, "file_import", job.End{
				State: state, Result: json.RawMessage(`{"import_id":"imp_up013wj881","errors":[{"row":1,"message":"` + secret + `"}]}`),
				Failure: &job.Failure{Code: "file_unreadable", Detail: secret},
			})
			task := fmt.Sprintf(`{"task_id":%d}`, number)
			for scopes, shown := range map[string]bool{"": false, "account write": false, "imports": false, "imports write": true} {
				got := b.call(t, getJob, task, "Authorization", "Bearer "+dbtest.Token(t, b.store, b.member, strings.Fields(scopes)...))
				shows := got.at("job", "result") != nil || got.at("job", "error") != nil || got.at("job", "import_id") != nil
				if got.at("job", "state") != state || got.at("job", "progress", "total") != 200.0 || shows != shown {
					t.Errorf("%s, scopes %q: %v", state, scopes, got.body)
				}
				if text := fmt.Sprint(got.body); !shown && (strings.Contains(text, secret) || strings.Contains(text, "imp_")) {
					t.Errorf("%s, scopes %q: %s", state, scopes, text)
				}
			}
			cancelled := b.call(t, cancelJob, task, "Authorization", "Bearer "+dbtest.Token(t, b.store, b.member, "account", "write"))
			if text := fmt.Sprint(cancelled.body); cancelled.at("job", "state") != state || strings.Contains(text, secret) || strings.Contains(text, "imp_") {
				t.Errorf("%s, cancel_job: %s", state, text)
			}
		}
	})
}
