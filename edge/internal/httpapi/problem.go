package httpapi

import (
	"net/http"
	"strconv"
	"strings"

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

// Problems writes errors as problem documents, or as pages for browsers if it comes from WithPages.
// It is safe for concurrent use.
type Problems struct {
	base  string
	pages ErrorWriter
}

// NewProblems returns a writer whose problem types are pages under baseURL, which
// has no slash at its end.
func NewProblems(baseURL string) *Problems { return &Problems{base: baseURL} }

// WithPages returns a writer that answers with a page if Accept prefers one, except below /api,
// where every error is a problem.
func (p *Problems) WithPages(pages ErrorWriter) *Problems {
	return &Problems{base: p.base, pages: pages}
}

// Problem returns the problem document of an error, without the members that describe the request.
func (p *Problems) Problem(code Code, detail string) Problem {
	return Problem{
		Type: p.base + "/docs/errors/" + string(code), Title: code.Title(), Status: code.Status(), Detail: detail, Code: code,
	}
}

// Write answers with the problem, or with a page. detail is one sentence about this occurrence;
// it is shown to the caller, so it must hold no internal cause. A 503 gets a
// Retry-After. Nothing may have been written before; headers set before stay.
func (p *Problems) Write(w http.ResponseWriter, r *http.Request, code Code, detail string, fields ...Field) {
	if p.pages != nil && WantsPage(r.Header["Accept"]) && !belowAPI(r.URL.Path) {
		p.pages.WriteError(w, r, Error{Code: code, Detail: detail, Fields: fields})
		return
	}
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

// belowAPI reports whether a path is /api or below it, or is the copy of such a path under
// /sandbox.
func belowAPI(path string) bool {
	path = strings.TrimPrefix(path, "/sandbox")
	return path == "/api" || strings.HasPrefix(path, "/api/")
}

// WriteError implements ErrorWriter.
func (p *Problems) WriteError(w http.ResponseWriter, r *http.Request, e Error) {
	p.Write(w, r, e.Code, e.Detail, e.Fields...)
}
