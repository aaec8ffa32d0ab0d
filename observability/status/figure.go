package status

import (
	"math"
	"slices"
	"time"
)

// span is the metrics at the start and at the end of an interval.
type span struct {
	from, to families
	at       time.Time // of the end
	length   time.Duration
}

// increase returns how much a counter grew. A counter that was reset grew from 0.
func (s span) increase(name string, want labels) float64 {
	now, before := s.to.sum(name, want), s.from.sum(name, want)
	if now < before {
		return now
	}
	return now - before
}

// measure returns a quantity of a metric in an interval as a quotient, so that those of several
// intervals can be added.
type measure func(s span, metric string) (part, whole float64)

// rate measures the increase of a counter per second.
func rate(want labels) measure {
	return func(s span, metric string) (part, whole float64) { return s.increase(metric, want), s.length.Seconds() }
}

// share measures the share of the series with one of the values of a label in a counter's increase.
func share(label string, values ...string) measure {
	return func(s span, metric string) (part, whole float64) {
		for _, value := range values {
			part += s.increase(metric, labels{label: value})
		}
		return part, s.increase(metric, nil)
	}
}

// slower measures the share of a histogram's observations above slow.
func slower(s span, metric string) (part, whole float64) {
	now, before := s.to.buckets(metric), s.from.buckets(metric)
	if _, known := now[slow]; !known {
		return 0, 0
	}
	whole = max(0, now[math.Inf(1)]-before[math.Inf(1)])
	return max(0, whole-max(0, now[slow]-before[slow])), whole
}

// total measures the sum of the series of a gauge.
func total(want labels) measure {
	return func(s span, metric string) (part, whole float64) { return s.to.sum(metric, want), 1 }
}

// largest measures the largest value of the series of a gauge.
func largest(s span, metric string) (part, whole float64) { return s.to.maximum(metric), 1 }

// smallest measures the smallest value of the series of a gauge.
func smallest(s span, metric string) (part, whole float64) { return s.to.minimum(metric), 1 }

// percentile99 measures the 99th percentile of a histogram's observations.
func percentile99(s span, metric string) (part, whole float64) { return s.quantile(0.99, metric), 1 }

// quantile estimates a quantile of a histogram's observations in the interval, as
// Prometheus does; NaN without observations.
func (s span) quantile(q float64, name string) float64 {
	now, before := s.to.buckets(name), s.from.buckets(name)
	var bounds []float64
	for bound := range now {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	if len(bounds) == 0 {
		return math.NaN()
	}
	total := now[math.Inf(1)] - before[math.Inf(1)]
	if total <= 0 {
		return math.NaN()
	}
	rank, low, below := q*total, 0.0, 0.0
	for _, bound := range bounds {
		count := now[bound] - before[bound]
		if count >= rank {
			if math.IsInf(bound, 1) {
				return low
			}
			return low + (bound-low)*(rank-below)/max(count-below, 1e-9)
		}
		low, below = bound, count
	}
	return low
}

// figure is one number of the page.
type figure struct {
	title, unit string
	// metric is a metric without which the figure is not shown.
	metric  string
	measure measure
	// scale converts the unit of the metric to that of the page.
	scale float64
}

const (
	truth   = "truth" // the unit of a figure that is 1 (yes) or 0 (no)
	slow    = 0.5     // the bound of a duration in KithSlow, in seconds
	milli   = 1e3
	percent = 100
	mebi    = 1 << 20
	minute  = 60
	hour    = 3600
	day     = 86400
)

// figures returns the figures of the page, in its order.
func figures() []figure {
	return []figure{
		{"Requests", "/s", "kith_http_requests_total", rate(nil), 1},
		{"Requests that failed (5xx)", "%", "kith_http_requests_total", share("status", "5*"), percent},
		{"Request duration, 99th percentile", "ms", "kith_http_request_duration_seconds", percentile99, milli},
		{"Requests shed (503)", "/s", "kith_http_shed_total", rate(nil), 1},
		{"Tool calls", "/s", "kith_tool_calls_total", rate(nil), 1},
		{"Tool call duration, 99th percentile", "ms", "kith_tool_call_duration_seconds", percentile99, milli},
		{"Credits spent", "/min", "kith_credits_total", rate(labels{"direction": "charged"}), minute},
		{"Connect calls", "/s", "kith_connect_requests_total", rate(nil), 1},
		{"Database statements", "/s", "kith_store_queries_total", rate(nil), 1},
		{"Statement duration, 99th percentile", "ms", "kith_store_query_duration_seconds", percentile99, milli},
		{"Database connections in use", "", "go_sql_in_use_connections", total(nil), 1},
		{"Queued jobs", "", "kith_jobs", total(labels{"state": "queued"}), 1},
		{"Wait of the oldest queued job", "s", "kith_job_queue_age_seconds", largest, 1},
		{"Search indexes", "MiB", "kith_search_index_bytes", total(nil), 1.0 / mebi},
		{"Age of the sandbox", "h", "kith_sandbox_age_seconds", largest, 1.0 / hour},
		{"Processors", "", "process_cpu_seconds_total", rate(nil), 1},
		{"Resident memory", "MiB", "process_resident_memory_bytes", total(nil), 1.0 / mebi},
		{"Goroutines", "", "go_goroutines", total(nil), 1},
	}
}
