package metrics

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// unknown is the label value of a name that is not in its closed set.
const unknown = "unknown"

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
	seconds  *prometheus.HistogramVec
	anyName  bool                         // the caller guarantees that the names are a closed set
	names    map[string]bool              // otherwise, the closed set
	traceID  func(context.Context) string // nil without traces
}

// callsOptions configure newCalls.
type callsOptions struct {
	requests, requestsHelp string   // the counter
	seconds, secondsHelp   string   // the histogram
	labels                 []string // labels of the counter; the first one is also the histogram's
	names                  []string // the closed set of the first label's values
	anyName                bool     // see calls
}

func newCalls(r prometheus.Registerer, o callsOptions) (*calls, error) {
	if err := checkNames(o.labels[0], o.names); err != nil {
		return nil, err
	}
	requests, err := register(r, prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: o.requests, Help: o.requestsHelp}, o.labels))
	if err != nil {
		return nil, err
	}
	seconds, err := register(r, prometheus.NewHistogramVec(histogram(o.seconds, o.secondsHelp, durationBuckets()), o.labels[:1]))
	if err != nil {
		return nil, err
	}
	return &calls{requests: requests, seconds: seconds, anyName: o.anyName, names: setOf(o.names), traceID: traceIDOf(r)}, nil
}

// observe counts a call that took d; a negative d counts as 0. values are those of the
// counter's labels. A name (the first value) outside the closed set counts as "unknown".
func (c *calls) observe(ctx context.Context, d time.Duration, values ...string) {
	if !c.anyName && !c.names[values[0]] {
		values[0] = unknown
	}
	c.requests.WithLabelValues(values...).Inc()
	observeDuration(ctx, c.traceID, c.seconds.WithLabelValues(values[0]), max(d, 0))
}

// histogram returns options with the given classic buckets, and native ones.
func histogram(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     nativeBucketFactor,
		NativeHistogramMaxBucketNumber:  nativeMaxBuckets,
		NativeHistogramMinResetDuration: nativeMinReset,
	}
}

// durationBuckets are the classic buckets of every duration, in seconds.
func durationBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// traceIDOf returns the TraceID of a Registry, or nil.
func traceIDOf(r prometheus.Registerer) func(context.Context) string {
	if registry, ok := r.(*Registry); ok {
		return registry.TraceID
	}
	return nil
}

// observeDuration observes d in seconds. If ctx is in a sampled trace, that is the
// exemplar. traceID may be nil.
func observeDuration(ctx context.Context, traceID func(context.Context) string, o prometheus.Observer, d time.Duration) {
	if traceID != nil {
		if id := traceID(ctx); id != "" {
			if e, ok := o.(prometheus.ExemplarObserver); ok {
				e.ObserveWithExemplar(d.Seconds(), prometheus.Labels{exemplarTrace: id})
				return
			}
		}
	}
	o.Observe(d.Seconds())
}

func setOf(values []string) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, v := range values {
		set[v] = true
	}
	return set
}

// checkNames returns an error for a name that cannot be a label value.
func checkNames(label string, names []string) error {
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("check %s names: %q is empty or not UTF-8", label, name)
		}
	}
	return nil
}
