package ops

import (
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
		got := p.page(a.Labels, a.StartsAt)
		if a.Status == "resolved" && got.toldEnd.IsZero() {
			got.resolved, got.toldEnd = a.EndsAt, time.Now()
		}
	}
}

// page returns the alert with these labels and this start.
func (p *pager) page(labels map[string]string, fired time.Time) *page {
	for i := range p.pages {
		if p.pages[i].fired.Equal(fired) && same(p.pages[i].labels, labels) {
			return &p.pages[i]
		}
	}
	p.pages = append(p.pages, page{alert: labels["alertname"], severity: labels["severity"], labels: labels, fired: fired, told: time.Now()})
	return &p.pages[len(p.pages)-1]
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
