package harness

import (
	"strings"
	"testing"
)

// TestAnswersAreChecked: an answer that does not match its schema is reported.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ajv is an npm package, which this run does not use")
	}
	call := ToolCall(t, "get_job", Arguments{"task_id": 1})
	for content, want := range map[string]string{
		`{"job":{"job_id":1,"progress":{}}}`:           "",
		`{"job":{"job_id":"1","progress":{}}}`:         "must be integer",
		`{"job":{"job_id":1,"progress":{},"title":1}}`: "must NOT have additional properties",
		`{}`: "must have required property 'job'",
	} {
		s, err := newSeenAnswers(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s.keep(call, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":`+content+`}}`)
		err = s.check()
		if want == "" && err != nil {
			t.Errorf("%s: %v", content, err)
		}
		if want == "" {
			continue
		}
		for _, draft := range []string{"draft-07", "2020-12"} {
			if err == nil || !strings.Contains(err.Error(), "get_job under "+draft) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", content, draft, err)
			}
		}
	}
}
