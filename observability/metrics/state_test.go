package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kith-crm/kith/observability/metrics"
)

func TestBackendRequests(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	m := both(t, func() (*metrics.Outcomes, error) { return metrics.NewBackend(r) })
	m.Observe(metrics.BackendAnswered)
	m.Observe(metrics.BackendAbandoned)
	m.Observe("made up")
	wantMetrics(t, r, `
# HELP kith_backend_requests_total HTTP requests of the edge to the backend, by outcome (answered, unreachable, abandoned by the caller).
# TYPE kith_backend_requests_total counter
kith_backend_requests_total{outcome="abandoned"} 1
kith_backend_requests_total{outcome="answered"} 1
kith_backend_requests_total{outcome="unreachable"} 1
`)
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	states := []metrics.BackendState{{Backend: "gone:1", Up: true, Calls: 9}}
	if err := metrics.NewPlacement(r, func() []metrics.BackendState { return states }); err != nil {
		t.Fatal(err)
	}
	states = []metrics.BackendState{{Backend: "a:1", Up: true, Calls: 3}, {Backend: "b:1", Calls: 2, Fallbacks: 1}}
	wantMetrics(t, r, `
# HELP kith_placement_backend_up 1 while the edge sends calls to this backend, 0 while it does not.
# TYPE kith_placement_backend_up gauge
kith_placement_backend_up{backend="a:1"} 1
kith_placement_backend_up{backend="b:1"} 0
# HELP kith_placement_calls_total HTTP requests that the edge sent to this backend.
# TYPE kith_placement_calls_total counter
kith_placement_calls_total{backend="a:1"} 3
kith_placement_calls_total{backend="b:1"} 2
# HELP kith_placement_fallbacks_total HTTP requests for members of this backend that another backend answered.
# TYPE kith_placement_fallbacks_total counter
kith_placement_fallbacks_total{backend="a:1"} 0
kith_placement_fallbacks_total{backend="b:1"} 1
`)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	counts := []metrics.JobCount{
		{Kind: "sweep", State: "queued", Count: 2, Waited: 3 * time.Second},
		{Kind: "sweep", State: "running", Count: 1},
		{Kind: "sweep", State: "scheduled", Count: 5},
		{Kind: "of a later version", State: "queued", Count: 1},
	}
	var failure error
	count := func(context.Context) ([]metrics.JobCount, error) { return counts, failure }
	if err := metrics.NewQueue(r, []string{"sweep", "import"}, count); err != nil {
		t.Fatal(err)
	}
	wantMetrics(t, r, `
# HELP kith_job_queue_age_seconds How long the oldest job that could run has waited for a worker, by kind.
# TYPE kith_job_queue_age_seconds gauge
kith_job_queue_age_seconds{kind="import"} 0
kith_job_queue_age_seconds{kind="sweep"} 3
kith_job_queue_age_seconds{kind="unknown"} 0
# HELP kith_jobs Unfinished jobs, by kind and state (scheduled for later, queued for a worker, running).
# TYPE kith_jobs gauge
kith_jobs{kind="import",state="queued"} 0
kith_jobs{kind="import",state="running"} 0
kith_jobs{kind="import",state="scheduled"} 0
kith_jobs{kind="sweep",state="queued"} 2
kith_jobs{kind="sweep",state="running"} 1
kith_jobs{kind="sweep",state="scheduled"} 5
kith_jobs{kind="unknown",state="queued"} 1
kith_jobs{kind="unknown",state="running"} 0
kith_jobs{kind="unknown",state="scheduled"} 0
`)
	if failure = errors.New("the store is down"); testutil.CollectAndCount(gathered{r}) != 0 {
		t.Error("jobs that cannot be counted are reported")
	}
	if err := metrics.NewQueue(r, nil, count); err == nil {
		t.Error("a second queue is accepted")
	}
	if err := metrics.NewQueue(r, []string{""}, count); err == nil {
		t.Error("an empty kind is accepted")
	}
}

// gathered is a registry as a collector.
type gathered struct{ *prometheus.Registry }

func TestQueries(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	m := both(t, func() (*metrics.Queries, error) { return metrics.NewQueries(r) })
	m.Observe(t.Context(), "select", metrics.QueryOK, time.Second)
	m.Observe(t.Context(), "commit", metrics.QueryConflict, time.Second)
	m.Observe(t.Context(), "vacuum", "made up", time.Second)
	wantSamples(t, r, "kith_store_queries_total",
		`kith_store_queries_total{operation="commit",outcome="conflict"} 1`,
		`kith_store_queries_total{operation="select",outcome="ok"} 1`,
		`kith_store_queries_total{operation="unknown",outcome="failed"} 1`)
	wantSeries(t, r, "kith_store_query_duration_seconds", 3)
}

func TestStoreUp(t *testing.T) {
	t.Parallel()
	for want, failure := range map[string]error{"1": nil, "0": errors.New("down")} {
		r := prometheus.NewRegistry()
		if err := metrics.NewStoreUp(r, func(context.Context) error { return failure }); err != nil {
			t.Fatal(err)
		}
		wantSamples(t, r, "kith_store_up", "kith_store_up "+want)
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	if err := metrics.NewDisk(r, filepath.Join(t.TempDir(), "kith.db"), func() int64 { return 4096 }, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	free, size := value(t, r, "kith_store_disk_free_bytes"), value(t, r, "kith_store_disk_size_bytes")
	if log, damaged := value(t, r, "kith_store_log_bytes"), value(t, r, "kith_store_damaged"); log != 4096 || damaged != 1 {
		t.Errorf("the log has %v bytes, damaged is %v", log, damaged)
	}
	if free <= 0 || size < free {
		t.Errorf("%v of %v bytes are free", free, size)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	indexes, vectors := func() (int, int64) { return 1, 2 }, func() (int, int64) { return 3, 4 }
	if err := metrics.NewSearch(r, indexes, vectors); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"kith_search_indexes": 1, "kith_search_index_bytes": 2, "kith_search_vector_sets": 3, "kith_search_vector_bytes": 4,
	} {
		if got := value(t, r, name); got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	if metrics.NewSearch(r, indexes, vectors) == nil {
		t.Error("the same gauges are accepted twice")
	}
	builds := both(t, func() (*metrics.Builds, error) { return metrics.NewBuilds(r) })
	builds.Observe(t.Context(), true, time.Second)
	builds.Observe(t.Context(), false, 2*time.Second)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "kith_search_build_duration_seconds" {
			continue
		}
		for i, want := range []float64{2, 1} { // update, whole
			if h := f.GetMetric()[i].GetHistogram(); h.GetSampleSum() != want || h.GetSampleCount() != 1 {
				t.Errorf("%v", f.GetMetric()[i])
			}
		}
	}
}

func TestSandboxAge(t *testing.T) {
	t.Parallel()
	var day time.Time
	r := prometheus.NewRegistry()
	if err := metrics.NewSandbox(r, func() time.Time { return day }); err != nil {
		t.Fatal(err)
	}
	if got := value(t, r, "kith_sandbox_age_seconds"); got != 0 {
		t.Errorf("without a day: %v", got)
	}
	day = time.Now().Add(-time.Hour)
	if got := value(t, r, "kith_sandbox_age_seconds"); math.Abs(got-3600) > 60 {
		t.Errorf("after an hour: %v", got)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	for use, end := range map[string]time.Time{"edge": time.Unix(100, 0), "backend": time.Unix(200, 0)} {
		if err := metrics.NewCertificate(r, use, func() time.Time { return end }); err != nil {
			t.Fatal(err)
		}
	}
	wantSamples(t, r, "kith_tls_certificate_expiry_timestamp_seconds",
		`kith_tls_certificate_expiry_timestamp_seconds{use="backend"} 200`, `kith_tls_certificate_expiry_timestamp_seconds{use="edge"} 100`)
	if metrics.NewCertificate(r, "", time.Now) == nil {
		t.Error("a certificate without a use is accepted")
	}
}

// value is the value of a metric without labels.
func value(t *testing.T, r prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

func TestDue(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	state, err := metrics.Due{Overdue: -time.Minute, Failing: 2}, error(nil)
	read := func(context.Context) (metrics.Due, error) { return state, err }
	if err := errors.Join(metrics.NewSources(r, read), metrics.NewDigests(r, read)); err != nil {
		t.Fatal(err)
	}
	const want = `
# HELP kith_digest_overdue_seconds How long the digest that is due the longest has waited to be sent; 0 if none is due.
# TYPE kith_digest_overdue_seconds gauge
kith_digest_overdue_seconds %[1]d
# HELP kith_digests_failing Members whose digest could not be sent at the last try.
# TYPE kith_digests_failing gauge
kith_digests_failing 2
# HELP kith_source_overdue_seconds How long the source that is due the longest, such as a calendar, has waited to be read; 0 if none is due.
# TYPE kith_source_overdue_seconds gauge
kith_source_overdue_seconds %[1]d
# HELP kith_sources_failing Sources that could not be read at the last try.
# TYPE kith_sources_failing gauge
kith_sources_failing 2
`
	wantMetrics(t, r, fmt.Sprintf(want, 0))
	state.Overdue = 90 * time.Second
	wantMetrics(t, r, fmt.Sprintf(want, 90))
	err = errors.New("the database is down")
	wantMetrics(t, r, "")
}

func TestRunsOfSourcesAndDigests(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	runs := both(t, func() (*metrics.Outcomes, error) { return metrics.NewSourceRuns(r) })
	digests := both(t, func() (*metrics.Outcomes, error) { return metrics.NewDigestRuns(r) })
	runs.Observe(metrics.SourceRead)
	runs.Observe("made up")
	digests.Add(metrics.DigestSent, 3)
	digests.Add(metrics.DigestEmpty, 0)
	wantMetrics(t, r, `
# HELP kith_digests_total Digests that were due, by outcome (sent; empty, because there was nothing to say; failed, to be tried again).
# TYPE kith_digests_total counter
kith_digests_total{outcome="empty"} 0
kith_digests_total{outcome="failed"} 0
kith_digests_total{outcome="sent"} 3
# HELP kith_source_runs_total Readings of sources, such as calendars, by outcome (read; failed, because the source could not be read).
# TYPE kith_source_runs_total counter
kith_source_runs_total{outcome="failed"} 1
kith_source_runs_total{outcome="read"} 1
`)
}
