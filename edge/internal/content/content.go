// Package content reads the JSON bodies of requests, and answers for those that
// cannot be taken.
package content

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"

	"github.com/kith-crm/kith/edge/internal/problem"
)

// Read returns the body of a request, of limit bytes at most. A body that is not
// JSON by its media type or comes in a content encoding is answered 415, one that
// is too large 413, one that takes too long 408, and one that breaks off 400;
// then ok is false.
func Read(w http.ResponseWriter, r *http.Request, problems *problem.Writer, limit int64) (body []byte, ok bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" || r.Header.Get("Content-Encoding") != "" {
		problems.Write(w, r, problem.UnsupportedMediaType, "Send the body as application/json, without a content encoding.")
		return nil, false
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, true
	}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	slow, isNet := errors.AsType[net.Error](err)
	switch {
	case tooLarge:
		problems.Write(w, r, problem.ContentTooLarge, fmt.Sprintf("The body takes %d bytes at most.", limit))
	case isNet && slow.Timeout():
		w.Header().Set("Connection", "close")
		problems.Write(w, r, problem.RequestTimeout, "The body took too long to arrive.")
	default:
		problems.Write(w, r, problem.MalformedRequest, "The body did not arrive in full.")
	}
	return nil, false
}
