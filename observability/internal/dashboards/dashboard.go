package dashboards

import "strings"

// Dashboard is a page of panels.
type Dashboard struct {
	// Name is the name of the file, and "kith-" and Name are the uid.
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

// Panel is one graph or number.
type Panel struct {
	Title       string
	Description string
	// Unit is Grafana's name of a unit: short, s, bytes, percentunit, reqps, ops, cps.
	Unit string
	// Number shows only the last value instead of a graph.
	Number bool
	// Max is the value above which the panel turns red, Min the value below which it
	// does; 0 means none.
	Max, Min float64
	// Link is a page with more information: a path from the repository's root.
	Link    string
	Queries []Query
}

// Query is an expression and the legend of its series.
type Query struct {
	Expr   string
	Legend string
}

// All returns all dashboards.
func All() []Dashboard {
	return []Dashboard{overview(), edge(), tools(), authorization(), jobs(), store(), capacity()}
}

// runbooks is the folder of the runbooks.
const runbooks = "observability/runbooks/"

func runbook(alert string) string { return runbooks + alert + ".md" }

// only selects the processes of Kith in metrics that other programs report too.
const only = `{job=~"kith.*",instance=~"$instance"}`

const operations = "deploy/docs/operations.md"

// window is Grafana's variable for an interval of a few scrapes.
const window = "[$__rate_interval]"

// rate returns the query of a counter's increase per second, summed by labels such as
// "route". The metric may have a selector.
func rate(by, metric string) string {
	return "sum " + grouped(by) + "(rate(" + metric + window + "))"
}

// share returns the query of the share of some series in a counter's increase. Those series may not
// exist yet.
func share(by, part, whole string) string {
	all := rate(by, whole)
	return "(" + rate(by, part) + " or 0 * " + all + ") / (" + all + " > 0)"
}

// quantile returns the query of a histogram's quantile. The histogram may have a selector.
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

// quantiles returns the queries of the median, the 95th and the 99th percentile.
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

// one returns the queries of a panel with one query.
func one(expr, legend string) []Query { return []Query{{expr, legend}} }
