// Package jobsapi serves jobs over plain HTTP, for callers who do not speak MCP: POST /api/jobs
// starts one, GET /api/jobs/{task_id} returns its progress.
//
// Both call tools, so scopes, prices and refusals are those of the tools. Starting a job
// calls the tool that starts its kind, without arguments; reading a job calls get_job. The
// catalogue says which tool starts which kind.
package jobsapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// maxBody bounds the request body, in bytes.
const maxBody = 4 << 10

// toolGetJob reads a job.
const toolGetJob = "get_job"

// Backend calls tools.
type Backend interface {
	// CallTool fails with an *upstream.Error.
	CallTool(ctx context.Context, call upstream.ToolCall) (upstream.Answer, error)
}

// Options are what the API needs. All are required.
type Options struct {
	Catalog  *catalog.Catalog
	Backend  Backend
	Problems *httpapi.Problems
	Logger   *slog.Logger
	BaseURL  string
}

// API serves jobs. It is immutable.
type API struct {
	options  Options
	failures httpapi.BackendErrors
	read     string            // the procedure of get_job
	starters map[string]string // procedures by the kind of job that they start
}

// New returns the API. It fails if the catalogue has no tool that reads jobs.
func New(o Options) (*API, error) {
	a := &API{options: o, starters: map[string]string{}, failures: httpapi.BackendErrors{
		Errors: o.Problems, Logger: o.Logger, NeedsBearer: "Jobs need a valid bearer token.",
		Challenge: bearer.NewChallenge(o.BaseURL+route.ResourcePrefix+route.PathMCPCurrent, o.Catalog.Scopes()),
	}}
	reader, ok := o.Catalog.Tool(toolGetJob)
	if !ok {
		return nil, fmt.Errorf("serve jobs: the catalogue has no tool %s", toolGetJob)
	}
	a.read = reader.Procedure
	for _, rpc := range o.Catalog.Tools() {
		if kind := rpc.Tool.JobKind; kind != "" {
			a.starters[kind] = rpc.Procedure
		}
	}
	return a, nil
}

// Routes returns the routes of jobs.
func (a *API) Routes() []route.Route {
	start := route.Route{
		Name: "jobs", Methods: []string{http.MethodPost}, Pattern: "/api/jobs", State: route.Current, Protocol: route.HTTP,
		RatePolicy: ratelimit.PolicyJobs, Handle: a.ServeStart,
		Summary: "Starts a job of the given kind, or returns the one that is queued or running. Needs a bearer token.",
	}
	read := start
	read.Name, read.Methods, read.Pattern, read.Handle = "job", []string{http.MethodGet}, "/api/jobs/{task_id}", a.ServeJob
	read.Summary = "The progress of a job, by the task_id that starting it returned. Needs a bearer token."
	return []route.Route{start, read}
}

// jobState has the fields of a job from which the headers of an answer are made.
type jobState struct {
	Poll       string `json:"poll"`
	RetryAfter int    `json:"retry_after"`
}

// ServeJob implements route.Handler for GET /api/jobs/{task_id}.
func (a *API) ServeJob(w http.ResponseWriter, r *http.Request, argument string) {
	w.Header().Set("Cache-Control", "no-store")
	token, ok := a.credential(w, r)
	if !ok {
		return
	}
	number, ok := parseNumber(argument)
	if !ok {
		a.options.Problems.Write(w, r, httpapi.InvalidParameter, "Send the task_id that starting the job returned.",
			httpapi.Field{Field: "task_id", Message: "must be a whole number, in digits"})
		return
	}
	if number == 0 {
		a.options.Problems.Write(w, r, httpapi.NotFound, "There is no job with this number.")
		return
	}
	job, state, failure := a.job(r.Context(), token, number)
	if failure != nil {
		a.failures.Write(w, r, failure, httpapi.NotFound)
		return
	}
	write(w, r, http.StatusOK, job, state)
}

// ServeStart implements route.Handler for POST /api/jobs.
func (a *API) ServeStart(w http.ResponseWriter, r *http.Request, _ string) {
	w.Header().Set("Cache-Control", "no-store")
	token, ok := a.credential(w, r)
	if !ok {
		return
	}
	kind, ok := a.readKind(w, r)
	if !ok {
		return
	}
	var started struct {
		TaskID int64 `json:"task_id"`
	}
	answer, err := a.call(r.Context(), upstream.ToolCall{Procedure: a.starters[kind], Bearer: token, Arguments: []byte("{}")})
	switch {
	case err != nil && err.Approval != nil: // the job that waits for the member's decision
		started.TaskID = int64(err.Approval.GetTaskId())
	case err != nil:
		a.failures.Write(w, r, err, httpapi.JobNotStarted)
		return
	default:
		if err := json.Unmarshal(answer.Body, &started); err != nil {
			a.failures.Write(w, r, err, httpapi.Internal)
			return
		}
	}
	job, state, err := a.job(r.Context(), token, started.TaskID)
	if err != nil {
		a.failures.Write(w, r, err, httpapi.Internal)
		return
	}
	w.Header().Set("Location", state.Poll)
	state.RetryAfter = max(1, state.RetryAfter) // also when the job has ended by now: the specification promises the header
	write(w, r, http.StatusAccepted, job, state)
}

// readKind returns the requested kind of job.
func (a *API) readKind(w http.ResponseWriter, r *http.Request) (string, bool) {
	var request struct {
		Kind *string `json:"kind"`
	}
	if !httpapi.ReadJSON(w, r, a.options.Problems, maxBody, &request) {
		return "", false
	}
	if request.Kind == nil {
		a.options.Problems.Write(w, r, httpapi.MalformedRequest, `Send a JSON object with one member, "kind".`,
			httpapi.Field{Field: "kind", Message: "is required"})
		return "", false
	}
	if _, known := a.starters[*request.Kind]; !known {
		a.options.Problems.Write(w, r, httpapi.InvalidParameter, "There is no such kind of job.",
			httpapi.Field{Field: "kind", Message: "must be one of " + strings.Join(Kinds(a.options.Catalog), ", ")})
		return "", false
	}
	return *request.Kind, true
}

// Kinds returns the kinds of job that can be started, in a fixed order.
func Kinds(c *catalog.Catalog) []string {
	var kinds []string
	for _, rpc := range c.Tools() {
		if kind := rpc.Tool.JobKind; kind != "" {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// parseNumber reads a job's number, and reports whether the text consists of digits. It returns 0, which
// no job has, for digits that cannot be the number of a job.
func parseNumber(text string) (number int64, digits bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 32) // a job has at most 31 bits
	if err != nil || text[0] == '0' {
		number = 0
	}
	return number, true
}

// job returns a job.
func (a *API) job(ctx context.Context, token string, number int64) (jsontext.Value, jobState, *upstream.Error) {
	arguments := fmt.Appendf(nil, `{"task_id":%d}`, number)
	answer, failure := a.call(ctx, upstream.ToolCall{Procedure: a.read, Bearer: token, Arguments: arguments})
	if failure != nil {
		return nil, jobState{}, failure
	}
	var read struct {
		Job jsontext.Value `json:"job"`
	}
	var state jobState
	err := json.Unmarshal(answer.Body, &read)
	if err == nil {
		err = json.Unmarshal(read.Job, &state)
	}
	return read.Job, state, upstream.AsError(err)
}

func (a *API) call(ctx context.Context, c upstream.ToolCall) (upstream.Answer, *upstream.Error) {
	answer, err := a.options.Backend.CallTool(ctx, c)
	failure := upstream.AsError(err)
	receipt := answer.Receipt
	if failure != nil {
		receipt = failure.Receipt
	}
	if receipt.CredentialID != "" {
		requestlog.FromContext(ctx).SetCredential(receipt.CredentialID)
	}
	return answer, failure
}

func write(w http.ResponseWriter, r *http.Request, status int, job []byte, state jobState) {
	if state.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(state.RetryAfter))
	}
	httpapi.WriteJSON(w, r, status, job)
}

// credential returns the bearer of a request. Without one, it answers 401.
func (a *API) credential(w http.ResponseWriter, r *http.Request) (token string, ok bool) {
	given := bearer.Read(r.Header)
	if given.Token == "" {
		a.failures.WriteUnauthenticated(w, r, given.Presented)
		return "", false
	}
	return given.Token, true
}
