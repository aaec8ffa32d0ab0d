package status_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-crm/kith/observability/rules"
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

func newRecorder(t *testing.T, g prometheus.Gatherer, now func() time.Time) *status.Recorder {
	t.Helper()
	r, err := status.NewRecorder(g, now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
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
	r := newRecorder(t, p, time.Now)
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

// The page handles the reset of a counter, and intervals without requests.
func TestGaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		r := newRecorder(t, p, time.Now)
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

// Only the last hour is kept.
func TestLastHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		r := newRecorder(t, p, time.Now)
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

// verdict returns the words at the top of the page, and the list of what is wrong.
func verdict(t *testing.T, page string) (words, wrong string) {
	t.Helper()
	_, after, found := strings.Cut(page, `role="status">`)
	words, after, _ = strings.Cut(after, "</p>")
	if !found {
		t.Fatalf("the page has no verdict:\n%s", page)
	}
	wrong, _, _ = strings.Cut(after, "</div>")
	return words, wrong
}

// The first lines say what is wrong, by the limits of the alert rules, and link to the runbook. Five
// minutes after the last failure, nothing is wrong again.
func TestVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProcess()
		age := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kith_job_queue_age_seconds"}, []string{"kind"})
		up := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kith_store_up"})
		p.MustRegister(age, up)
		r := newRecorder(t, p, time.Now)
		step := func(good, failed float64) string {
			p.requests.WithLabelValues("200").Add(good)
			p.requests.WithLabelValues("503").Add(failed)
			time.Sleep(15 * time.Second)
			r.Record(t.Context())
			body, _ := page(t, r)
			return body
		}
		up.Set(1)
		age.WithLabelValues("import").Set(600)
		p.requests.WithLabelValues("200")
		r.Record(t.Context())
		body, _ := page(t, r)
		if words, _ := verdict(t, body); words != "Nothing is wrong so far" {
			t.Errorf("before the first rates: %q", words)
		}
		if words, wrong := verdict(t, step(95, 5)); words != "All good" || strings.Contains(wrong, "<li>") {
			t.Errorf("at the limits: %q, %q", words, wrong)
		}
		words, wrong := verdict(t, step(90, 10))
		if words != "One thing is wrong" || !strings.Contains(wrong, "Requests that failed (5xx): 7.5 %. The alert fires above 5 %.") || !strings.Contains(wrong, "/runbooks/KithErrors.md\"") {
			t.Errorf("above a limit: %q, %q", words, wrong)
		}
		up.Set(0)
		age.WithLabelValues("sweep").Set(601)
		body = step(0, 0)
		if words, wrong = verdict(t, body); words != "3 things are wrong" || !strings.Contains(wrong, "The database can be used: no. The alert fires if “no”.") || !strings.Contains(wrong, "Wait of the oldest queued job: 601 s.") {
			t.Errorf("three limits: %q, %q", words, wrong)
		}
		if !strings.Contains(body, "<th scope=\"row\">Requests that failed (5xx)</th><td>7.5 %</td><td>above 5 %</td><td>wrong</td>") {
			t.Errorf("the table does not say so:\n%s", body)
		}
		if got := section(t, body, "Requests that failed (5xx)"); !strings.Contains(got, "; alert above 5 %") {
			t.Errorf("no limit beside the figure: %q", got)
		}
		up.Set(1)
		age.Reset()
		for range 19 {
			body = step(0, 0)
		}
		if words, _ = verdict(t, body); words != "All good" {
			t.Errorf("five minutes later: %q", words)
		}
	})
}

// Every rule that compares one figure of a process has a check.
func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	left := map[string]string{
		"KithDown": "a process cannot see that it is down", "KithInstanceDown": "the same", "KithRestarts": "forgets its earlier starts",
		"KithSignInsRefused": "has two limits over a quarter of an hour", "KithJobsFail": "is about half an hour of few runs",
		"KithCertificateExpiresSoon": "KithCertificateExpires fires first", "KithDiskFull": "KithDiskFills fires first",
	}
	all, err := rules.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	checked := status.CheckedAlerts()
	for name := range all {
		if reason := left[name]; (reason == "") != slices.Contains(checked, name) {
			t.Errorf("%s: checked %t, left out because it %q", name, slices.Contains(checked, name), reason)
		}
	}
}

// The page reloads itself until the reader turns that off.
func TestRefresh(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, newProcess(), time.Now)
	r.Record(t.Context())
	p, err := status.NewPage(r, "kith")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/status": "15", "/status?refresh=off": "", "/status?refresh=nonsense": "15"} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Header().Get("Refresh"); got != want || !strings.Contains(w.Body.String(), map[bool]string{true: "Stop refreshing", false: "Refresh every 15 seconds"}[want != ""]) {
			t.Errorf("%s: Refresh is %q", path, got)
		}
	}
}
