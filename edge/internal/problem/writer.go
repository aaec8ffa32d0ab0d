package problem

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// retryAfter is what a 503 tells the client to wait, in seconds.
const retryAfter = "1"

// Field is one faulty part of a request.
type Field struct {
	// Field is the name of the parameter or the path of the member.
	Field string
	// Message says what is wrong with it.
	Message string
}

// BusyDetail goes with Unavailable where there is no room for a request.
const BusyDetail = "The service is busy. Try again in a moment."

// Writer writes problems. It is safe for concurrent use.
type Writer struct {
	base string
}

// NewWriter returns a writer whose problem types are pages under baseURL, which
// has no slash at its end.
func NewWriter(baseURL string) *Writer { return &Writer{base: baseURL} }

// Write answers with the problem. detail is one sentence about this occurrence;
// it is shown to the caller, so it must hold no internal cause. A 503 gets a
// Retry-After. Nothing may have been written before; headers set before stay.
func (pw *Writer) Write(w http.ResponseWriter, r *http.Request, code Code, detail string, fields ...Field) {
	e := lookup(code)
	answered := exchange.FromContext(r.Context())
	body := pw.appendBody(nil, e, detail, answered.RequestID, fields)
	if code == RateLimited {
		body = appendViolated(body[:len(body)-1], answered.Decisions)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if e.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", retryAfter)
	}
	w.WriteHeader(e.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the caller may be gone
	}
}

// Refuse is Write, as the router wants it.
func (pw *Writer) Refuse(w http.ResponseWriter, r *http.Request, code Code, detail string, fields ...Field) {
	pw.Write(w, r, code, detail, fields...)
}

func (pw *Writer) appendBody(b []byte, e entry, detail, requestID string, fields []Field) []byte {
	b = append(b, `{"type":`...)
	b = appendString(b, pw.base+"/docs/errors/"+string(e.code))
	b = appendMember(b, "title", e.title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(e.status), 10)
	b = appendMember(b, "detail", detail)
	if requestID != "" {
		b = appendMember(b, "instance", requestID)
	}
	b = appendMember(b, "code", string(e.code))
	return append(appendFields(b, fields), '}')
}

// appendViolated ends a body with the names of the policies that refused the request
// (draft-ietf-httpapi-ratelimit-headers, the member of its problem type).
func appendViolated(b []byte, decisions []ratelimit.Decision) []byte {
	b = append(b, `,"violated-policies":[`...)
	first := true
	for _, d := range decisions {
		if d.Allowed {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		b, first = appendString(b, d.Policy.Name), false
	}
	return append(b, `]}`...)
}

func appendFields(b []byte, fields []Field) []byte {
	if len(fields) == 0 {
		return b
	}
	b = append(b, `,"errors":[`...)
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"field":`...)
		b = appendString(b, f.Field)
		b = appendMember(b, "message", f.Message)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendMember appends a member that is not the first. name needs no escaping.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendString(b, value)
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error only tells of the replacement
	return b
}
