package mcp

import (
	"net/http"
	"strconv"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// challenge says which WWW-Authenticate header goes with a failure.
type challenge uint8

const (
	challengeNone challenge = iota
	challengeMissing
	challengeInvalid
)

// retryAfter is what a 503 and a 409 tell the client to wait, in seconds.
const retryAfter = "1"

// failure is a request that ends in a JSON-RPC error.
type failure struct {
	status    int
	code      int
	message   string
	data      []byte // JSON, or nil
	challenge challenge
}

// refusal is a failure before there is a message: an invalid request.
func refusal(status int, message string) *failure {
	return &failure{status: status, code: codeInvalidRequest, message: message}
}

// answerError is a failure that MCP answers with a 200.
func answerError(code int, message string) *failure {
	return &failure{status: http.StatusOK, code: code, message: message}
}

// writeFailure sends the failure; a nil id is written as null.
func (e *endpoint) writeFailure(w http.ResponseWriter, s *scratch, id []byte, f *failure) {
	switch f.challenge {
	case challengeMissing:
		w.Header().Set("WWW-Authenticate", e.challenge)
	case challengeInvalid:
		w.Header().Set("WWW-Authenticate", e.challenge+bearer.InvalidToken)
	case challengeNone:
	}
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusConflict {
		w.Header().Set("Retry-After", retryAfter)
	}
	s.out = appendError(s.out[:0], id, f)
	write(w, f.status, s.out)
}

// Refuser answers what the router refuses on an MCP path. Its zero value works.
type Refuser struct{}

// Refuse writes the code's status with a JSON-RPC error.
func (Refuser) Refuse(w http.ResponseWriter, _ *http.Request, code problem.Code, detail string, _ ...problem.Field) {
	f := refusal(code.Status(), detail)
	switch code {
	case problem.RateLimited:
		f.code = codeRateLimited
	case problem.Unavailable, problem.Internal:
		f.code = codeInternal
	}
	write(w, f.status, appendError(nil, nil, f))
}

// appendError appends a whole JSON-RPC error message.
func appendError(b, id []byte, f *failure) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		b = append(b, "null"...)
	}
	b = append(b, id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(f.code), 10)
	b = append(b, `,"message":`...)
	b = appendString(b, f.message)
	if f.data != nil {
		b = append(b, `,"data":`...)
		b = append(b, f.data...)
	}
	return append(b, '}', '}')
}
