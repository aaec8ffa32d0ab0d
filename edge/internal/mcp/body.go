package mcp

import (
	"bytes"
	"errors"
	"net/http"
	"os"
)

// maxTrustedLength is how much is allocated on the strength of a Content-Length alone.
const maxTrustedLength = 64 << 10

// read reads the whole body. It is valid until the scratch is released.
func (s *scratch) read(w http.ResponseWriter, r *http.Request) ([]byte, *failure) {
	if r.ContentLength > maxBodyBytes {
		return nil, tooLarge(w)
	}
	if r.ContentLength > 0 {
		s.body.Grow(int(min(r.ContentLength, maxTrustedLength)) + bytes.MinRead)
	}
	_, err := s.body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err == nil {
		return s.body.Bytes(), nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(w)
	}
	w.Header().Set("Connection", "close") // the rest of the body is still on its way
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refusal(http.StatusRequestTimeout, "The body took too long to arrive.")
	}
	return nil, refusal(http.StatusBadRequest, "The body could not be read.")
}

func tooLarge(w http.ResponseWriter) *failure {
	w.Header().Set("Connection", "close")
	return refusal(http.StatusRequestEntityTooLarge, "The body must be at most 2 MiB.")
}
