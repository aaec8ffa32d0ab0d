package metrics

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// unknown is the label value of a route or a tool that is not in the closed list.
const unknown = "unknown"

// Of native histograms: neighbouring buckets differ by at most this factor, and
// one series keeps at most so many buckets, lowering its resolution beyond that
// and returning to the full one no more often than once an hour.
const (
	nativeBucketFactor = 1.1
	nativeMaxBuckets   = 160
	nativeMinReset     = time.Hour
)

// calls is a counter of finished calls, labelled by what was called and by how
// it ended, and a histogram of their durations, labelled by what was called.
type calls struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	// endings is the closed set of the ways a call can end. Each is the values
	// of the counter's labels after the first. A series counts by index in it.
	endings [][]string
	traceID func(context.Context) string // nil without traces
}

// callsOptions are what newCalls needs. All fields are required.
type callsOptions struct {
	requests     string     // name of the counter
	requestsHelp string     // its help
	seconds      string     // name of the histogram
	secondsHelp  string     // its help
	labels       []string   // the counter's labels; the first is the histogram's too
	endings      [][]string // see calls
}

func newCalls(r prometheus.Registerer, o callsOptions) (*calls, error) {
	requests, err := register(r, prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: o.requests, Help: o.requestsHelp}, o.labels))
	if err != nil {
		return nil, err
	}
	seconds, err := register(r, prometheus.NewHistogramVec(histogram(o.seconds, o.secondsHelp, durationBuckets()), o.labels[:1]))
	if err != nil {
		return nil, err
	}
	return &calls{requests: requests, seconds: seconds, endings: o.endings, traceID: traceIDOf(r)}, nil
}

// histogram has the classic buckets given, and native ones.
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

// series returns what calls of subject are reported to. subject must be valid UTF-8.
func (c *calls) series(subject string) *series {
	return &series{calls: c, subject: subject, counters: make([]atomic.Pointer[prometheus.Counter], len(c.endings))}
}

// seriesByName returns the series of each name, and of "unknown".
func (c *calls) seriesByName(names []string) map[string]*series {
	all := map[string]*series{unknown: c.series(unknown)}
	for _, name := range names {
		if all[name] == nil {
			all[name] = c.series(name)
		}
	}
	return all
}

// series is what calls of one subject (a route, an RPC method, a tool) are reported to.
type series struct {
	calls   *calls
	subject string

	once     sync.Once
	duration prometheus.Observer // set by once, before the first counter is
	counters []atomic.Pointer[prometheus.Counter]
}

// observe counts a call that ended in calls.endings[ending] after d. A negative
// d counts as 0. The trace of ctx, if it is sampled, is the duration's exemplar.
func (s *series) observe(ctx context.Context, ending int, d time.Duration) {
	counter := s.counters[ending].Load()
	if counter == nil {
		counter = s.open(ending)
	}
	(*counter).Inc()
	observeIn(ctx, s.calls.traceID, s.duration, max(d, 0))
}

// open creates the series of an ending in Prometheus, or finds it there.
func (s *series) open(ending int) *prometheus.Counter {
	s.once.Do(func() { s.duration = s.calls.seconds.WithLabelValues(s.subject) })
	values := append([]string{s.subject}, s.calls.endings[ending]...)
	counter := s.calls.requests.WithLabelValues(values...)
	s.counters[ending].Store(&counter)
	return &counter
}

// checkNames refuses what cannot be a label value. what names the list in the error.
func checkNames(what string, names []string) error {
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("check %s names: %q is empty or not UTF-8", what, name)
		}
	}
	return nil
}
