package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kith-crm/kith/observability/metrics"
)

// newHTTP returns HTTP metrics and the registry they are in.
func newHTTP(t testing.TB, routes ...string) (*metrics.HTTP, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := metrics.NewHTTP(reg, routes)
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// newTools returns tool metrics and the registry they are in.
func newTools(t testing.TB, names ...string) (*metrics.Tools, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := metrics.NewTools(reg, names)
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// newConnect returns Connect metrics and the registry they are in.
func newConnect(t testing.TB) (*metrics.Connect, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := metrics.NewConnect(reg)
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// wantSamples fails unless the samples of one metric are exactly these lines of the text format,
// such as `kith_tool_calls_total{outcome="ok",tool="undo"} 1`.
func wantSamples(t *testing.T, g prometheus.Gatherer, metric string, lines ...string) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var header string
	for _, f := range families {
		if f.GetName() == metric {
			header = "# HELP " + metric + " " + f.GetHelp() + "\n# TYPE " + metric + " " + strings.ToLower(f.GetType().String()) + "\n"
		}
	}
	want := header + strings.Join(lines, "\n") + "\n"
	if err := testutil.GatherAndCompare(g, strings.NewReader(want), metric); err != nil {
		t.Error(err)
	}
}

// wantSeries fails unless a metric has at most limit series.
func wantSeries(t *testing.T, g prometheus.Gatherer, metric string, limit int) {
	t.Helper()
	got, err := testutil.GatherAndCount(g, metric)
	if err != nil {
		t.Fatal(err)
	}
	if got > limit {
		t.Errorf("%s has %d series, want at most %d", metric, got, limit)
	}
}

// wantDurations fails unless the only series of a histogram holds count
// observations, sum seconds altogether, in classic and native buckets.
func wantDurations(t *testing.T, g prometheus.Gatherer, metric string, count uint64, sum time.Duration) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		if len(f.GetMetric()) != 1 {
			t.Fatalf("%s has %d series, want 1", metric, len(f.GetMetric()))
		}
		h := f.GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != count || h.GetSampleSum() != sum.Seconds() {
			t.Errorf("%s = %d observations, %v s; want %d, %v s", metric, h.GetSampleCount(), h.GetSampleSum(), count, sum.Seconds())
		}
		// A factor of 1.1 is schema 3: 8 buckets for each power of two.
		if h.GetSchema() != 3 || len(h.GetPositiveSpan())+int(h.GetZeroCount()) == 0 {
			t.Errorf("%s has no native buckets: schema %d", metric, h.GetSchema())
		}
		buckets := h.GetBucket()
		if len(buckets) != 13 || buckets[0].GetUpperBound() != 0.001 || buckets[12].GetUpperBound() != 10 {
			t.Errorf("%s has the classic buckets %v, want 13 from 0.001 to 10", metric, buckets)
		}
		return
	}
	t.Errorf("%s is not in the registry", metric)
}
