package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// exemplarTrace is the label of exemplars, under which dashboards look for traces.
const exemplarTrace = "trace_id"

// traceIDOf is how the traces of a registry's process are told; nil without any.
func traceIDOf(r prometheus.Registerer) func(context.Context) string {
	if registry, ok := r.(*Registry); ok {
		return registry.TraceID
	}
	return nil
}

// observeIn observes a duration, with the sampled trace that ctx belongs to as its
// exemplar. traceID may be nil.
func observeIn(ctx context.Context, traceID func(context.Context) string, o prometheus.Observer, d time.Duration) {
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
