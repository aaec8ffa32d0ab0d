package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Builds measures how search indexes are built.
type Builds struct {
	seconds *prometheus.HistogramVec
	traceID func(context.Context) string // nil without traces
}

// NewBuilds registers kith_search_build_duration_seconds with r, or joins it.
func NewBuilds(r prometheus.Registerer) (*Builds, error) {
	vec, err := register(r, prometheus.NewHistogramVec(histogram("kith_search_build_duration_seconds",
		"Time to build a member's search index (whole) or to update it (update), including the reads.", durationBuckets()), []string{"kind"}))
	if err != nil {
		return nil, err
	}
	vec.WithLabelValues("whole")
	vec.WithLabelValues("update")
	return &Builds{seconds: vec, traceID: traceIDOf(r)}, nil
}

// Observe measures the build of a whole index, or an update.
func (m *Builds) Observe(ctx context.Context, whole bool, d time.Duration) {
	kind := "update"
	if whole {
		kind = "whole"
	}
	observeDuration(ctx, m.traceID, m.seconds.WithLabelValues(kind), d)
}
