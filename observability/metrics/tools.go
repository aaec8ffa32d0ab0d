package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Tools counts the tool calls that agents make.
type Tools struct {
	tools map[string]*series // never changed after NewTools, so read without a lock
}

// NewTools registers the kith_tool_* metrics with r, or joins those that r
// has. names is the closed list of tools: the catalogue.
//
// It fails if a name is empty or not UTF-8, or if r has other metrics of these names.
func NewTools(r prometheus.Registerer, names []string) (*Tools, error) {
	if err := checkNames("tool", names); err != nil {
		return nil, err
	}
	c, err := newCalls(r, callsOptions{
		requests:     "kith_tool_calls_total",
		requestsHelp: "Tool calls answered, by tool and outcome.",
		seconds:      "kith_tool_call_duration_seconds",
		secondsHelp:  "Time from a tool call's arrival to its answer.",
		labels:       []string{"tool", "outcome"},
		endings:      outcomeEndings(),
	})
	if err != nil {
		return nil, err
	}
	return &Tools{tools: c.seriesByName(names)}, nil
}

// Observe counts one answered tool call and its duration. A tool that is not in
// the list given to NewTools counts as "unknown", and an outcome that is none of
// the constants as OutcomeInternal.
func (m *Tools) Observe(ctx context.Context, tool string, outcome Outcome, d time.Duration) {
	s, ok := m.tools[tool]
	if !ok {
		s = m.tools[unknown]
	}
	if outcome >= outcomeCount {
		outcome = OutcomeInternal
	}
	s.observe(ctx, int(outcome), d)
}
