package dashboards

func tools() Dashboard {
	const serverErrors = `kith_tool_calls_total{outcome=~"internal|unavailable"}`
	return Dashboard{
		Name: "tools", Title: "Kith: tools and credits",
		Description: "Tool calls of agents, their outcomes and credits, and the RPCs of the backend.",
		Rows: []Row{
			{"Tool calls", []Panel{
				{Title: "Calls by tool", Description: "Tool calls answered, by tool.", Unit: "ops", Queries: one(rate("tool", "kith_tool_calls_total"), "{{tool}}")},
				{Title: "Calls by outcome", Description: "Tool calls answered, by outcome. internal and unavailable are server errors; abandoned means that the caller disconnected.", Unit: "ops", Queries: one(rate("outcome", "kith_tool_calls_total"), "{{outcome}}")},
				{Title: "Share of server errors", Description: "Share of tool calls that failed because of a server error, over five minutes.", Unit: "percentunit", Max: 0.05,
					Link: runbook("KithErrors"), Queries: one("kith_tools:errors:ratio_rate5m", "errors")},
				{Title: "Server errors by tool", Description: "Tool calls that failed because of a server error, by tool and outcome.", Unit: "ops",
					Link: runbook("KithToolErrorBudget"), Queries: one(rate("tool, outcome", serverErrors)+" or vector(0)", "{{tool}} {{outcome}}")},
				{Title: "Latency by tool, 95 %", Description: "Time from a tool call's arrival at an edge to its response. A tool that waits for a job is slow on purpose.", Unit: "s", Max: 0.5,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "tool", "kith_tool_call_duration_seconds"), "{{tool}}")},
				{Title: "Share of slow calls", Description: "Share of tool calls that took more than half a second, over five minutes.", Unit: "percentunit", Max: 0.25,
					Link: runbook("KithToolLatencyBudget"), Queries: one("kith_tools:slow:ratio_rate5m", "slow")},
			}},
			{"Credits and idempotency keys", []Panel{
				{Title: "Credits charged", Description: "Credits charged to members per second, by tool.", Unit: "cps", Queries: one(rate("tool", `kith_credits_total{direction="charged"}`), "{{tool}}")},
				{Title: "Credits refunded", Description: "Credits refunded per second, by tool.", Unit: "cps", Queries: one(rate("tool", `kith_credits_total{direction="refunded"}`), "{{tool}}")},
				{Title: "Charges refused", Description: "Charges that the month's credits did not cover, by tool.", Unit: "ops", Queries: one(rate("tool", `kith_credit_decisions_total{outcome="refused"}`), "{{tool}}")},
				{Title: "Idempotency keys", Description: "Calls with an Idempotency-Key, by outcome. replayed: a retry got the stored response.", Unit: "ops", Queries: one(rate("outcome", "kith_idempotency_keys_total"), "{{outcome}}")},
			}},
			{"RPCs", []Panel{
				{Title: "RPCs by method", Description: "The ten most called Connect and gRPC methods.", Unit: "ops", Queries: one("topk(10, "+rate("method", "kith_connect_requests_total")+")", "{{method}}")},
				{Title: "RPCs by code", Description: "Connect and gRPC calls served, by code.", Unit: "ops", Queries: one(rate("code", "kith_connect_requests_total"), "{{code}}")},
				{Title: "Latency by method, 95 %", Description: "Time in a call's handler and interceptors, of the ten slowest methods.", Unit: "s", Max: 0.5,
					Link: runbook("KithSlow"), Queries: one("topk(10, "+quantile("0.95", "method", "kith_connect_request_duration_seconds")+")", "{{method}}")},
			}},
		},
	}
}
