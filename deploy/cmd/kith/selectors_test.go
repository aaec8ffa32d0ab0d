package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	dto "github.com/prometheus/client_model/go"

	backend "github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/metrics"
)

// values are the label values that a metric has, by its name and label.
type values map[string]map[string][]string

// reported runs backend and edge on an empty database, counts every outcome once, and
// returns the label values of all metrics.
func reported(t *testing.T) values {
	t.Helper()
	s := &settings{DatabaseURL: filepath.Join(t.TempDir(), "kith.db"), BaseURL: "http://localhost:1", Sandbox: true, AutoMigrate: true, DatabaseConns: 4, Edges: 1}
	s.Addr, s.StopTimeout, s.JobWorkers, s.CreditsFree, s.CreditsPro = "127.0.0.1:0", time.Second, 0, 1, 1
	r := &process{program: &program{ctx: t.Context(), settings: s}, logger: slog.New(slog.DiscardHandler), registry: metrics.New(metrics.BuildInfo{})}
	core, err := r.startBackend("a token of the test", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Stop(t.Context()) })
	var c edge.Config
	if err := r.observeEdge(&c); err != nil {
		t.Fatal(err)
	}
	rpcs, err := metrics.NewConnect(r.registry)
	if err != nil {
		t.Fatal(err)
	}
	queries, queriesErr := metrics.NewQueries(r.registry)
	jobs, jobsErr := metrics.NewJobs(r.registry, backend.JobKinds())
	if err := errors.Join(queriesErr, jobsErr); err != nil {
		t.Fatal(err)
	}
	countEveryOutcome(t, c, queries, jobs)
	refuse := rpcs.WrapStreamingHandler(func(context.Context, connect.StreamingHandlerConn) error {
		return connect.NewError(connect.CodeUnauthenticated, errors.New("no token"))
	})
	if refuse(t.Context(), ping{}) == nil {
		t.Fatal("the call succeeded")
	}
	one := func() int64 { return 1 }
	if err := metrics.NewConcurrencyLimit(r.registry, one, one); err != nil {
		t.Fatal(err)
	}
	if err := metrics.NewCertificate(r.registry, "edge", time.Now); err != nil {
		t.Fatal(err)
	}
	backends := func() []metrics.BackendState { return []metrics.BackendState{{Backend: "10.0.0.1:8082"}} }
	if err := metrics.NewPlacement(r.registry, backends); err != nil {
		t.Fatal(err)
	}
	gathered, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return labelValues(gathered)
}

// ping is a call that has only a method.
type ping struct{ connect.StreamingHandlerConn }

func (ping) Spec() connect.Spec { return connect.Spec{Procedure: "/kith.test.v1.PingService/Ping"} }

// countEveryOutcome creates the series that appear with their first event.
func countEveryOutcome(t *testing.T, c edge.Config, queries *metrics.Queries, jobs *metrics.Jobs) {
	t.Helper()
	for outcome := range metrics.OutcomeAbandoned + 1 {
		c.Tools.Observe(t.Context(), "undo_change", outcome, 0)
		c.Tools.Observe(t.Context(), "get_job", outcome, 0)
	}
	for _, route := range edge.RouteNames() {
		for _, status := range []int{200, 404, 500} {
			c.Requests.Observe(t.Context(), route, "GET", status, 0)
		}
	}
	c.Batches.Observe(map[int]int{200: 1})
	for _, outcome := range []string{metrics.QueryOK, metrics.QueryConflict, metrics.QueryUnavailable, metrics.QueryFailed, metrics.QueryAbandoned} {
		for _, operation := range []string{"select", "begin", "commit", "rollback"} {
			queries.Observe(t.Context(), operation, outcome, 0)
		}
	}
	for _, outcome := range []string{"succeeded", "failed", "cancelled", "retried", "yielded", "stopped", "lost"} {
		jobs.Observe(t.Context(), backend.JobKinds()[0], outcome, 1, 0)
	}
}

func labelValues(families []*dto.MetricFamily) values {
	all := values{}
	for _, f := range families {
		labels := map[string][]string{}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = append(labels[l.GetName()], l.GetValue())
			}
		}
		all[f.GetName()] = labels
		if f.GetMetric()[0].GetHistogram() != nil {
			all[f.GetName()+"_bucket"], all[f.GetName()+"_sum"], all[f.GetName()+"_count"] = labels, labels, labels
		}
	}
	return all
}

// expressions returns the expressions of dashboards and rules, by their place.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob("../../../observability/dashboards/*.json")
	rules, err2 := filepath.Glob("../../../observability/rules/*.yml")
	if err != nil || err2 != nil || len(files) < 5 || len(rules) < 3 {
		t.Fatal(files, rules, err, err2)
	}
	for _, file := range files {
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(readFile(t, file), &board); err != nil {
			t.Fatal(err)
		}
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				all[filepath.Base(file)+": "+p.Title+": "+q.Expr] = q.Expr
			}
		}
	}
	for _, file := range rules {
		all[filepath.Base(file)] = string(readFile(t, file))
	}
	return all
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var (
	selector = regexp.MustCompile(`\b([a-z_]+)\{([^{}]*)\}`)
	matcher  = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([\w, ]+)\)`)
	series   = regexp.MustCompile(`\b(?:kith|go|process)_[a-z0-9_]+`)
)

// given are the labels that Prometheus adds, and those of the series of histograms and
// summaries.
var given = []string{"job", "instance", "le", "quantile", "alertname", "alertstate"}

// TestQueriesSelectExistingLabels: each label that a dashboard or a rule selects is one of
// the metric, and each selected value exists.
func TestQueriesSelectExistingLabels(t *testing.T) {
	t.Parallel()
	there, checked := reported(t), 0
	for where, expression := range expressions(t) {
		for _, s := range selector.FindAllStringSubmatch(expression, -1) {
			for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
				if label, value := m[1], m[3]; !slices.Contains(given, label) {
					checked++
					there.check(t, where, s[1], label, value)
				}
			}
		}
		for _, by := range grouping.FindAllStringSubmatch(expression, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				made := strings.Contains(expression, `, "`+label+`", "`) // by label_replace
				if !made && !slices.Contains(given, label) && !there.has(expression, label) {
					t.Errorf("%s: no metric of it has the label %s", where, label)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d label values were checked", checked)
	}
}

// check fails unless each alternative of a matcher is a value of the label.
func (v values) check(t *testing.T, where, metric, label, want string) {
	t.Helper()
	for alternative := range strings.SplitSeq(want, "|") {
		whole := regexp.MustCompile("^(?:" + cmp.Or(alternative, "$^") + ")$")
		if !slices.ContainsFunc(v[metric][label], whole.MatchString) {
			t.Errorf("%s: %s has no %s=%q", where, metric, label, alternative)
		}
	}
}

// has reports whether a metric of an expression has a label.
func (v values) has(expression, label string) bool {
	return slices.ContainsFunc(series.FindAllString(expression, -1), func(metric string) bool { return v[metric][label] != nil })
}
