package metrics

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
)

// Connect is an interceptor that counts the calls that Connect handlers serve. Put it
// first in the list of interceptors, so that it counts the errors of the others too.
// Calls made by a Connect client are not counted.
//
// If a message cannot be decoded, Connect answers before any interceptor runs: such a
// call is in the HTTP metrics only.
type Connect struct{ calls *calls }

var _ connect.Interceptor = (*Connect)(nil)

// NewConnect registers the kith_connect_* metrics with r, or joins those that r has. It
// fails if r has other metrics of these names.
//
// The set of methods is closed although it is not listed: an interceptor runs only for
// procedures that have a handler.
func NewConnect(r prometheus.Registerer) (*Connect, error) {
	c, err := newCalls(r, callsOptions{
		requests:     "kith_connect_requests_total",
		requestsHelp: "Connect and gRPC calls served, by method (service/Method) and code (ok, or a Connect error code).",
		seconds:      "kith_connect_request_duration_seconds",
		secondsHelp:  "Time that a Connect or gRPC call spent in its handler and interceptors, not counting the reading and writing of a unary message.",
		labels:       []label{{name: "method"}, {name: "code"}},
	})
	return &Connect{calls: c}, err
}

// WrapUnary counts unary calls. A panic counts as internal and continues.
func (m *Connect) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		spec := req.Spec()
		if spec.IsClient {
			return next(ctx, req)
		}
		start, code := time.Now(), connect.CodeInternal.String()
		defer func() { m.observe(ctx, spec.Procedure, code, time.Since(start)) }()
		res, err := next(ctx, req)
		code = codeOf(err)
		return res, err
	}
}

// WrapStreamingClient returns next: clients are not counted.
func (m *Connect) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler counts streams when they end. A panic counts as internal and continues.
func (m *Connect) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		start, code := time.Now(), connect.CodeInternal.String()
		procedure := conn.Spec().Procedure
		defer func() { m.observe(ctx, procedure, code, time.Since(start)) }()
		err := next(ctx, conn)
		code = codeOf(err)
		return err
	}
}

func (m *Connect) observe(ctx context.Context, procedure, code string, d time.Duration) {
	m.calls.observe(ctx, d, strings.ToValidUTF8(strings.TrimPrefix(procedure, "/"), "_"), code)
}

// codeOf returns "ok" or the code that the caller receives. Like Connect, it maps a context's
// error without a code to the corresponding code.
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	code := connect.CodeOf(err)
	if !errors.As(err, new(*connect.Error)) {
		switch {
		case errors.Is(err, context.Canceled):
			code = connect.CodeCanceled
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
			code = connect.CodeDeadlineExceeded
		}
	}
	if code < connect.CodeCanceled || code > connect.CodeUnauthenticated {
		code = connect.CodeUnknown
	}
	return code.String()
}
