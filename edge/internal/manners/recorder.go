package manners

import "net/http"

// statusClientClosed is what an answer that nobody waited for is counted under. It is
// widely used and not registered.
const statusClientClosed = 499

// recorder remembers the status of an answer, and completes its headers when it
// begins.
type recorder struct {
	http.ResponseWriter

	secure   *securityHeaders
	status   int // of the final answer; 0 until it has begun
	cutShort bool
}

// begin is called when a final answer may begin; only the first call counts.
func (r *recorder) begin(status int) {
	if r.status != 0 {
		return
	}
	r.status = status
	// A 304 speaks of an answer that the caller keeps, with its headers.
	if status != http.StatusNotModified {
		r.secure.complete(r.Header())
	}
}

// WriteHeader remembers the status; 1xx answers are not final.
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK {
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write begins a 200 answer if none has begun.
func (r *recorder) Write(p []byte) (int, error) {
	r.begin(http.StatusOK)
	return r.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
