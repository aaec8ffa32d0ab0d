package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Native histograms: the factor between neighbouring buckets, and the maximum number of
// buckets of a series. Beyond that, the series lowers its resolution; it returns to the
// full one after at least an hour.
const (
	nativeBucketFactor = 1.1
	nativeMaxBuckets   = 160
	nativeMinReset     = time.Hour
)

// exemplarTrace is the label of an exemplar that holds the trace id.
const exemplarTrace = "trace_id"

// calls is a counter of finished calls, labelled by name and by how they ended, and a
// histogram of their durations, labelled by name.
type calls struct {
	requests *prometheus.CounterVec
	seconds  *durations
	labels   []label
}

// callsOptions configure newCalls.
type callsOptions struct {
	requests, requestsHelp string  // the counter
	seconds, secondsHelp   string  // the histogram
	labels                 []label // labels of the counter; the first one is also the histogram's
}

func newCalls(r prometheus.Registerer, o callsOptions) (*calls, error) {
	names, err := namesOf(o.labels)
	if err != nil {
		return nil, err
	}
	requests, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: o.requests, Help: o.requestsHelp}, names))
	if err != nil {
		return nil, err
	}
	seconds, err := newDurations(r, o.seconds, o.secondsHelp, names[0])
	return &calls{requests, seconds, o.labels}, err
}

// observe counts a call that took d; a negative d counts as 0. values are those of the
// counter's labels. A value outside its closed set counts as the label's fallback.
func (c *calls) observe(ctx context.Context, d time.Duration, values ...string) {
	for i, l := range c.labels {
		if l.values != nil && !l.values[values[i]] {
			values[i] = l.fallback
		}
	}
	c.requests.WithLabelValues(values...).Inc()
	c.seconds.observe(ctx, max(d, 0), values[0])
}

// durations is a histogram of durations with one label.
type durations struct {
	vec     *prometheus.HistogramVec
	traceID func(context.Context) string // nil without traces
}

func newDurations(r prometheus.Registerer, name, help, label string) (*durations, error) {
	vec, err := register(r, prometheus.NewHistogramVec(histogram(name, help, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10), []string{label}))
	d := &durations{vec: vec}
	if registry, ok := r.(*Registry); ok {
		d.traceID = registry.TraceID
	}
	return d, err
}

// observe observes d in seconds. If ctx is in a sampled trace, that is the exemplar.
func (m *durations) observe(ctx context.Context, d time.Duration, value string) {
	o := m.vec.WithLabelValues(value)
	if e, ok := o.(prometheus.ExemplarObserver); ok && m.traceID != nil {
		if id := m.traceID(ctx); id != "" {
			e.ObserveWithExemplar(d.Seconds(), prometheus.Labels{exemplarTrace: id})
			return
		}
	}
	o.Observe(d.Seconds())
}

// histogram returns options with the given classic buckets, and native ones.
func histogram(name, help string, buckets ...float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     nativeBucketFactor,
		NativeHistogramMaxBucketNumber:  nativeMaxBuckets,
		NativeHistogramMinResetDuration: nativeMinReset,
	}
}

// Builds measures how search indexes are built.
type Builds struct{ seconds *durations }

// NewBuilds registers kith_search_build_duration_seconds with r, or joins it.
func NewBuilds(r prometheus.Registerer) (*Builds, error) {
	seconds, err := newDurations(r, "kith_search_build_duration_seconds",
		"Time to build a member's search index (whole) or to update it (update), including the reads.", "kind")
	if err != nil {
		return nil, err
	}
	seconds.vec.WithLabelValues("whole")
	seconds.vec.WithLabelValues("update")
	return &Builds{seconds}, nil
}

// Observe measures the build of a whole index, or an update.
func (m *Builds) Observe(ctx context.Context, whole bool, d time.Duration) {
	kind := "update"
	if whole {
		kind = "whole"
	}
	m.seconds.observe(ctx, d, kind)
}
