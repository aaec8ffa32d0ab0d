package metrics

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
)

// codeOK is the ending of a call without an error. Connect has no code 0, so the
// endings are "ok" at 0 and each code at its own number.
const codeOK = 0

// Connect is an interceptor that counts the calls that Connect handlers serve.
// It belongs first in the list of interceptors, so that it sees the answers of
// the others too. Calls made by a Connect client pass through it uncounted.
//
// A call whose message cannot be decoded is answered before any interceptor
// runs: it is seen in the HTTP metrics only.
type Connect struct {
	calls   *calls
	methods sync.Map // procedure, as in connect.Spec → *series
}

var _ connect.Interceptor = (*Connect)(nil)

// NewConnect registers the kith_connect_* metrics with r, or joins those
// that r has. It fails if r has other metrics of these names.
//
// The methods need no list: an interceptor runs only for procedures that have a
// handler, so a caller cannot invent one.
func NewConnect(r prometheus.Registerer) (*Connect, error) {
	c, err := newCalls(r, callsOptions{
		requests:     "kith_connect_requests_total",
		requestsHelp: "Connect and gRPC calls served, by method (service/Method) and code (ok, or a Connect error code).",
		seconds:      "kith_connect_request_duration_seconds",
		secondsHelp:  "Time that a Connect or gRPC call spent in its handler and interceptors, not counting the reading and writing of a unary message.",
		labels:       []string{"method", "code"},
		endings:      connectEndings(),
	})
	if err != nil {
		return nil, err
	}
	return &Connect{calls: c}, nil
}

// WrapUnary counts unary calls. A panic counts as internal and goes on.
func (m *Connect) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		spec := req.Spec()
		if spec.IsClient {
			return next(ctx, req)
		}
		start, ending := time.Now(), int(connect.CodeInternal)
		defer func() { m.observe(ctx, spec.Procedure, ending, time.Since(start)) }()
		res, err := next(ctx, req)
		ending = connectEnding(err)
		return res, err
	}
}

// WrapStreamingClient returns next: this is an interceptor of handlers.
func (m *Connect) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler counts streams when they end. A panic counts as internal and goes on.
func (m *Connect) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		start, ending := time.Now(), int(connect.CodeInternal)
		procedure := conn.Spec().Procedure
		defer func() { m.observe(ctx, procedure, ending, time.Since(start)) }()
		err := next(ctx, conn)
		ending = connectEnding(err)
		return err
	}
}

func (m *Connect) observe(ctx context.Context, procedure string, ending int, d time.Duration) {
	s, ok := m.methods.Load(procedure)
	if !ok {
		method := strings.ToValidUTF8(strings.TrimPrefix(procedure, "/"), "_")
		s, _ = m.methods.LoadOrStore(procedure, m.calls.series(method))
	}
	s.(*series).observe(ctx, ending, d)
}

// connectEndings is "ok" and the codes, in the order of their numbers.
func connectEndings() [][]string {
	endings := [][]string{codeOK: {"ok"}}
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		endings = append(endings, []string{code.String()})
	}
	return endings
}

// connectEnding is the code that the caller is told, as a number. Like Connect
// itself, it takes an un-coded error of a context for that context's code.
func connectEnding(err error) int {
	if err == nil {
		return codeOK
	}
	code := connect.CodeOf(err)
	if code == connect.CodeUnknown {
		code = contextCode(err)
	}
	if code < connect.CodeCanceled || code > connect.CodeUnauthenticated {
		code = connect.CodeUnknown
	}
	return int(code)
}

// contextCode is the code of an error that may be a context's and has none of its own.
func contextCode(err error) connect.Code {
	switch {
	case errors.As(err, new(*connect.Error)):
		return connect.CodeUnknown
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return connect.CodeDeadlineExceeded
	default:
		return connect.CodeUnknown
	}
}
