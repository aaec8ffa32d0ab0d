package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/observability/metrics"
)

const (
	connectRequests  = "kith_connect_requests_total"
	connectDurations = "kith_connect_request_duration_seconds"
	pingProcedure    = "/kith.test.v1.PingService/Ping"
	pingMethod       = "kith.test.v1.PingService/Ping"
)

type ping struct{}

// jsonCodec lets the tests call handlers without generated messages.
type jsonCodec struct{}

func (jsonCodec) Name() string                         { return "json" }
func (jsonCodec) Marshal(v any) ([]byte, error)        { return json.Marshal(v) }
func (jsonCodec) Unmarshal(data []byte, dst any) error { return json.Unmarshal(data, dst) }

// unaryHandler serves Ping with m in front of fn.
func unaryHandler(m *metrics.Connect, fn func() error) http.Handler {
	return connect.NewUnaryHandler(pingProcedure,
		func(context.Context, *connect.Request[ping]) (*connect.Response[ping], error) {
			if err := fn(); err != nil {
				return nil, err
			}
			return connect.NewResponse(&ping{}), nil
		},
		connect.WithCodec(jsonCodec{}), connect.WithInterceptors(m))
}

// call posts a body to Ping and returns the status.
func call(t *testing.T, h http.Handler, contentType, body string) int {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "POST", pingProcedure, strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code
}

func TestConnectUnaryCodes(t *testing.T) {
	t.Parallel()
	type test struct {
		name string
		err  error
		want string
	}
	tests := []test{
		{"no error", nil, "ok"},
		{"un-coded", errors.New("disk is gone"), "unknown"},
		{"wrapped code", fmt.Errorf("get: %w", connect.NewError(connect.CodeNotFound, errors.New("none"))), "not_found"},
		{"bare cancellation", fmt.Errorf("get: %w", context.Canceled), "canceled"},
		{"bare deadline", context.DeadlineExceeded, "deadline_exceeded"},
		{"deadline of a connection", os.ErrDeadlineExceeded, "deadline_exceeded"},
		{"coded cancellation", connect.NewError(connect.CodeUnknown, context.Canceled), "unknown"},
		{"no such code", connect.NewError(connect.Code(99), errors.New("odd")), "unknown"},
	}
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		tests = append(tests, test{"code " + code.String(), connect.NewError(code, errors.New("x")), code.String()})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, reg := newConnect(t)
			call(t, unaryHandler(m, func() error { return tt.err }), "application/json", "{}")
			wantSamples(t, reg, connectRequests, fmt.Sprintf("%s{code=%q,method=%q} 1", connectRequests, tt.want, pingMethod))
		})
	}
}

func TestConnectStreamCodes(t *testing.T) {
	t.Parallel()
	m, reg := newConnect(t)
	results := []error{nil, connect.NewError(connect.CodeAborted, errors.New("x"))}
	for _, result := range results {
		h := connect.NewServerStreamHandler(pingProcedure,
			func(context.Context, *connect.Request[ping], *connect.ServerStream[ping]) error { return result },
			connect.WithCodec(jsonCodec{}), connect.WithInterceptors(m))
		// One enveloped message: flags, length 2, "{}".
		call(t, h, "application/connect+json", "\x00\x00\x00\x00\x02{}")
	}
	wantSamples(t, reg, connectRequests,
		fmt.Sprintf(`%s{code="aborted",method=%q} 1`, connectRequests, pingMethod),
		fmt.Sprintf(`%s{code="ok",method=%q} 1`, connectRequests, pingMethod))
}

func TestConnectPanicsCountAsInternal(t *testing.T) {
	t.Parallel()
	m, reg := newConnect(t)
	unary := m.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { panic("unary") })
	stream := m.WrapStreamingHandler(func(context.Context, connect.StreamingHandlerConn) error { panic("stream") })
	if got := recovered(func() { _, _ = unary(t.Context(), newRequest(pingProcedure, false)) }); got != "unary" {
		t.Errorf("recovered %v, want the handler's panic", got)
	}
	if got := recovered(func() { _ = stream(t.Context(), fakeConn{}) }); got != "stream" {
		t.Errorf("recovered %v, want the handler's panic", got)
	}
	wantSamples(t, reg, connectRequests, fmt.Sprintf(`%s{code="internal",method=%q} 2`, connectRequests, pingMethod))
}

func TestConnectLeavesClientsUncounted(t *testing.T) {
	t.Parallel()
	m, reg := newConnect(t)
	called := 0
	unary := m.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
		called++
		return nil, nil
	})
	_, _ = unary(t.Context(), newRequest(pingProcedure, true))
	stream := m.WrapStreamingClient(func(context.Context, connect.Spec) connect.StreamingClientConn {
		called++
		return nil
	})
	stream(t.Context(), connect.Spec{Procedure: pingProcedure, IsClient: true})
	if called != 2 {
		t.Errorf("the client was called %d times, want 2", called)
	}
	wantSeries(t, reg, connectRequests, 0)
}

func TestConnectUnknownPathsMakeNoSeries(t *testing.T) {
	t.Parallel()
	m, reg := newConnect(t)
	mux := http.NewServeMux()
	mux.Handle(pingProcedure, unaryHandler(m, func() error { return nil }))
	for i := range 100 {
		w := httptest.NewRecorder()
		path := fmt.Sprint("/kith.test.v1.PingService/Ping", i)
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader("{}")))
	}
	if status := call(t, mux, "application/json", "{}"); status != 200 {
		t.Errorf("status = %d, want 200", status)
	}
	wantSamples(t, reg, connectRequests, fmt.Sprintf(`%s{code="ok",method=%q} 1`, connectRequests, pingMethod))
}

func TestConnectDurations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, reg := newConnect(t)
		unary := m.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
			time.Sleep(250 * time.Millisecond) // of the bubble's clock
			return nil, nil
		})
		stream := m.WrapStreamingHandler(func(context.Context, connect.StreamingHandlerConn) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		_, _ = unary(t.Context(), newRequest(pingProcedure, false))
		_ = stream(t.Context(), fakeConn{})
		wantDurations(t, reg, connectDurations, 2, 2250*time.Millisecond)
	})
}

func recovered(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// fakeRequest is a request with a specification of the test's choice.
type fakeRequest struct {
	*connect.Request[ping]

	spec connect.Spec
}

func (r *fakeRequest) Spec() connect.Spec { return r.spec }

func newRequest(procedure string, isClient bool) connect.AnyRequest {
	return &fakeRequest{connect.NewRequest(&ping{}), connect.Spec{Procedure: procedure, IsClient: isClient}}
}

// fakeConn is a stream of Ping that only knows its specification.
type fakeConn struct{ connect.StreamingHandlerConn }

func (fakeConn) Spec() connect.Spec { return connect.Spec{Procedure: pingProcedure} }
