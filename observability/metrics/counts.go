package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are counters over closed sets of label values, made beforehand so that
// counting looks nothing up in Prometheus and shows zeros from the start.
type counts map[string]map[string]prometheus.Counter

// newCounts registers a counter with two labels, or joins the one that r has.
// Each of the first label's values has all of the second's.
func newCounts(r prometheus.Registerer, name, help string, labels [2]string, first, second []string) (counts, error) {
	for i, values := range [][]string{first, second} {
		if err := checkNames(labels[i], values); err != nil {
			return nil, err
		}
	}
	vec, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels[:]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := counts{}
	for _, a := range append([]string{unknown}, first...) {
		all[a] = map[string]prometheus.Counter{}
		for _, b := range append([]string{unknown}, second...) {
			if a != unknown && b != unknown {
				all[a][b] = vec.WithLabelValues(a, b)
			}
		}
	}
	// What is in neither set is counted all the same, under one name.
	lost := vec.WithLabelValues(unknown, unknown)
	for _, row := range all {
		row[unknown] = lost
	}
	for b := range all[unknown] {
		all[unknown][b] = lost
	}
	return all, nil
}

// of returns the counter of two values; "unknown" for one that is not in its set.
func (c counts) of(first, second string) prometheus.Counter {
	row, ok := c[first]
	if !ok {
		row = c[unknown]
	}
	if counter, ok := row[second]; ok {
		return counter
	}
	return row[unknown]
}
