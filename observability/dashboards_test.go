package observability_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// board has the parts of a dashboard that these tests check.
type board struct {
	UID, Title, Description string
	SchemaVersion           int
	Templating              struct{ List []struct{ Name, Type string } }
	Annotations             struct{ List []struct{ Expr string } }
	Panels                  []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Links                    []struct{ Title, URL string }
	Targets                  []struct {
		RefID, Expr, LegendFormat string
		Exemplar                  bool
		Datasource                struct{ Type, UID string }
	}
}

func boards(t *testing.T) map[string]board {
	t.Helper()
	all := map[string]board{}
	for _, file := range ruleFiles(t, "dashboards/*.json") {
		text, err := os.ReadFile(file)
		must(t, err)
		var b board
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = b
	}
	return all
}

// units are the units of Grafana that panels use.
var units = []string{"short", "s", "bytes", "percentunit", "reqps", "ops", "cps"}

// TestDashboards: each panel has a title, a description, a unit and legends, and each link
// leads to an existing page.
func TestDashboards(t *testing.T) {
	t.Parallel()
	for name, b := range boards(t) {
		if b.UID != "kith-"+name || b.Title == "" || b.Description == "" || b.SchemaVersion < 30 {
			t.Errorf("%s: uid %q, title %q, description %q, schema version %d", name, b.UID, b.Title, b.Description, b.SchemaVersion)
		}
		if fmt.Sprint(b.Templating.List) != "[{datasource datasource} {instance query}]" || len(b.Annotations.List) != 1 {
			t.Errorf("%s: variables %v, annotations %v", name, b.Templating.List, b.Annotations.List)
		}
		ids, titles := map[int]bool{}, map[string]bool{}
		for _, p := range b.Panels {
			what := fmt.Sprintf("%s: %q", name, p.Title)
			if p.ID <= 0 || ids[p.ID] || p.Title == "" || titles[p.Title] {
				t.Errorf("%s: id %d or the title is not unique", what, p.ID)
			}
			ids[p.ID], titles[p.Title] = true, true
			for _, other := range b.Panels {
				if other.ID != p.ID && overlap(p, other) {
					t.Errorf("%s overlaps %q", what, other.Title)
				}
			}
			if p.Type != "row" {
				checkPanel(t, what, p)
			}
		}
		if len(b.Panels) < 5 {
			t.Errorf("%s has %d panels", name, len(b.Panels))
		}
	}
}

func checkPanel(t *testing.T, what string, p panel) {
	t.Helper()
	if !slices.Contains([]string{"timeseries", "stat"}, p.Type) || !slices.Contains(units, p.FieldConfig.Defaults.Unit) {
		t.Errorf("%s is a %q in %q", what, p.Type, p.FieldConfig.Defaults.Unit)
	}
	if len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") {
		t.Errorf("%s is described as %q", what, p.Description)
	}
	if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
		t.Errorf("%s: datasource %q, %d queries, at %v", what, p.Datasource.UID, len(p.Targets), p.GridPos)
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if q.Expr == "" || q.LegendFormat == "" || refs[q.RefID] || q.Datasource.UID != "${datasource}" {
			t.Errorf("%s: query %q: %q with legend %q", what, q.RefID, q.Expr, q.LegendFormat)
		}
		refs[q.RefID] = true
		// Graphs of durations show exemplars, which link to traces.
		if unit := p.FieldConfig.Defaults.Unit; q.Exemplar != (p.Type == "timeseries" && unit == "s") {
			t.Errorf("%s in %s: exemplars are %t", what, unit, q.Exemplar)
		}
		// The query must return every label that the legend names.
		for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
			grouped := regexp.MustCompile(`\b(by|on) \(([\w, ]+)\)`).FindAllStringSubmatch(q.Expr, -1)
			if len(grouped) > 0 && !slices.ContainsFunc(grouped, func(by []string) bool { return slices.Contains(strings.Split(by[2], ", "), label[1]) }) {
				t.Errorf("%s: %s has no label %s", what, q.Expr, label[1])
			}
		}
	}
	for _, link := range p.Links {
		page, ours := strings.CutPrefix(link.URL, "https://github.com/kith-crm/kith/blob/main/")
		if _, err := os.Stat(filepath.Join("..", page)); err != nil || !ours || link.Title == "" {
			t.Errorf("%s: %s leads nowhere: %v", what, link.URL, err)
		}
	}
}

func overlap(a, b panel) bool {
	return a.GridPos.X < b.GridPos.X+b.GridPos.W && b.GridPos.X < a.GridPos.X+a.GridPos.W &&
		a.GridPos.Y < b.GridPos.Y+b.GridPos.H && b.GridPos.Y < a.GridPos.Y+a.GridPos.H
}

// expressions returns all queries of the dashboards, with Grafana's variables replaced.
func expressions(t *testing.T) (list []string) {
	t.Helper()
	for _, b := range boards(t) {
		for _, a := range b.Annotations.List {
			list = append(list, a.Expr)
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				list = append(list, q.Expr)
			}
		}
	}
	if len(list) < 50 {
		t.Fatalf("only %d queries are read", len(list))
	}
	for i := range list {
		list[i] = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(list[i])
	}
	return list
}

// TestDashboardsNameMetrics: every series in a query is a metric of a process or recorded by a
// rule.
func TestDashboardsNameMetrics(t *testing.T) {
	t.Parallel()
	families, err := useAll(t).Gather()
	must(t, err)
	known := []string{"up", "ALERTS"} // Prometheus's own
	for _, f := range families {
		known = append(known, f.GetName())
		if f.GetMetric()[0].GetHistogram() != nil {
			known = append(known, f.GetName()+"_bucket", f.GetName()+"_sum", f.GetName()+"_count")
		}
	}
	for _, name := range regexp.MustCompile(`(?m)record: (\S+)$`).FindAllStringSubmatch(readAll(t, ruleFiles(t, "rules/*.yml")), -1) {
		known = append(known, name[1])
	}
	quoted := regexp.MustCompile(`"[^"]*"`)
	series := regexp.MustCompile(`\b(?:kith|go|process)_[a-z0-9_:]+|\bup\b|\bALERTS\b`)
	for _, expression := range expressions(t) {
		named := series.FindAllString(quoted.ReplaceAllString(expression, `""`), -1)
		if len(named) == 0 {
			t.Errorf("%s names no metric", expression)
		}
		for _, name := range named {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is neither a metric nor recorded", expression, name)
			}
		}
	}
}

// TestDashboardsParse: Prometheus can parse every query. The end-to-end tests check that
// each returns data.
func TestDashboardsParse(t *testing.T) {
	t.Parallel()
	program := promtool(t)
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboards\n    rules:\n")
	for i, expression := range expressions(t) {
		fmt.Fprintf(&rules, "      - record: dashboard:query:n%d\n        expr: %q\n", i, expression)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	must(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	if out, err := exec.CommandContext(t.Context(), program, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
