package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kith-crm/kith/observability/metrics"
)

// both registers collectors twice, as edge and backend do in one process.
func both[M any](t *testing.T, make func() (M, error)) M {
	t.Helper()
	if _, err := make(); err != nil {
		t.Fatal(err)
	}
	m, err := make()
	if err != nil {
		t.Fatalf("a second time: %v", err)
	}
	return m
}

func wantMetrics(t *testing.T, r prometheus.Gatherer, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	m := both(t, func() (*metrics.RateLimits, error) { return metrics.NewRateLimits(r, []string{"mcp", "batch"}) })
	m.Observe("mcp", 3, 0)
	m.Observe("mcp", 1, 2)
	m.Observe("made up", 5, 0)
	m.Fallback(true)
	wantMetrics(t, r, `
# HELP kith_rate_limit_fallback 1 while the edge counts rate limits by itself because Redis does not answer.
# TYPE kith_rate_limit_fallback gauge
kith_rate_limit_fallback 1
# HELP kith_rate_limit_hits_total Requests and batch items counted under a rate policy, by policy and outcome (admitted, refused).
# TYPE kith_rate_limit_hits_total counter
kith_rate_limit_hits_total{outcome="admitted",policy="batch"} 0
kith_rate_limit_hits_total{outcome="admitted",policy="mcp"} 4
kith_rate_limit_hits_total{outcome="refused",policy="batch"} 0
kith_rate_limit_hits_total{outcome="refused",policy="mcp"} 2
kith_rate_limit_hits_total{outcome="unknown",policy="unknown"} 5
`)
	m.Fallback(false)
	if n := testutil.CollectAndCount(r, "kith_rate_limit_fallback"); n != 1 {
		t.Errorf("%d", n)
	}
}

func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	limit, shed := func() int64 { return 64 }, func() int64 { return 3 }
	if err := metrics.NewConcurrencyLimit(r, limit, shed); err != nil {
		t.Fatal(err)
	}
	wantMetrics(t, r, `
# HELP kith_http_in_flight_limit HTTP requests that may be in flight at once; the limit falls while requests wait for a processor.
# TYPE kith_http_in_flight_limit gauge
kith_http_in_flight_limit 64
# HELP kith_http_shed_total HTTP requests answered 503 because too many others were in flight.
# TYPE kith_http_shed_total counter
kith_http_shed_total 3
`)
	if metrics.NewConcurrencyLimit(r, limit, shed) == nil {
		t.Error("a second limit is accepted")
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	m := both(t, func() (*metrics.Batches, error) { return metrics.NewBatches(r) })
	m.Observe(map[int]int{200: 2, 404: 1, 7: 1})
	wantMetrics(t, r, `
# HELP kith_batch_items_total Batch items answered, by their own status code.
# TYPE kith_batch_items_total counter
kith_batch_items_total{status="0"} 1
kith_batch_items_total{status="200"} 2
kith_batch_items_total{status="404"} 1
`, "kith_batch_items_total")
}

func TestCreditsAndIdempotency(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	both(t, func() (*metrics.Outcomes, error) { return metrics.NewIdempotency(r) }).Observe(metrics.KeyReplayed)
	m := both(t, func() (*metrics.Credits, error) { return metrics.NewCredits(r, []string{"search"}) })
	m.Charged("search", 2)
	m.Refunded("search", 1)
	m.Refused("search")
	wantMetrics(t, r, `
# HELP kith_credit_decisions_total Charges for calls and for steps of jobs, by tool and whether the month's credits covered them (paid, refused).
# TYPE kith_credit_decisions_total counter
kith_credit_decisions_total{outcome="paid",tool="search"} 1
kith_credit_decisions_total{outcome="refused",tool="search"} 1
kith_credit_decisions_total{outcome="unknown",tool="unknown"} 0
# HELP kith_credits_total Credits charged to members and given back to them, by tool and direction (charged, refunded).
# TYPE kith_credits_total counter
kith_credits_total{direction="charged",tool="search"} 2
kith_credits_total{direction="refunded",tool="search"} 1
kith_credits_total{direction="unknown",tool="unknown"} 0
# HELP kith_idempotency_keys_total Calls with an Idempotency-Key, by outcome (kept, replayed, in_flight, reused, dropped).
# TYPE kith_idempotency_keys_total counter
kith_idempotency_keys_total{outcome="dropped"} 0
kith_idempotency_keys_total{outcome="in_flight"} 0
kith_idempotency_keys_total{outcome="kept"} 0
kith_idempotency_keys_total{outcome="replayed"} 1
kith_idempotency_keys_total{outcome="reused"} 0
`)
}

func TestOAuthAndJobs(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	events := both(t, func() (*metrics.OAuth, error) {
		return metrics.NewOAuth(r, []string{"refresh"}, []string{"ok", "replayed"})
	})
	events.Observe("refresh", "replayed")
	events.Observe("refresh", "made up")
	runs := both(t, func() (*metrics.Jobs, error) { return metrics.NewJobs(r, []string{"sweep"}) })
	runs.Observe(t.Context(), "sweep", "succeeded", 1, time.Second)
	runs.Observe(t.Context(), "made up", "made up", 2, time.Second)
	wantMetrics(t, r, `
# HELP kith_job_runs_total Runs of jobs, by kind and outcome (succeeded, failed, cancelled, retried, yielded, stopped, lost).
# TYPE kith_job_runs_total counter
kith_job_runs_total{kind="sweep",outcome="succeeded"} 1
kith_job_runs_total{kind="unknown",outcome="failed"} 1
# HELP kith_oauth_events_total Events of authorization and sign-in, by kind and result.
# TYPE kith_oauth_events_total counter
kith_oauth_events_total{kind="refresh",result="ok"} 0
kith_oauth_events_total{kind="refresh",result="replayed"} 1
kith_oauth_events_total{kind="unknown",result="unknown"} 1
`, "kith_job_runs_total", "kith_oauth_events_total")
}

func TestInvalidNames(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	if _, err := metrics.NewRateLimits(r, []string{""}); err == nil {
		t.Error("an empty policy is accepted")
	}
	if _, err := metrics.NewOAuth(r, []string{"\xff"}, nil); err == nil {
		t.Error("a kind that is not UTF-8 is accepted")
	}
	if _, err := metrics.NewJobs(r, []string{""}); err == nil {
		t.Error("an empty kind is accepted")
	}
}
