package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// counts is a counter with two labels of closed sets. All its series exist from the
// start, so that their rate is known from the first event on.
type counts struct {
	vec           *prometheus.CounterVec
	first, second map[string]bool
}

// newCounts registers a counter with two labels, or joins the one that r has.
func newCounts(r prometheus.Registerer, name, help string, labels [2]string, first, second []string) (counts, error) {
	for i, values := range [][]string{first, second} {
		if err := checkNames(labels[i], values); err != nil {
			return counts{}, err
		}
	}
	vec, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels[:]))
	if err != nil {
		return counts{}, err
	}
	for _, a := range first {
		for _, b := range second {
			vec.WithLabelValues(a, b)
		}
	}
	vec.WithLabelValues(unknown, unknown)
	return counts{vec: vec, first: setOf(first), second: setOf(second)}, nil
}

// of returns the counter of two values; that of "unknown" for both if one of them is
// not in its set.
func (c counts) of(first, second string) prometheus.Counter {
	if !c.first[first] || !c.second[second] {
		first, second = unknown, unknown
	}
	return c.vec.WithLabelValues(first, second)
}

// newOutcomes registers a counter with the label outcome, or joins the one that r has.
// All its series exist from the start.
func newOutcomes(r prometheus.Registerer, name, help string, outcomes []string) (*prometheus.CounterVec, error) {
	vec, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"outcome"}))
	if err != nil {
		return nil, err
	}
	for _, outcome := range outcomes {
		vec.WithLabelValues(outcome)
	}
	return vec, nil
}
