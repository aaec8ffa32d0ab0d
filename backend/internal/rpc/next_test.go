package rpc_test

import (
	"fmt"
	"testing"
)

// wantNext fails the test unless the answer ends with these calls.
func wantNext(t *testing.T, what string, a answer, want ...string) {
	t.Helper()
	calls, _ := a.body["next"].([]any)
	var got []string
	for i := range calls {
		got = append(got, fmt.Sprintf("%v %v", a.at("next", i, "tool"), a.at("next", i, "arguments")))
	}
	if a.code() != "" || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: next is %q, want %q: %v", what, got, want, a.body)
	}
}

// Answers about jobs name the calls that make sense next, with all their arguments, and only
// calls that the caller may make.
func TestNext(t *testing.T) {
	t.Parallel()
	eachPaid(t, 100, func(t *testing.T, p *paid) {
		wait := func(task int) string { return fmt.Sprintf("get_job map[task_id:%d wait_seconds:20]", task) }
		wantNext(t, "a dry run", p.call(t, importFile, inline(twoPeople, `,"dry_run":true`)), wait(1))
		wantNext(t, "a dry run that ended", p.finish(t, 1, p.time))

		wantNext(t, "an import", p.call(t, importFile, inline(twoPeople)), wait(2))
		wantNext(t, "a queued import", p.call(t, getJob, `{"task_id":2}`), wait(2))
		done := p.finish(t, 2, p.time)
		importID := fmt.Sprint(done.at("job", "result", "import_id"))
		undo := fmt.Sprintf("undo_change map[dry_run:true import_id:%s]", importID)
		wantNext(t, "an import that ended", done, "find_duplicates <nil>", undo)
		limited := p.limitedTo(t, "get_job import_file find_duplicates")
		wantNext(t, "a token without undo_change", p.call(t, getJob, `{"task_id":2}`, "Authorization", "Bearer "+limited), "find_duplicates <nil>")

		wantNext(t, "the same people again", p.call(t, importFile, inline(twoPeople, `,"on_match":"skip"`)), wait(3))
		wantNext(t, "an import of nothing new", p.finish(t, 3, p.time))

		wantNext(t, "a dry undo", p.call(t, undoImport, `{"import_id":"`+importID+`","dry_run":true}`))
		wantNext(t, "an undo", p.call(t, undoImport, `{"import_id":"`+importID+`"}`), wait(4))
		wantNext(t, "an undo that ended", p.finish(t, 4, p.time))

		wantNext(t, "vectors", p.call(t, embed, `{}`), wait(5))
		wantNext(t, "a cancelled job", p.call(t, cancelJob, `{"task_id":5}`))
	})
}
