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

func (s span) rate(name string, want labels) float64 {
	return s.increase(name, want) / s.length.Seconds()
}

// share returns the share of some series in a counter's increase; NaN if it did not grow.
func (s span) share(name string, part labels) float64 {
	return s.increase(name, part) / s.increase(name, nil)
}

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
	metric string
	value  func(span) float64
}

const (
	milli   = 1e3
	percent = 100
	mebi    = 1 << 20
	hour    = 3600
	minute  = 60
)

// figures returns the figures of the page, in its order.
func figures() []figure {
	return []figure{
		{"Requests", "/s", "kith_http_requests_total", func(s span) float64 { return s.rate("kith_http_requests_total", nil) }},
		{"Requests that failed (5xx)", "%", "kith_http_requests_total", func(s span) float64 {
			return percent * s.share("kith_http_requests_total", labels{"status": "5*"})
		}},
		{"Request duration, 99th percentile", "ms", "kith_http_request_duration_seconds", func(s span) float64 {
			return milli * s.quantile(0.99, "kith_http_request_duration_seconds")
		}},
		{"Requests shed (503)", "/s", "kith_http_shed_total", func(s span) float64 { return s.rate("kith_http_shed_total", nil) }},
		{"Tool calls", "/s", "kith_tool_calls_total", func(s span) float64 { return s.rate("kith_tool_calls_total", nil) }},
		{"Tool call duration, 99th percentile", "ms", "kith_tool_call_duration_seconds", func(s span) float64 {
			return milli * s.quantile(0.99, "kith_tool_call_duration_seconds")
		}},
		{"Credits spent", "/min", "kith_credits_total", func(s span) float64 {
			return minute * s.rate("kith_credits_total", labels{"direction": "charged"})
		}},
		{"Connect calls", "/s", "kith_connect_requests_total", func(s span) float64 { return s.rate("kith_connect_requests_total", nil) }},
		{"Database statements", "/s", "kith_store_queries_total", func(s span) float64 { return s.rate("kith_store_queries_total", nil) }},
		{"Statement duration, 99th percentile", "ms", "kith_store_query_duration_seconds", func(s span) float64 {
			return milli * s.quantile(0.99, "kith_store_query_duration_seconds")
		}},
		{"Database connections in use", "", "go_sql_in_use_connections", func(s span) float64 { return s.to.sum("go_sql_in_use_connections", nil) }},
		{"Queued jobs", "", "kith_jobs", func(s span) float64 { return s.to.sum("kith_jobs", labels{"state": "queued"}) }},
		{"Wait of the oldest queued job", "s", "kith_job_queue_age_seconds", func(s span) float64 { return s.to.maximum("kith_job_queue_age_seconds") }},
		{"Search indexes", "MiB", "kith_search_index_bytes", func(s span) float64 { return s.to.sum("kith_search_index_bytes", nil) / mebi }},
		{"Age of the sandbox", "h", "kith_sandbox_age_seconds", func(s span) float64 { return s.to.maximum("kith_sandbox_age_seconds") / hour }},
		{"Processors", "", "process_cpu_seconds_total", func(s span) float64 { return s.rate("process_cpu_seconds_total", nil) }},
		{"Resident memory", "MiB", "process_resident_memory_bytes", func(s span) float64 { return s.to.sum("process_resident_memory_bytes", nil) / mebi }},
		{"Goroutines", "", "go_goroutines", func(s span) float64 { return s.to.sum("go_goroutines", nil) }},
	}
}
