package dashboards

import "strings"

// Dashboard is a page of panels.
type Dashboard struct {
	// Name is of its file, and of its address after "kith-".
	Name        string
	Title       string
	Description string
	Rows        []Row
}

// Row is a heading with panels below it.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is one drawing.
type Panel struct {
	Title       string
	Description string
	// Unit is Grafana's name of one: short, s, bytes, percentunit, reqps, ops, cps.
	Unit string
	// Number shows the last value alone, in place of a course.
	Number bool
	// Bound is where the values become too high, or 0. Least is where they become
	// too low; a Number that is good is green.
	Bound, Least float64
	// Link is a page to go on with: a path from the repository's root.
	Link    string
	Queries []Query
}

// Query is an expression and what its series are called.
type Query struct {
	Expr   string
	Legend string
}

// All returns every dashboard, in the order in which one would look at them.
func All() []Dashboard {
	return []Dashboard{overview(), edge(), tools(), authorization(), jobs(), store(), capacity()}
}

// runbooks is the folder of the pages that alerts lead to.
const runbooks = "observability/runbooks/"

func runbook(alert string) string { return runbooks + alert + ".md" }

// only selects the processes of Kith in metrics that other programs report too.
const only = `{job=~"kith.*",instance=~"$instance"}`

const operations = "deploy/docs/operations.md"

// window is Grafana's word for a few scrapes at the width that is shown.
const window = "[$__rate_interval]"

// rate is how much a counter grows per second, summed up by labels such as "route".
// The metric may have a selector.
func rate(by, metric string) string {
	return "sum " + grouped(by) + "(rate(" + metric + window + "))"
}

// share is what part of a counter's growth is that of some of its series, which may
// not be there yet.
func share(by, part, whole string) string {
	all := rate(by, whole)
	return "(" + rate(by, part) + " or 0 * " + all + ") / (" + all + " > 0)"
}

// quantile estimates one of a histogram, which may have a selector.
func quantile(q, by, histogram string) string {
	labels := "le"
	if by != "" {
		labels += ", " + by
	}
	name, selector, found := strings.Cut(histogram, "{")
	if found {
		selector = "{" + selector
	}
	return "histogram_quantile(" + q + ", sum by (" + labels + ") (rate(" + name + "_bucket" + selector + window + ")))"
}

// quantiles are three of them.
func quantiles(histogram string) []Query {
	var list []Query
	for _, q := range []struct{ q, name string }{{"0.5", "median"}, {"0.95", "95 %"}, {"0.99", "99 %"}} {
		list = append(list, Query{quantile(q.q, "", histogram), q.name})
	}
	return list
}

func grouped(by string) string {
	if by == "" {
		return ""
	}
	return "by (" + by + ") "
}

// one is the queries of a panel with a single one.
func one(expr, legend string) []Query { return []Query{{expr, legend}} }
