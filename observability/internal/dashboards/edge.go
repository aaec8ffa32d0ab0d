package dashboards

func edge() Dashboard {
	return Dashboard{
		Name: "edge", Title: "Kith: edge",
		Description: "Public paths: what is asked, refused and turned away, and the way to the backend.",
		Rows: []Row{
			{"Requests", []Panel{
				{Title: "Requests by route", Description: "HTTP requests answered, by the name of the route.", Unit: "reqps", Queries: one(rate("route", "kith_http_requests_total"), "{{route}}")},
				{Title: "Share of faults", Description: "Share of HTTP requests answered 5xx, over five minutes.", Unit: "percentunit", Bound: 0.05,
					Link: runbook("KithErrors"), Queries: one("kith_edge:errors:ratio_rate5m", "5xx")},
				{Title: "Faults by route", Description: "HTTP requests answered 5xx, by the name of the route and status.", Unit: "reqps",
					Link: runbook("KithErrors"), Queries: one(rate("route, status", `kith_http_requests_total{status=~"5.."}`)+" or vector(0)", "{{route}} {{status}}")},
				{Title: "Refusals by route", Description: "HTTP requests answered 4xx, by the name of the route and status; 499 is a caller who went away.", Unit: "reqps",
					Queries: one(rate("route, status", `kith_http_requests_total{status=~"4.."}`), "{{route}} {{status}}")},
				{Title: "Time by route, 95 %", Description: "From a request's arrival to the end of its answer. Routes that wait for a job do so on purpose.", Unit: "s", Bound: 0.5,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "route", "kith_http_request_duration_seconds"), "{{route}}")},
				{Title: "Share of slow answers", Description: "Share of HTTP requests that took more than half a second, over five minutes.", Unit: "percentunit", Bound: 0.25,
					Link: runbook("KithSlow"), Queries: one("kith_edge:slow:ratio_rate5m", "slow")},
			}},
			{"Load and limits", []Panel{
				{Title: "Requests under way", Description: "Requests that are being served, and how many may be; the bound falls while processors are short.", Unit: "short",
					Link: runbook("KithOverloaded"), Queries: []Query{
						{`kith_http_in_flight_requests{instance=~"$instance"}`, "{{instance}}"},
						{`kith_http_in_flight_limit{instance=~"$instance"} > 0`, "{{instance}} limit"},
					}},
				{Title: "Turned away", Description: "Requests answered 503 at once because too many were under way.", Unit: "reqps", Bound: 1,
					Link: runbook("KithOverloaded"), Queries: one(rate("instance", `kith_http_shed_total{instance=~"$instance"}`), "{{instance}}")},
				{Title: "Rate limits: refused", Description: "Requests and batch items over their rate policy.", Unit: "reqps",
					Link: operations, Queries: one(rate("policy", `kith_rate_limit_hits_total{outcome="refused"}`), "{{policy}}")},
				{Title: "Rate limits: admitted", Description: "Requests and batch items within their rate policy.", Unit: "reqps", Queries: one(rate("policy", `kith_rate_limit_hits_total{outcome="admitted"}`), "{{policy}}")},
				{Title: "Counting without Redis", Description: "1 while an edge counts rate limits by itself because Redis does not answer.", Unit: "short", Bound: 1,
					Link: runbook("KithRateLimitFallback"), Queries: one(`kith_rate_limit_fallback{instance=~"$instance"}`, "{{instance}}")},
				{Title: "Certificates end in", Description: "Time until a certificate of a listener or of a client ends.", Unit: "s", Least: 14 * 86400,
					Link: runbook("KithCertificateExpires"), Queries: one("kith_tls_certificate_expiry_timestamp_seconds - time()", "{{instance}} {{use}}")},
			}},
			{"Batches and the backend", []Panel{
				{Title: "Batch items", Description: "Items of batch requests answered, by their own status.", Unit: "ops", Queries: one(rate("status", "kith_batch_items_total"), "{{status}}")},
				{Title: "Items of a batch", Description: "How many items a batch request has, on average and of 95 %.", Unit: "short", Queries: []Query{
					{rate("", "kith_batch_items_sum") + " / (" + rate("", "kith_batch_items_count") + " > 0)", "average"},
					{quantile("0.95", "", "kith_batch_items"), "95 %"},
				}},
				{Title: "Requests to the backend", Description: "Requests of the edges to the backend, by outcome.", Unit: "reqps",
					Link: runbook("KithBackendUnreachable"), Queries: one(rate("outcome", "kith_backend_requests_total"), "{{outcome}}")},
			}},
		},
	}
}
