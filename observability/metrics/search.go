package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Search is what NewSearch reports on.
type Search interface {
	// Indexes and Vectors tell how many members' are held and their bytes.
	Indexes() (held int, bytes int64)
	Vectors() (held int, bytes int64)
}

// NewSearch registers gauges of what searches hold in memory. It fails if r has them.
func NewSearch(r prometheus.Registerer, s Search) error {
	return NewFigures(r, map[string]Figure{
		"kith_search_indexes":      {"Members whose search index is in memory.", func() float64 { n, _ := s.Indexes(); return float64(n) }},
		"kith_search_index_bytes":  {"Memory of the search indexes.", func() float64 { _, n := s.Indexes(); return float64(n) }},
		"kith_search_vector_sets":  {"Members whose vectors are in memory.", func() float64 { n, _ := s.Vectors(); return float64(n) }},
		"kith_search_vector_bytes": {"Memory of the vectors.", func() float64 { _, n := s.Vectors(); return float64(n) }},
	})
}

// Builds counts how search indexes are made.
type Builds struct {
	kinds   map[string]prometheus.Observer
	traceID func(context.Context) string // nil without traces
}

// NewBuilds registers kith_search_build_duration_seconds with r, or joins it.
func NewBuilds(r prometheus.Registerer) (*Builds, error) {
	vec, err := register(r, prometheus.NewHistogramVec(histogram("kith_search_build_duration_seconds",
		"Time to make a member's search index (whole) or to bring it up to date (update), reading included.", durationBuckets()), []string{"kind"}))
	if err != nil {
		return nil, err
	}
	kinds := map[string]prometheus.Observer{"whole": vec.WithLabelValues("whole"), "update": vec.WithLabelValues("update")}
	return &Builds{kinds: kinds, traceID: traceIDOf(r)}, nil
}

// Observe counts an index that was made, or brought up to date.
func (m *Builds) Observe(ctx context.Context, whole bool, d time.Duration) {
	kind := "update"
	if whole {
		kind = "whole"
	}
	observeIn(ctx, m.traceID, m.kinds[kind], d)
}
