package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Tools counts the tool calls of agents.
type Tools struct{ calls *calls }

// NewTools registers the kith_tool_* metrics with r, or joins those that r has. names
// are the tools of the catalogue.
//
// It fails if a name is empty or not UTF-8, or if r has other metrics of these names.
func NewTools(r prometheus.Registerer, names []string) (*Tools, error) {
	c, err := newCalls(r, callsOptions{
		requests:     "kith_tool_calls_total",
		requestsHelp: "Tool calls answered, by tool and outcome.",
		seconds:      "kith_tool_call_duration_seconds",
		secondsHelp:  "Time from a tool call's arrival to its answer.",
		labels:       []label{closed("tool", unknown, names...), {name: "outcome"}},
	})
	return &Tools{calls: c}, err
}

// Observe counts one answered tool call and its duration. A tool that is not in the
// list given to NewTools counts as "unknown", and an outcome that is none of the
// constants as OutcomeInternal.
func (m *Tools) Observe(ctx context.Context, tool string, outcome Outcome, d time.Duration) {
	m.calls.observe(ctx, d, tool, outcome.String())
}
