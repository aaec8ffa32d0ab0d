package dashboards

const (
	errorObjective   = 0.999
	latencyObjective = 0.99
)

func overview() Dashboard {
	return Dashboard{
		Name: "overview", Title: "Kith: overview",
		Description: "Whether people are served well, and if not, where to look.",
		Rows: []Row{
			{"Is Kith well?", []Panel{
				{Title: "Requests without a fault", Description: "Over the last hour; the objective is 99.9 % over 30 days.", Unit: "percentunit", Number: true, Least: errorObjective,
					Link: runbook("KithEdgeErrorBudget"), Queries: one("1 - kith_edge:errors:ratio_rate1h", "requests")},
				{Title: "Tool calls without a fault", Description: "Over the last hour; the objective is 99.9 % over 30 days.", Unit: "percentunit", Number: true, Least: errorObjective,
					Link: runbook("KithToolErrorBudget"), Queries: one("1 - kith_tools:errors:ratio_rate1h", "tool calls")},
				{Title: "Requests within half a second", Description: "Over the last hour; the objective is 99 % over 30 days.", Unit: "percentunit", Number: true, Least: latencyObjective,
					Link: runbook("KithEdgeLatencyBudget"), Queries: one("1 - kith_edge:slow:ratio_rate1h", "requests")},
				{Title: "Tool calls within half a second", Description: "Over the last hour; the objective is 99 % over 30 days.", Unit: "percentunit", Number: true, Least: latencyObjective,
					Link: runbook("KithToolLatencyBudget"), Queries: one("1 - kith_tools:slow:ratio_rate1h", "tool calls")},
				{Title: "Firing alerts", Description: "Alerts of Kith that fire now.", Unit: "short", Number: true, Bound: 1,
					Link: operations, Queries: one(`count(ALERTS{alertstate="firing",alertname=~"Kith.*"}) or vector(0)`, "alerts")},
				{Title: "Backends with a database", Description: "The smallest share: 1 while every backend reaches its database.", Unit: "percentunit", Number: true, Least: 1,
					Link: runbook("KithStoreDown"), Queries: one("min(kith_store_up)", "reached")},
			}},
			{"What is asked", []Panel{
				{Title: "Requests", Description: "HTTP requests that the edges answered, by class of status.", Unit: "reqps",
					Queries: one(`sum by (class) (label_replace(rate(kith_http_requests_total`+window+`), "class", "${1}xx", "status", "(.).*"))`, "{{class}}")},
				{Title: "Tool calls", Description: "Tool calls answered, by outcome.", Unit: "ops", Queries: one(rate("outcome", "kith_tool_calls_total"), "{{outcome}}")},
				{Title: "Time to answer a request", Description: "From a request's arrival at an edge to the end of its answer.", Unit: "s", Bound: 0.5,
					Link: runbook("KithSlow"), Queries: quantiles("kith_http_request_duration_seconds")},
				{Title: "Time to answer a tool call", Description: "From a tool call's arrival at an edge to its answer.", Unit: "s", Bound: 0.5,
					Link: runbook("KithSlow"), Queries: quantiles("kith_tool_call_duration_seconds")},
			}},
			budgetRow(),
			{"What it rests on", []Panel{
				{Title: "Processes that answer", Description: "Processes that Prometheus reaches, by job.", Unit: "short",
					Link: runbook("KithInstanceDown"), Queries: one(`sum by (job) (up{job=~"kith.*"})`, "{{job}}")},
				{Title: "Builds that run", Description: "Processes by version and revision: two of them while an upgrade is under way.", Unit: "short",
					Link: operations, Queries: one("count by (version, revision) (kith_build_info)", "{{version}} {{revision}}")},
				{Title: "Backend unreachable", Description: "Share of the edges' requests to the backend that did not reach it.", Unit: "percentunit", Bound: 0.05,
					Link: runbook("KithBackendUnreachable"), Queries: one(share("instance", `kith_backend_requests_total{outcome="unreachable"}`, `kith_backend_requests_total{outcome!="abandoned"}`), "{{instance}}")},
				{Title: "Longest wait of a job", Description: "How long the job that waited longest has waited for a worker, by kind.", Unit: "s", Bound: 600,
					Link: runbook("KithJobsWait"), Queries: one("max by (kind) (kith_job_queue_age_seconds)", "{{kind}}")},
			}},
		},
	}
}

// budgetRow shows how fast the error budgets are spent: 1 is just fast enough to
// have spent them after 30 days.
func budgetRow() Row {
	burn := func(title, recorded, budget, page string) Panel {
		p := Panel{
			Title: title, Unit: "short", Bound: 14.4, Link: runbook(page),
			Description: "How many times too fast the budget of 30 days is spent, over windows of an hour, 6 hours and 3 days. At 14.4 over an hour an alert pages.",
		}
		for _, w := range []string{"1h", "6h", "3d"} {
			p.Queries = append(p.Queries, Query{recorded + ":ratio_rate" + w + " / " + budget, w})
		}
		return p
	}
	return Row{"Error budgets", []Panel{
		burn("Requests: budget of faults", "kith_edge:errors", "0.001", "KithEdgeErrorBudget"),
		burn("Requests: budget of slowness", "kith_edge:slow", "0.01", "KithEdgeLatencyBudget"),
		burn("Tool calls: budget of faults", "kith_tools:errors", "0.001", "KithToolErrorBudget"),
		burn("Tool calls: budget of slowness", "kith_tools:slow", "0.01", "KithToolLatencyBudget"),
	}}
}
