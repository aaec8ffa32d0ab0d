package metrics_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-crm/kith/observability/metrics"
)

func TestNewReportsTheBuild(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		build metrics.BuildInfo
		want  string
	}{
		{"released", metrics.BuildInfo{Version: "v1.4.0", Revision: "abc", Date: "2026-11-22T10:00:00Z", GoVersion: "go1.26"}, `date="2026-11-22T10:00:00Z",go_version="go1.26",revision="abc",version="v1.4.0"`},
		{"zero value", metrics.BuildInfo{}, `date="unknown",go_version="` + runtime.Version() + `",revision="unknown",version="dev"`},
		{"not UTF-8", metrics.BuildInfo{Version: "v\xff", Revision: "abc", GoVersion: "go1.26"}, `date="unknown",go_version="go1.26",revision="abc",version="v_"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantSamples(t, metrics.New(tt.build), "kith_build_info", "kith_build_info{"+tt.want+"} 1")
		})
	}
}

func TestHandlerNegotiatesTheFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, accept, wantType, wantEnd string }{
		{"text", "", "text/plain; version=0.0.4", "\n"},
		{"OpenMetrics", "application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0", "# EOF\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reg := metrics.New(metrics.BuildInfo{})
			contentType, body, _ := scrape(t, reg, tt.accept)
			if !strings.HasPrefix(contentType, tt.wantType) {
				t.Errorf("Content-Type = %q, want %q", contentType, tt.wantType)
			}
			for _, want := range []string{"kith_build_info{", "go_goroutines ", "process_start_time_seconds "} {
				if !strings.Contains(body, "\n"+want) {
					t.Errorf("no %q in the scrape", want)
				}
			}
			if !strings.HasSuffix(body, tt.wantEnd) {
				t.Errorf("the scrape does not end in %q", tt.wantEnd)
			}
		})
	}
}

func TestHandlerServesWhatWorks(t *testing.T) {
	t.Parallel()
	reg := metrics.New(metrics.BuildInfo{})
	reg.MustRegister(broken{prometheus.NewDesc("kith_broken", "Fails.", nil, nil)})
	_, body, log := scrape(t, reg, "")
	if !strings.Contains(body, "kith_build_info{") {
		t.Error("a collector that fails hides the others")
	}
	if !strings.Contains(log, "the disk is gone") {
		t.Errorf("the failure is not in the log: %q", log)
	}
}

// scrape returns the answer and the log of the registry's handler.
func scrape(t *testing.T, reg *metrics.Registry, accept string) (contentType, body, log string) {
	t.Helper()
	var lines strings.Builder
	req := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	reg.Handler(slog.New(slog.NewTextHandler(&lines, nil))).ServeHTTP(w, req)
	res := w.Result()
	if res.StatusCode != 200 {
		t.Fatalf("status = %d, want 200", res.StatusCode)
	}
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.Header.Get("Content-Type"), string(all), lines.String()
}

// broken is a collector that fails.
type broken struct{ desc *prometheus.Desc }

func (b broken) Describe(ch chan<- *prometheus.Desc) { ch <- b.desc }

func (b broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(b.desc, errors.New("the disk is gone"))
}
