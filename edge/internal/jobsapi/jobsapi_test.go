package jobsapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/proto/catalog"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/jobsapi"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

const (
	reads   = "/kith.jobs.v1.JobService/GetJob"
	imports = "/kith.imports.v1.ImportService/ImportFile"
	queued  = `{"job":{"object":"job","job_id":7,"state":"queued","retry_after":1,"poll":"https://kith.example/api/jobs/7"}}`
	ended   = `{"job":{"object":"job","job_id":7,"state":"succeeded","retry_after":0,"poll":"https://kith.example/api/jobs/7"}}`
)

// backend answers each procedure, or fails.
type backend struct {
	answers map[string]string
	fails   map[string]*upstream.Error
	calls   []string
}

func (b *backend) CallTool(_ context.Context, c upstream.ToolCall) (upstream.Answer, error) {
	b.calls = append(b.calls, c.Procedure+" "+string(c.Arguments)+" "+c.Bearer)
	if err := b.fails[c.Procedure]; err != nil {
		return upstream.Answer{}, err
	}
	return upstream.Answer{Body: []byte(b.answers[c.Procedure])}, nil
}

func newAPI(t *testing.T, b *backend) *jobsapi.API {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	api, err := jobsapi.New(jobsapi.Options{
		Catalog: c, Backend: b, Problems: httpapi.NewProblems("https://kith.example"), Logger: slog.New(slog.DiscardHandler), BaseURL: "https://kith.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func request(method, path, body, bearer string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	return r
}

func TestServeJob(t *testing.T) {
	t.Parallel()
	refusal := func(kind upstream.Kind, message string) map[string]*upstream.Error {
		return map[string]*upstream.Error{reads: {Kind: kind, Message: message}}
	}
	for name, c := range map[string]struct {
		number, bearer string
		answer         string
		fails          map[string]*upstream.Error
		status         int
		want           string // in the body
		header         string // Name: value
	}{
		"queued":                {"7", "t", queued, nil, 200, `"job_id":7`, "Retry-After: 1"},
		"ended":                 {"7", "t", ended, nil, 200, `"state":"succeeded"`, "Retry-After: "},
		"is never kept":         {"7", "t", ended, nil, 200, ``, "Cache-Control: no-store"},
		"no credential":         {"7", "", queued, nil, 401, "unauthenticated", `Www-Authenticate: Bearer resource_metadata="https://kith.example/.well-known/oauth-protected-resource/mcp/v1", scope="connections timeline organize reminders insights imports directory account write"`},
		"a dead one":            {"7", "t", "", refusal(upstream.Unauthenticated, ""), 401, "unauthenticated", ""},
		"job of another member": {"8", "t", "", refusal(upstream.ToolFailed, "there is no job 8"), 404, "There is no job 8.", ""},
		"number too large":      {"99999999999", "t", queued, nil, 404, "There is no job with this number.", ""},
		"no number":             {"x", "t", queued, nil, 400, `"task_id"`, ""},
		"zero":                  {"0", "t", queued, nil, 404, "not_found", ""},
		"with a zero":           {"07", "t", queued, nil, 404, "not_found", ""},
		"with a sign":           {"+7", "t", queued, nil, 400, `"task_id"`, ""},
		"negative":              {"-7", "t", queued, nil, 400, `"task_id"`, ""},
		"beyond int64":          {"99999999999999999999", "t", queued, nil, 404, "not_found", ""},
		"the store is down":     {"7", "t", "", refusal(upstream.Unavailable, ""), 503, "unavailable", "Retry-After: 1"},
		"an internal error":     {"7", "t", "", refusal(upstream.Internal, "secret"), 500, "internal", ""},
		"no JSON":               {"7", "t", "nonsense", nil, 500, "internal", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &backend{answers: map[string]string{reads: c.answer}, fails: c.fails}
			w := httptest.NewRecorder()
			newAPI(t, b).ServeJob(w, request(http.MethodGet, "/api/jobs/"+c.number, "", c.bearer), c.number)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if name, value, ok := strings.Cut(c.header, ": "); ok && w.Header().Get(name) != value {
				t.Errorf("%s: %q", name, w.Header().Get(name))
			}
		})
	}
}

func TestServeStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, bearer string
		fails        map[string]*upstream.Error
		status       int
		want         string
		header       string
	}{
		"starts":                      {`{"kind":"file_import"}`, "t", nil, 202, `"job_id":7`, "Location: https://kith.example/api/jobs/7"},
		"waits for the member":        {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{imports: {Kind: upstream.ToolFailed, Approval: &accessv1.Approval{TaskId: 7}}}, 202, `"job_id":7`, "Location: https://kith.example/api/jobs/7"},
		"has Retry-After":             {`{"kind":"file_import"}`, "t", nil, 202, ``, "Retry-After: 1"},
		"no credential":               {`{"kind":"file_import"}`, "", nil, 401, "unauthenticated", ""},
		"another kind":                {`{"kind":"rm"}`, "t", nil, 400, "file_import", ""},
		"no kind":                     {`{}`, "t", nil, 400, "malformed_request", ""},
		"a kind that is not a string": {`{"kind":7}`, "t", nil, 400, "malformed_request", ""},
		"more than a kind":            {`{"kind":"file_import","params":{}}`, "t", nil, 400, "malformed_request", ""},
		"two kinds":                   {`{"kind":"file_import","kind":"file_import"}`, "t", nil, 400, "malformed_request", ""},
		"no JSON":                     {`kind=file_import`, "t", nil, 400, "malformed_request", ""},
		"too large":                   {`{"kind":"` + strings.Repeat("x", 5000) + `"}`, "t", nil, 413, "content_too_large", ""},
		"nothing to import":           {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{imports: {Kind: upstream.ToolFailed, Message: "nothing is there"}}, 409, "Nothing is there.", ""},
		"out of credits":              {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{imports: {Kind: upstream.Exhausted, Message: "used up"}}, 402, "out_of_credits", ""},
		"a rule is broken":            {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{imports: {Kind: upstream.Invalid, Message: "send a file", Fields: []upstream.Field{{Path: "content", Message: "is missing"}}}}, 400, `"content"`, ""},
		"a scope is missing":          {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{imports: {Kind: upstream.Refused, RequiredScopes: []string{"imports", "write"}}}, 403, "imports write", `Www-Authenticate: Bearer resource_metadata="https://kith.example/.well-known/oauth-protected-resource/mcp/v1", error="insufficient_scope", scope="imports write"`},
		"refused otherwise":           {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{imports: {Kind: upstream.Refused, Message: "not this tool"}}, 403, "Not this tool.", `Www-Authenticate: Bearer resource_metadata="https://kith.example/.well-known/oauth-protected-resource/mcp/v1", error="insufficient_scope"`},
		"lost on the way":             {`{"kind":"file_import"}`, "t", map[string]*upstream.Error{reads: {Kind: upstream.Unavailable}}, 503, "unavailable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &backend{answers: map[string]string{reads: queued, imports: `{"task_id":7}`}, fails: c.fails}
			w := httptest.NewRecorder()
			newAPI(t, b).ServeStart(w, request(http.MethodPost, "/api/jobs", c.body, c.bearer), "")
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if name, value, ok := strings.Cut(c.header, ": "); ok && w.Header().Get(name) != value {
				t.Errorf("%s: %q", name, w.Header().Get(name))
			}
			if c.status == 202 && strings.Join(b.calls, "; ") != imports+" {} t; "+reads+` {"task_id":7} t` {
				t.Errorf("called %v", b.calls)
			}
			if c.bearer == "" && len(b.calls) > 0 {
				t.Errorf("called %v without a credential", b.calls)
			}
		})
	}
}

// The answer to a start is 202 with Location and Retry-After, even if the job has already ended.
func TestServeStartOfAnEndedJob(t *testing.T) {
	t.Parallel()
	b := &backend{answers: map[string]string{reads: ended, imports: `{"task_id":7}`}}
	w := httptest.NewRecorder()
	newAPI(t, b).ServeStart(w, request(http.MethodPost, "/api/jobs", `{"kind":"file_import"}`, "t"), "")
	h := w.Header()
	if w.Code != http.StatusAccepted || h.Get("Retry-After") != "1" || h.Get("Location") != "https://kith.example/api/jobs/7" {
		t.Errorf("%d %v", w.Code, h)
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	r := request(http.MethodPost, "/api/jobs", `{"kind":"file_import"}`, "t")
	r.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	newAPI(t, &backend{fails: map[string]*upstream.Error{imports: upstream.AsError(errors.New("called"))}}).ServeStart(w, r, "")
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
