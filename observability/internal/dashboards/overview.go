package dashboards

const (
	errorObjective   = 0.999
	latencyObjective = 0.99
)

func overview() Dashboard {
	return Dashboard{
		Name: "overview", Title: "Kith: overview",
		Description: "The state of the service, and where to look next.",
		Rows: []Row{
			{"Objectives", []Panel{
				{Title: "Requests without a server error", Description: "Over the last hour; the objective is 99.9 % over 30 days.", Unit: "percentunit", Number: true, Min: errorObjective,
					Link: runbook("KithEdgeErrorBudget"), Queries: one("1 - kith_edge:errors:ratio_rate1h", "requests")},
				{Title: "Tool calls without a server error", Description: "Over the last hour; the objective is 99.9 % over 30 days.", Unit: "percentunit", Number: true, Min: errorObjective,
					Link: runbook("KithToolErrorBudget"), Queries: one("1 - kith_tools:errors:ratio_rate1h", "tool calls")},
				{Title: "Requests within half a second", Description: "Over the last hour; the objective is 99 % over 30 days.", Unit: "percentunit", Number: true, Min: latencyObjective,
					Link: runbook("KithEdgeLatencyBudget"), Queries: one("1 - kith_edge:slow:ratio_rate1h", "requests")},
				{Title: "Tool calls within half a second", Description: "Over the last hour; the objective is 99 % over 30 days.", Unit: "percentunit", Number: true, Min: latencyObjective,
					Link: runbook("KithToolLatencyBudget"), Queries: one("1 - kith_tools:slow:ratio_rate1h", "tool calls")},
				{Title: "Firing alerts", Description: "Alerts that are firing now.", Unit: "short", Number: true, Max: 1,
					Link: operations, Queries: one(`count(ALERTS{alertstate="firing",alertname=~"Kith.*"}) or vector(0)`, "alerts")},
				{Title: "Database is up", Description: "1 while every backend can reach its database.", Unit: "percentunit", Number: true, Min: 1,
					Link: runbook("KithStoreDown"), Queries: one("min(kith_store_up)", "up")},
			}},
			{"Traffic", []Panel{
				{Title: "Requests", Description: "HTTP requests answered by the edges, by class of status.", Unit: "reqps",
					Queries: one(`sum by (class) (label_replace(rate(kith_http_requests_total`+window+`), "class", "${1}xx", "status", "(.).*"))`, "{{class}}")},
				{Title: "Tool calls", Description: "Tool calls answered, by outcome.", Unit: "ops", Queries: one(rate("outcome", "kith_tool_calls_total"), "{{outcome}}")},
				{Title: "Request latency", Description: "Time from a request's arrival at an edge to the end of its response.", Unit: "s", Max: 0.5,
					Link: runbook("KithSlow"), Queries: quantiles("kith_http_request_duration_seconds")},
				{Title: "Tool call latency", Description: "Time from a tool call's arrival at an edge to its response.", Unit: "s", Max: 0.5,
					Link: runbook("KithSlow"), Queries: quantiles("kith_tool_call_duration_seconds")},
			}},
			budgetRow(),
			{"Processes and dependencies", []Panel{
				{Title: "Processes up", Description: "Processes that Prometheus can scrape, by job.", Unit: "short",
					Link: runbook("KithInstanceDown"), Queries: one(`sum by (job) (up{job=~"kith.*"})`, "{{job}}")},
				{Title: "Builds", Description: "Processes by version and revision. During an upgrade there are two.", Unit: "short",
					Link: operations, Queries: one("count by (version, revision) (kith_build_info)", "{{version}} {{revision}}")},
				{Title: "Backend unreachable", Description: "Share of the edges' requests to the backend that could not reach it.", Unit: "percentunit", Max: 0.05,
					Link: runbook("KithBackendUnreachable"), Queries: one(share("instance", `kith_backend_requests_total{outcome="unreachable"}`, `kith_backend_requests_total{outcome!="abandoned"}`), "{{instance}}")},
				{Title: "Longest wait of a job", Description: "How long the oldest queued job has waited for a worker, by kind.", Unit: "s", Max: 600,
					Link: runbook("KithJobsWait"), Queries: one("max by (kind) (kith_job_queue_age_seconds)", "{{kind}}")},
			}},
		},
	}
}

// budgetRow shows the burn rates of the error budgets: at 1 the budget is spent after
// exactly 30 days.
func budgetRow() Row {
	burn := func(title, recorded, budget, page string) Panel {
		p := Panel{
			Title: title, Unit: "short", Max: 14.4, Link: runbook(page),
			Description: "Burn rate of the budget of 30 days, over an hour, 6 hours and 3 days. At 1 the budget lasts exactly 30 days; at 14.4 over an hour an alert pages.",
		}
		for _, w := range []string{"1h", "6h", "3d"} {
			p.Queries = append(p.Queries, Query{recorded + ":ratio_rate" + w + " / " + budget, w})
		}
		return p
	}
	return Row{"Error budgets", []Panel{
		burn("Requests: error budget burn rate", "kith_edge:errors", "0.001", "KithEdgeErrorBudget"),
		burn("Requests: latency budget burn rate", "kith_edge:slow", "0.01", "KithEdgeLatencyBudget"),
		burn("Tool calls: error budget burn rate", "kith_tools:errors", "0.001", "KithToolErrorBudget"),
		burn("Tool calls: latency budget burn rate", "kith_tools:slow", "0.01", "KithToolLatencyBudget"),
	}}
}
