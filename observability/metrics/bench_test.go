package metrics_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/kith-crm/kith/observability/metrics"
)

// The hot paths run once per request and must not allocate.

func BenchmarkHTTPObserve(b *testing.B) {
	m, _ := newHTTP(b, "mcp", "token", "openapi")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Observe(b.Context(), "mcp", "POST", 200, time.Duration(i%4096)*time.Microsecond)
	}
}

func BenchmarkHTTPObserveParallel(b *testing.B) {
	m, _ := newHTTP(b, "mcp", "token", "openapi")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			m.Observe(b.Context(), "mcp", "POST", 200, time.Duration(i%4096)*time.Microsecond)
		}
	})
}

func BenchmarkToolsObserve(b *testing.B) {
	m, _ := newTools(b, "search_connections", "undo")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Observe(b.Context(), "search_connections", metrics.OutcomeOK, time.Duration(i%4096)*time.Microsecond)
	}
}

func BenchmarkConnectUnary(b *testing.B) {
	call, req := benchUnary(b)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = call(b.Context(), req)
	}
}

// benchUnary returns a call that does nothing and is counted.
func benchUnary(t testing.TB) (connect.UnaryFunc, connect.AnyRequest) {
	m, _ := newConnect(t)
	return m.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) {
		return nil, nil
	}), newRequest(pingProcedure, false)
}

// TestCallsAllocateNothing is not parallel: AllocsPerRun counts what the
// whole process allocates.
func TestCallsAllocateNothing(t *testing.T) {
	http, _ := newHTTP(t, "mcp")
	tools, _ := newTools(t, "undo")
	unary, req := benchUnary(t)
	ctx := t.Context()
	tests := []struct {
		name string
		call func()
	}{
		{"HTTP", func() { http.Observe(ctx, "mcp", "POST", 200, time.Millisecond) }},
		{"HTTP, unknown route", func() { http.Observe(ctx, "/x", "BREW", 299, time.Millisecond) }},
		{"Tools", func() { tools.Observe(ctx, "undo", metrics.OutcomeOK, time.Millisecond) }},
		{"Connect", func() { _, _ = unary(ctx, req) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// 0 after rounding down: a new native bucket is allowed its allocation.
			if got := testing.AllocsPerRun(1000, tt.call); got != 0 {
				t.Errorf("%v allocations per call, want 0", got)
			}
		})
	}
}
