package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/metrics"
)

type traceKey struct{}

// TestExemplars: each histogram of durations has the trace of its observation as an exemplar, if
// there is one, and only in the OpenMetrics format.
func TestExemplars(t *testing.T) {
	t.Parallel()
	r := metrics.New(metrics.BuildInfo{})
	r.TraceID = func(ctx context.Context) string { id, _ := ctx.Value(traceKey{}).(string); return id }
	http1, err := metrics.NewHTTP(r, []string{"mcp"})
	must(t, err)
	tools, err := metrics.NewTools(r, []string{"undo"})
	must(t, err)
	queries, err := metrics.NewQueries(r)
	must(t, err)
	jobs, err := metrics.NewJobs(r, []string{"sweep"})
	must(t, err)
	builds, err := metrics.NewBuilds(r)
	must(t, err)
	observe := func(ctx context.Context) {
		http1.Observe(ctx, "mcp", "POST", 200, time.Millisecond)
		tools.Observe(ctx, "undo", metrics.OutcomeOK, time.Millisecond)
		queries.Observe(ctx, "select", metrics.QueryOK, time.Millisecond)
		jobs.Observe(ctx, "sweep", "succeeded", 1, time.Millisecond)
		builds.Observe(ctx, true, time.Millisecond)
	}
	observe(t.Context())
	if got := scrapeAs(t, r, "application/openmetrics-text; version=1.0.0"); strings.Contains(got, "# {") {
		t.Errorf("there are exemplars without a trace:\n%s", got)
	}
	observe(context.WithValue(t.Context(), traceKey{}, "0af7651916cd43dd8448eb211c80319c"))
	got := scrapeAs(t, r, "application/openmetrics-text; version=1.0.0")
	for _, name := range []string{
		"kith_http_request_duration_seconds", "kith_tool_call_duration_seconds", "kith_store_query_duration_seconds",
		"kith_job_run_duration_seconds", "kith_search_build_duration_seconds",
	} {
		found := false
		for line := range strings.Lines(got) {
			found = found || strings.HasPrefix(line, name+"_bucket") && strings.Contains(line, `# {trace_id="0af7651916cd43dd8448eb211c80319c"}`)
		}
		if !found {
			t.Errorf("%s has no exemplar", name)
		}
	}
	if got := scrapeAs(t, r, "text/plain"); strings.Contains(got, "trace_id") {
		t.Error("the plain format has exemplars")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func scrapeAs(t *testing.T, r *metrics.Registry, format string) string {
	t.Helper()
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", format)
	r.Handler(nil).ServeHTTP(w, req)
	return w.Body.String()
}
