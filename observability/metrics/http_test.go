package metrics_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-crm/kith/observability/metrics"
)

const httpRequests = "kith_http_requests_total"

func TestHTTPObserveLabels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		route, method       string
		status              int
		wantRoute, wantMeth string
		wantStatus          string
	}{
		{"known", "token", "POST", 200, "token", "POST", "200"},
		{"each method", "token", "OPTIONS", 204, "token", "OPTIONS", "204"},
		{"nothing written", "token", "GET", 0, "token", "GET", "200"},
		{"cancelled call", "mcp", "POST", 499, "mcp", "POST", "499"},
		{"path instead of a name", "/v1/connections/con_1", "GET", 404, "unknown", "GET", "404"},
		{"empty route", "", "GET", 404, "unknown", "GET", "404"},
		{"invented method", "mcp", "BREW", 405, "mcp", "other", "405"},
		{"lower case method", "mcp", "get", 405, "mcp", "other", "405"},
		{"rare method", "mcp", "CONNECT", 405, "mcp", "other", "405"},
		{"unregistered status", "mcp", "GET", 299, "mcp", "GET", "other"},
		{"status too large", "mcp", "GET", 600, "mcp", "GET", "other"},
		{"negative status", "mcp", "GET", -1, "mcp", "GET", "other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, reg := newHTTP(t, "token", "mcp")
			m.Observe(t.Context(), tt.route, tt.method, tt.status, time.Millisecond)
			m.Observe(t.Context(), tt.route, tt.method, tt.status, time.Millisecond)
			wantSamples(t, reg, httpRequests, fmt.Sprintf("%s{method=%q,route=%q,status=%q} 2",
				httpRequests, tt.wantMeth, tt.wantRoute, tt.wantStatus))
		})
	}
}

func TestHTTPEveryMethodHasItsOwnSeries(t *testing.T) {
	t.Parallel()
	m, reg := newHTTP(t, "mcp")
	var want []string
	for _, method := range []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "other"} {
		m.Observe(t.Context(), "mcp", method, 200, 0)
		want = append(want, fmt.Sprintf(`%s{method=%q,route="mcp",status="200"} 1`, httpRequests, method))
	}
	wantSamples(t, reg, httpRequests, want...)
}

func TestHTTPSeriesAreBounded(t *testing.T) {
	t.Parallel()
	const routes, methods, statuses = 2, 8, 64
	m, reg := newHTTP(t, "mcp")
	for i := range 2000 {
		m.Observe(t.Context(), fmt.Sprint("/path/", i), fmt.Sprint("METHOD", i), i-500, 0)
		m.Observe(t.Context(), "mcp", "GET", i-500, 0)
	}
	wantSeries(t, reg, httpRequests, routes*methods*statuses)
	wantSeries(t, reg, "kith_http_request_duration_seconds", routes)
}

func TestHTTPDurations(t *testing.T) {
	t.Parallel()
	m, reg := newHTTP(t, "mcp")
	m.Observe(t.Context(), "mcp", "GET", 200, 250*time.Millisecond)
	m.Observe(t.Context(), "mcp", "POST", 500, 2*time.Second)
	m.Observe(t.Context(), "mcp", "POST", 500, -time.Hour)
	wantDurations(t, reg, "kith_http_request_duration_seconds", 3, 2250*time.Millisecond)
}

func TestHTTPInFlight(t *testing.T) {
	t.Parallel()
	m, reg := newHTTP(t)
	m.Enter()
	m.Enter()
	m.Leave()
	wantSamples(t, reg, "kith_http_in_flight_requests", "kith_http_in_flight_requests 1")
}

func TestHTTPCountsConcurrentRequests(t *testing.T) {
	t.Parallel()
	const callers, each = 8, 500
	m, reg := newHTTP(t, "mcp")
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				m.Observe(t.Context(), "mcp", "POST", 200, time.Second)
			}
		})
	}
	all.Wait()
	wantSamples(t, reg, httpRequests, fmt.Sprintf(`%s{method="POST",route="mcp",status="200"} %d`, httpRequests, callers*each))
	wantDurations(t, reg, "kith_http_request_duration_seconds", callers*each, callers*each*time.Second)
}

func TestHTTPHalvesShareARegistry(t *testing.T) {
	t.Parallel()
	edge, reg := newHTTP(t, "mcp")
	backend, err := metrics.NewHTTP(reg, []string{"token"})
	if err != nil {
		t.Fatal(err)
	}
	edge.Observe(t.Context(), "mcp", "GET", 200, 0)
	backend.Observe(t.Context(), "token", "POST", 400, 0)
	edge.Enter()
	backend.Enter()
	wantSamples(t, reg, httpRequests,
		httpRequests+`{method="GET",route="mcp",status="200"} 1`,
		httpRequests+`{method="POST",route="token",status="400"} 1`)
	wantSamples(t, reg, "kith_http_in_flight_requests", "kith_http_in_flight_requests 2")
}

func TestNewHTTPRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		routes []string
		before prometheus.Collector
	}{
		{"an empty name", []string{"mcp", ""}, nil},
		{"a name that is not UTF-8", []string{"m\xffcp"}, nil},
		{"a registry with another metric of that name", []string{"mcp"}, gauge("kith_http_in_flight_requests")},
		{"a registry with another counter of that name", []string{"mcp"}, gauge("kith_http_requests_total")},
		{"a registry with another histogram of that name", []string{"mcp"}, gauge("kith_http_request_duration_seconds")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reg := prometheus.NewPedanticRegistry()
			if tt.before != nil {
				reg.MustRegister(tt.before)
			}
			if _, err := metrics.NewHTTP(reg, tt.routes); err == nil {
				t.Error("NewHTTP accepted it")
			}
		})
	}
}

// gauge is a foreign collector.
func gauge(name string) prometheus.Collector {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "Another."})
}
