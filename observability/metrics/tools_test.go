package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-crm/kith/observability/metrics"
)

const toolCalls = "kith_tool_calls_total"

func TestToolsObserveLabels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		outcome metrics.Outcome
		want    string
	}{
		{metrics.OutcomeOK, "ok"},
		{metrics.OutcomeToolError, "tool_error"},
		{metrics.OutcomeInvalidArguments, "invalid_arguments"},
		{metrics.OutcomeRefused, "refused"},
		{metrics.OutcomeUnauthenticated, "unauthenticated"},
		{metrics.OutcomeUnknownTool, "unknown_tool"},
		{metrics.OutcomeRateLimited, "rate_limited"},
		{metrics.OutcomeUnavailable, "unavailable"},
		{metrics.OutcomeAbandoned, "abandoned"},
		{metrics.OutcomeInternal, "internal"},
		{*new(metrics.Outcome), "internal"},
		{metrics.Outcome(200), "internal"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(uint8(tt.outcome), " ", tt.want), func(t *testing.T) {
			t.Parallel()
			m, reg := newTools(t, "undo")
			m.Observe(t.Context(), "undo", tt.outcome, time.Millisecond)
			wantSamples(t, reg, toolCalls, fmt.Sprintf(`%s{outcome=%q,tool="undo"} 1`, toolCalls, tt.want))
			if got := tt.outcome.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestToolsUnlistedNamesAreUnknown(t *testing.T) {
	t.Parallel()
	m, reg := newTools(t, "undo", "undo", "search_connections")
	for i := range 1000 {
		m.Observe(t.Context(), fmt.Sprint("tool_", i), metrics.OutcomeUnknownTool, 0)
	}
	m.Observe(t.Context(), "UNDO", metrics.OutcomeUnknownTool, 0)
	m.Observe(t.Context(), "", metrics.OutcomeUnknownTool, 0)
	m.Observe(t.Context(), "\xff", metrics.OutcomeUnknownTool, 0)
	wantSamples(t, reg, toolCalls, toolCalls+`{outcome="unknown_tool",tool="unknown"} 1003`)
}

func TestToolsSeriesAreBounded(t *testing.T) {
	t.Parallel()
	const tools, outcomes = 2, 10
	m, reg := newTools(t, "undo")
	for i := range 256 {
		m.Observe(t.Context(), "undo", metrics.Outcome(i), 0)
		m.Observe(t.Context(), fmt.Sprint(i), metrics.Outcome(i), 0)
	}
	wantSeries(t, reg, toolCalls, tools*outcomes)
	wantSeries(t, reg, "kith_tool_call_duration_seconds", tools)
}

func TestToolsDurations(t *testing.T) {
	t.Parallel()
	m, reg := newTools(t, "undo")
	m.Observe(t.Context(), "undo", metrics.OutcomeOK, 16*time.Millisecond)
	m.Observe(t.Context(), "undo", metrics.OutcomeRefused, 4*time.Millisecond)
	wantDurations(t, reg, "kith_tool_call_duration_seconds", 2, 20*time.Millisecond)
}

func TestNewToolsRefuses(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	if _, err := metrics.NewTools(reg, []string{""}); err == nil {
		t.Error("NewTools accepted an empty name")
	}
	reg.MustRegister(gauge(toolCalls))
	if _, err := metrics.NewTools(reg, nil); err == nil {
		t.Error("NewTools accepted a registry with another metric of its name")
	}
}
