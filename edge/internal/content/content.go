// Package content reads the bodies of requests, and says why one cannot be taken.
package content

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/strictjson"
)

// Refusal is why a body cannot be taken.
type Refusal struct {
	Code   problem.Code
	Detail string
	Fields []problem.Field
}

// ReadJSON reads a JSON object of limit bytes at most into v, a pointer to a
// struct, by the rules of strictjson. It answers a body that is not JSON by its
// media type or has a content encoding with 415, one that is too large with 413,
// one that takes too long with 408, and one that v cannot take with 400; then it
// returns false.
func ReadJSON(w http.ResponseWriter, r *http.Request, problems *problem.Writer, limit int64, v any) bool {
	if !IsJSON(r) {
		problems.Write(w, r, problem.UnsupportedMediaType, "Send the body as application/json, without a content encoding.")
		return false
	}
	body, refusal := Read(w, r, limit)
	if refusal == nil {
		refusal = refuseJSON(strictjson.Unmarshal(body, v))
	}
	if refusal != nil {
		problems.Write(w, r, refusal.Code, refusal.Detail, refusal.Fields...)
		return false
	}
	return true
}

// IsJSON reports whether a request's body is JSON by its media type.
func IsJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// CheckJSON refuses a JSON object that strictjson.Check has something against.
func CheckJSON(body []byte, known ...string) *Refusal {
	return refuseJSON(strictjson.Check(body, known...))
}

func refuseJSON(fault *strictjson.Error) *Refusal {
	if fault == nil {
		return nil
	}
	return &Refusal{
		Code: problem.MalformedRequest, Detail: "The body cannot be read: " + fault.Error() + ".",
		Fields: []problem.Field{{Field: fault.Field, Message: fault.Message}},
	}
}

// Read returns the body of a request, of limit bytes at most. It refuses one that
// has a content encoding, is too large, takes too long or breaks off.
func Read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Refusal) {
	if Encoded(r.Header) {
		return nil, &Refusal{Code: problem.UnsupportedMediaType, Detail: "Send the body without a content encoding."}
	}
	if r.ContentLength > limit {
		return nil, tooLarge(w, limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, Explain(w, err, limit)
	}
	return body, nil
}

// Encoded reports whether a request's body has a content encoding. Those that say
// "identity" have none.
func Encoded(h http.Header) bool {
	lines := h["Content-Encoding"]
	return len(lines) > 1 || len(lines) == 1 && !strings.EqualFold(strings.TrimSpace(lines[0]), "identity")
}

// Explain returns the refusal of a body whose reading failed. The connection is
// closed, since the rest of the body may still be on its way.
func Explain(w http.ResponseWriter, err error, limit int64) *Refusal {
	slow, isNet := errors.AsType[net.Error](err)
	_, large := errors.AsType[*http.MaxBytesError](err)
	w.Header().Set("Connection", "close")
	switch {
	case large:
		return tooLarge(w, limit)
	case isNet && slow.Timeout():
		return &Refusal{Code: problem.RequestTimeout, Detail: "The body took too long to arrive."}
	default:
		return &Refusal{
			Code: problem.MalformedRequest, Detail: "The body did not arrive in full.",
			Fields: []problem.Field{{Field: "body", Message: "did not arrive in full"}},
		}
	}
}

func tooLarge(w http.ResponseWriter, limit int64) *Refusal {
	w.Header().Set("Connection", "close")
	return &Refusal{Code: problem.ContentTooLarge, Detail: fmt.Sprintf("The body takes %d bytes at most.", limit)}
}
