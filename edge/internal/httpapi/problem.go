package httpapi

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

// Problem is a problem document (RFC 9457).
type Problem struct {
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail"`
	Instance string  `json:"instance,omitzero"`
	Code     Code    `json:"code"`
	Errors   []Field `json:"errors,omitzero"`
	// Violated names the rate policies that refused the request
	// (draft-ietf-httpapi-ratelimit-headers, the member of its problem type).
	Violated []string `json:"violated-policies,omitzero"`
}

// Problems writes errors as problem documents. It is safe for concurrent use.
type Problems struct {
	base string
}

// NewProblems returns a writer whose problem types are pages under baseURL, which
// has no slash at its end.
func NewProblems(baseURL string) *Problems { return &Problems{base: baseURL} }

// Problem returns the document of an error, without the members that describe the request.
func (p *Problems) Problem(code Code, detail string) Problem {
	return Problem{
		Type: p.base + "/docs/errors/" + string(code), Title: code.Title(), Status: code.Status(), Detail: detail, Code: code,
	}
}

// Write answers with the problem. detail is one sentence about this occurrence;
// it is shown to the caller, so it must hold no internal cause. A 503 gets a
// Retry-After. Nothing may have been written before; headers set before stay.
func (p *Problems) Write(w http.ResponseWriter, r *http.Request, code Code, detail string, fields ...Field) {
	problem := p.Problem(code, detail)
	problem.Instance, problem.Errors = requestlog.RequestID(r.Context()), fields
	if code == RateLimited {
		problem.Violated = ratelimit.Violated(r.Context())
	}
	body, err := json.Marshal(problem, jsontext.AllowInvalidUTF8(true))
	if err != nil { // strings and numbers do not fail
		problem.Status = http.StatusInternalServerError
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if problem.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", RetryAfter)
	}
	w.WriteHeader(problem.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the caller may be gone
	}
}

// WriteError implements ErrorWriter.
func (p *Problems) WriteError(w http.ResponseWriter, r *http.Request, e Error) {
	p.Write(w, r, e.Code, e.Detail, e.Fields...)
}
