package dashboards

func tools() Dashboard {
	const faults = `kith_tool_calls_total{outcome=~"internal|unavailable"}`
	return Dashboard{
		Name: "tools", Title: "Kith: tools and credits",
		Description: "What agents call, how it ends, what it costs, and the RPCs behind it.",
		Rows: []Row{
			{"Tool calls", []Panel{
				{Title: "Calls by tool", Description: "Tool calls answered, by tool.", Unit: "ops", Queries: one(rate("tool", "kith_tool_calls_total"), "{{tool}}")},
				{Title: "Calls by outcome", Description: "Tool calls answered, by outcome; internal and unavailable are faults of ours, abandoned is a caller who went away.", Unit: "ops", Queries: one(rate("outcome", "kith_tool_calls_total"), "{{outcome}}")},
				{Title: "Share of faults", Description: "Share of tool calls that failed by a fault of ours, over five minutes.", Unit: "percentunit", Bound: 0.05,
					Link: runbook("KithErrors"), Queries: one("kith_tools:errors:ratio_rate5m", "faults")},
				{Title: "Faults by tool", Description: "Tool calls that failed by a fault of ours, by tool and outcome.", Unit: "ops",
					Link: runbook("KithToolErrorBudget"), Queries: one(rate("tool, outcome", faults)+" or vector(0)", "{{tool}} {{outcome}}")},
				{Title: "Time by tool, 95 %", Description: "From a tool call's arrival at an edge to its answer. A tool that waits for a job does so on purpose.", Unit: "s", Bound: 0.5,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "tool", "kith_tool_call_duration_seconds"), "{{tool}}")},
				{Title: "Share of slow answers", Description: "Share of tool calls that took more than half a second, over five minutes.", Unit: "percentunit", Bound: 0.25,
					Link: runbook("KithToolLatencyBudget"), Queries: one("kith_tools:slow:ratio_rate5m", "slow")},
			}},
			{"Credits and keys", []Panel{
				{Title: "Credits charged", Description: "Credits charged to members per second, by tool.", Unit: "cps", Queries: one(rate("tool", `kith_credits_total{direction="charged"}`), "{{tool}}")},
				{Title: "Credits given back", Description: "Credits given back per second, by tool.", Unit: "cps", Queries: one(rate("tool", `kith_credits_total{direction="refunded"}`), "{{tool}}")},
				{Title: "Charges refused", Description: "Charges that the month's credits did not cover, by tool.", Unit: "ops", Queries: one(rate("tool", `kith_credit_decisions_total{outcome="refused"}`), "{{tool}}")},
				{Title: "Idempotency keys", Description: "Calls with a key, by outcome: replayed is a caller who sent again and was answered the same.", Unit: "ops", Queries: one(rate("outcome", "kith_idempotency_keys_total"), "{{outcome}}")},
			}},
			{"RPCs", []Panel{
				{Title: "RPCs by method", Description: "The ten Connect and gRPC methods that are called most.", Unit: "ops", Queries: one("topk(10, "+rate("method", "kith_connect_requests_total")+")", "{{method}}")},
				{Title: "RPCs by code", Description: "Connect and gRPC calls served, by code.", Unit: "ops", Queries: one(rate("code", "kith_connect_requests_total"), "{{code}}")},
				{Title: "Time by method, 95 %", Description: "Time in a call's handler and interceptors: the ten slowest methods.", Unit: "s", Bound: 0.5,
					Link: runbook("KithSlow"), Queries: one("topk(10, "+quantile("0.95", "method", "kith_connect_request_duration_seconds")+")", "{{method}}")},
			}},
		},
	}
}
