package mcp_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/metrics"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/server"
)

// toolLog records the observed tool calls.
type toolLog struct {
	mu    sync.Mutex
	calls []string
}

func (l *toolLog) Observe(_ context.Context, tool string, outcome metrics.Outcome, _ time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, tool+" "+outcome.String())
}

// edge is a complete edge with a fake backend.
type edge struct {
	http.Handler

	backend *backendtest.Backend
	tools   *toolLog
}

func newEdge(t testing.TB) *edge {
	t.Helper()
	return startEdge(t, backendtest.NoLimits(server.RatePolicies()))
}

// newLimitedEdge admits 10 requests to the MCP server in a minute.
func newLimitedEdge(t testing.TB) *edge {
	t.Helper()
	limits := backendtest.NoLimits(server.RatePolicies())
	limits["mcp"] = "10/60"
	return startEdge(t, limits)
}

func startEdge(t testing.TB, limits map[string]string) *edge {
	t.Helper()
	e := &edge{backend: backendtest.New(), tools: &toolLog{}}
	s, err := server.New(server.Config{
		RateLimits:      limits,
		MaxInFlight:     -1, // the limiter must not refuse a test on a busy machine
		Addr:            ":0",
		BaseURL:         "https://kith.example",
		Transport:       e.backend.Transport(),
		ServiceToken:    backendtest.ServiceToken,
		SandboxEnabled:  true,
		SandboxToken:    backendtest.TokenSandbox,
		SandboxUsername: backendtest.SandboxUsername,
		Version:         "1.2.3",
		Tools:           e.tools,
		Now:             func() time.Time { return time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Handler = s.Handler()
	return e
}
