package status_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-crm/kith/observability/status"
)

// process is a registry with the metrics of an edge.
type process struct {
	*prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	queued   *prometheus.GaugeVec
}

func newProcess() *process {
	p := &process{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "kith_http_requests_total"}, []string{"status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kith_http_request_duration_seconds", Buckets: []float64{0.01, 0.1, 1},
		}, []string{"route"}),
		queued: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kith_jobs"}, []string{"state"}),
	}
	p.MustRegister(p.requests, p.duration, p.queued)
	return p
}

func page(t *testing.T, r *status.Recorder) (string, http.Header) {
	t.Helper()
	p, err := status.NewPage(r, "kith v1.2.3 <test>")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/status", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return string(body), w.Header()
}

// section is the part of the page about one figure, as text.
func section(t *testing.T, page, title string) string {
	t.Helper()
	_, after, found := strings.Cut(page, "<h2>"+title+"</h2>")
	if !found {
		t.Fatalf("there is no %q on the page", title)
	}
	text, _, _ := strings.Cut(after, "</section>")
	return regexp.MustCompile(`<[^>]*>|\s+`).ReplaceAllString(text, " ")
}

// TestPage: the page is one self-contained HTML document, without the figures that the process does
// not report.
func TestPage(t *testing.T) {
	t.Parallel()
	p := newProcess()
	p.queued.WithLabelValues("queued").Set(7)
	r := status.NewRecorder(p, time.Now, slog.New(slog.DiscardHandler))
	r.Start(t.Context())
	defer r.Stop()
	body, header := page(t, r)
	for _, absent := range []string{"Database statements", "Credits spent", "<script", "<test>", "http://", "https://"} {
		if strings.Contains(body, absent) {
			t.Errorf("%q is on the page", absent)
		}
	}
	if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("the policy is %q", policy)
	}
}

// The page works after the reset of a counter, and for a time without requests.
func TestGaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		r := status.NewRecorder(p, time.Now, slog.New(slog.DiscardHandler))
		step := func(requests float64) {
			p.requests.Reset()
			p.requests.WithLabelValues("200").Add(requests)
			time.Sleep(15 * time.Second)
			r.Record(t.Context())
		}
		p.duration.WithLabelValues("mcp")
		r.Record(t.Context())
		for _, n := range []float64{150, 150, 30, 330} {
			step(n)
		}
		body, _ := page(t, r)
		if got := section(t, body, "Requests"); !strings.Contains(got, "20.0") || !strings.Contains(got, "0 to 20.0 /s") {
			t.Errorf("requests: %q", got)
		}
		if got := section(t, body, "Request duration, 99th percentile"); strings.Contains(got, "NaN") || !strings.Contains(got, "–") {
			t.Errorf("a duration without requests: %q", got)
		}
		if _, failed, _ := strings.Cut(body, "<h2>Requests that failed (5xx)</h2>"); strings.Count(strings.Split(failed, "</svg>")[0], "<polyline") != 2 {
			t.Errorf("the second of four spans has no requests, so that the line has two parts:\n%s", failed[:400])
		}
	})
}

// The last hour is kept, and no more.
func TestLastHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		r := status.NewRecorder(p, time.Now, slog.New(slog.DiscardHandler))
		p.queued.WithLabelValues("queued").Set(9)
		for n := range 300 {
			if n == 100 {
				p.queued.WithLabelValues("queued").Set(1)
			}
			r.Record(t.Context())
			time.Sleep(15 * time.Second)
		}
		body, _ := page(t, r)
		if got := section(t, body, "Queued jobs"); !strings.Contains(got, "1 to 9") {
			t.Errorf("an hour is 240 readings: %q", got)
		}
		for range 100 {
			r.Record(t.Context())
			time.Sleep(15 * time.Second)
		}
		body, _ = page(t, r)
		if got := section(t, body, "Queued jobs"); !strings.Contains(got, "1 to 1") {
			t.Errorf("readings from before the hour are kept: %q", got)
		}
	})
}
