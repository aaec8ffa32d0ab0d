package manners

import "net/http"

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter

	status   int // of the final answer; 0 until it has begun
	cutShort bool
}

// WriteHeader remembers the status; 1xx answers are not final.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write begins a 200 answer if none has begun.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// answered is the status that the caller sees: net/http answers 200 for a
// handler that wrote nothing.
func (r *recorder) answered() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
