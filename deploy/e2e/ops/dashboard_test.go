package ops

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// board has the fields of a Grafana dashboard that become Prometheus queries.
type board struct {
	UID    string
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// query is one query of a panel, with Grafana's variables replaced.
type query struct{ dashboard, panel, expr string }

func queries(t *testing.T) (list []query) {
	t.Helper()
	files, err := filepath.Glob(repository + "/observability/dashboards/*.json")
	must(t, err)
	// For a range of an hour Grafana uses four scrape intervals: a minute.
	fill := strings.NewReplacer("$__rate_interval", "4s", "$instance", ".*")
	for _, file := range files {
		var b board
		must(t, json.Unmarshal([]byte(read(t, file)), &b))
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				list = append(list, query{strings.TrimSuffix(filepath.Base(file), ".json"), p.Title, fill.Replace(target.Expr)})
			}
		}
	}
	if len(list) < 70 {
		t.Fatalf("only %d queries found", len(list))
	}
	return list
}

// still lists the panels that may stay 0 in this test, with the reason.
func still() map[string]string {
	return map[string]string{
		"edge: Requests shed":                              "the request limit is not reached; make overload covers it",
		"tools: Credits refunded":                          "no paid job fails",
		"authorization: Sign-ins through a provider":       "the test has no OpenID provider",
		"authorization: Personal tokens and revocations":   "no client opens the settings pages",
		"authorization: Accounts":                          "no client signs up",
		"authorization: Rate-limited attempts":             "a wrong password every few seconds is below the limit",
		"jobs: Share of failed runs":                       "no job fails",
		"capacity: Requests in flight, share of the limit": "the edges have no limit here, and the single process has few requests",
		"overview: Longest wait of a job":                  "workers are mostly faster than a scrape",
		"jobs: Longest wait":                               "the same",
		"edge: Share of slow requests":                     "an idle machine is fast enough",
		"tools: Share of slow calls":                       "the same",
		"overview: Requests: latency budget burn rate":     "the same",
		"overview: Tool calls: latency budget burn rate":   "the same",
		"store: Waiting callers":                           "except in an outage, there are more connections than callers",
		"store: Waits":                                     "the same",
		"authorization: Share of server errors":            "there may be no sign-in while the database is down",
		"jobs: Leases lost":                                "no process is cut off from the database for as long as a lease",
		"jobs: Calendars read":                             "nobody has a calendar",
		"jobs: Digests":                                    "nobody gets a digest",
		"jobs: Longest overdue":                            "the same",
		"jobs: Failing":                                    "the same",
		"store: Conflicts":                                 "a member's writes wait for each other",
	}
}

// checkDashboards fails the test unless every query returns data, and every panel that is
// not in still shows more than 0.
func (s *site) checkDashboards(t *testing.T, from, to time.Time) (asked int) {
	t.Helper()
	moved, quiet := map[string]bool{}, still()
	for _, q := range queries(t) {
		asked++
		got, err := s.ask(q.expr, from, to)
		if err != nil {
			t.Errorf("%s: %s: %v", q.dashboard, q.panel, err)
			continue
		}
		if len(got) == 0 {
			t.Errorf("%s: %s shows nothing: %s", q.dashboard, q.panel, q.expr)
		}
		name := q.dashboard + ": " + q.panel
		moved[name] = moved[name] || most(got) > 0 || least(got) < 0
	}
	for name, has := range moved {
		if _, known := quiet[name]; !has && !known {
			t.Errorf("%s shows only 0", name)
		}
	}
	for name := range quiet {
		if _, there := moved[name]; !there {
			t.Errorf("there is no %s", name)
		}
	}
	return asked
}

// wish is what a panel must show during an event: a matching value at some point.
type wish struct {
	dashboard, panel string
	fits             func(series []series) (value float64, fits bool)
}

func atMost(bound float64) func([]series) (float64, bool) {
	return func(got []series) (float64, bool) { v := least(got); return v, v <= bound }
}

func atLeast(bound float64) func([]series) (float64, bool) {
	return func(got []series) (float64, bool) { v := most(got); return v, v >= bound }
}

// show fails the test unless the panels show the event.
func (s *site) show(t *testing.T, e *event, wishes ...wish) {
	t.Helper()
	for _, w := range wishes {
		value, fits := s.shows(t, w, e.began, e.ended)
		if !fits {
			t.Errorf("%s: %s: %s shows %v", e.name, w.dashboard, w.panel, value)
		}
		e.shown = append(e.shown, shown{w.dashboard, w.panel, value})
	}
}

// shows returns the values of a panel in the interval.
func (s *site) shows(t *testing.T, w wish, from, to time.Time) (value float64, fits bool) {
	t.Helper()
	all := queries(t)
	i := slices.IndexFunc(all, func(q query) bool { return q.dashboard == w.dashboard && q.panel == w.panel })
	if i < 0 {
		t.Fatalf("there is no %s: %s", w.dashboard, w.panel)
	}
	got, err := s.ask(all[i].expr, from, to)
	must(t, err)
	return w.fits(got)
}
