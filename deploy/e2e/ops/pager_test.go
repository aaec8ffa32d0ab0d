package ops

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// pager is the webhook receiver of Alertmanager. It stores the alerts.
type pager struct {
	url string

	mu    sync.Mutex
	pages []page
}

// page is an alert as received.
type page struct {
	alert, severity string
	labels          map[string]string
	fired, resolved time.Time // the times that Prometheus reports
	told, toldEnd   time.Time // when it arrived here; zero before
}

func newPager(t *testing.T) *pager {
	t.Helper()
	p := &pager{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// ServeHTTP receives alerts from Alertmanager.
func (p *pager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Alerts []struct {
			Status           string
			Labels           map[string]string
			StartsAt, EndsAt time.Time
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range message.Alerts {
		p.page(a.Labels, a.StartsAt)
		for i := range p.pages {
			got := &p.pages[i]
			switch {
			case !got.toldEnd.IsZero() || !same(got.labels, a.Labels):
			case got.fired.Before(a.StartsAt): // Alertmanager tells no end of an alert that has fired again meanwhile
				got.resolved, got.toldEnd = a.StartsAt, time.Now()
			case got.fired.Equal(a.StartsAt) && a.Status == "resolved":
				got.resolved, got.toldEnd = a.EndsAt, time.Now()
			}
		}
	}
}

// page stores the alert with these labels and this start, unless it is known.
func (p *pager) page(labels map[string]string, fired time.Time) {
	known := func(got page) bool { return got.fired.Equal(fired) && same(got.labels, labels) }
	if !slices.ContainsFunc(p.pages, known) {
		p.pages = append(p.pages, page{alert: labels["alertname"], severity: labels["severity"], labels: labels, fired: fired, told: time.Now()})
	}
}

// TestPagerHearsEnds: an alert has ended when Alertmanager says so, or says that it has fired again.
func TestPagerHearsEnds(t *testing.T) {
	p := newPager(t)
	first := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tell := func(status, instance string, starts, ends time.Time) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"alerts": []map[string]any{{
			"status": status, "labels": map[string]string{"alertname": "A", "instance": instance}, "startsAt": starts, "endsAt": ends,
		}}})
		must(t, err)
		res, err := http.Post(p.url, "application/json", bytes.NewReader(body))
		must(t, err)
		must(t, res.Body.Close())
	}
	open := func() (starts []time.Time) {
		for _, got := range p.since(time.Time{}) {
			if got.toldEnd.IsZero() {
				starts = append(starts, got.fired)
			}
		}
		return starts
	}
	again := first.Add(time.Minute)
	for _, step := range []struct {
		status, instance string
		starts           time.Time
		open             []time.Time
	}{
		{"firing", "a", first, []time.Time{first}},
		{"firing", "a", first, []time.Time{first}},
		{"firing", "b", again, []time.Time{first, again}},
		{"firing", "a", again, []time.Time{again, again}},
		{"resolved", "a", again, []time.Time{again}},
		{"resolved", "b", again, nil},
	} {
		tell(step.status, step.instance, step.starts, step.starts.Add(time.Second))
		if got := open(); !slices.EqualFunc(got, step.open, time.Time.Equal) {
			t.Fatalf("after %s of %s at %s: %v do not have an end, want %v", step.status, step.instance, step.starts, got, step.open)
		}
	}
}

func same(a, b map[string]string) bool {
	x, _ := json.Marshal(a) // a map of strings: its keys are sorted, and it cannot fail
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// since returns the alerts that fired after the time.
func (p *pager) since(then time.Time) []page {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []page
	for _, got := range p.pages {
		if !got.fired.Before(then) {
			list = append(list, got)
		}
	}
	return list
}

// heard reports whether an alert with the labels has arrived since the time.
func (p *pager) heard(then time.Time, alert string, labels ...string) bool {
	return slices.ContainsFunc(p.since(then), func(got page) bool { return got.is(alert, labels...) })
}

// is reports whether a page is about the alert with these labels, each "name=value".
func (g page) is(alert string, labels ...string) bool {
	return g.alert == alert && !slices.ContainsFunc(labels, func(label string) bool {
		name, value, _ := strings.Cut(label, "=")
		return g.labels[name] != value
	})
}
