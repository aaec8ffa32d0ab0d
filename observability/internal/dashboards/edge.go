package dashboards

func edge() Dashboard {
	return Dashboard{
		Name: "edge", Title: "Kith: edge",
		Description: "Public requests, rate limits, batches, and requests to the backend.",
		Rows: []Row{
			{"Requests", []Panel{
				{Title: "Requests by route", Description: "HTTP requests answered, by route.", Unit: "reqps", Queries: one(rate("route", "kith_http_requests_total"), "{{route}}")},
				{Title: "Share of server errors", Description: "Share of HTTP requests answered 5xx, over five minutes.", Unit: "percentunit", Max: 0.05,
					Link: runbook("KithErrors"), Queries: one("kith_edge:errors:ratio_rate5m", "5xx")},
				{Title: "Server errors by route", Description: "HTTP requests answered 5xx, by route and status.", Unit: "reqps",
					Link: runbook("KithErrors"), Queries: one(rate("route, status", `kith_http_requests_total{status=~"5.."}`)+" or vector(0)", "{{route}} {{status}}")},
				{Title: "Client errors by route", Description: "HTTP requests answered 4xx, by route and status. 499 means that the client disconnected.", Unit: "reqps",
					Queries: one(rate("route, status", `kith_http_requests_total{status=~"4.."}`), "{{route}} {{status}}")},
				{Title: "Latency by route, 95 %", Description: "Time from a request's arrival to the end of its response. Routes that wait for a job are slow on purpose.", Unit: "s", Max: 0.5,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "route", "kith_http_request_duration_seconds"), "{{route}}")},
				{Title: "Share of slow requests", Description: "Share of HTTP requests that took more than half a second, over five minutes.", Unit: "percentunit", Max: 0.25,
					Link: runbook("KithSlow"), Queries: one("kith_edge:slow:ratio_rate5m", "slow")},
			}},
			{"Load and limits", []Panel{
				{Title: "Requests in flight", Description: "Requests in flight and their limit, which falls while requests wait for a processor.", Unit: "short",
					Link: runbook("KithOverloaded"), Queries: []Query{
						{`kith_http_in_flight_requests{instance=~"$instance"}`, "{{instance}}"},
						{`kith_http_in_flight_limit{instance=~"$instance"} > 0`, "{{instance}} limit"},
					}},
				{Title: "Requests shed", Description: "Requests answered 503 because too many others were in flight.", Unit: "reqps", Max: 1,
					Link: runbook("KithOverloaded"), Queries: one(rate("instance", `kith_http_shed_total{instance=~"$instance"}`), "{{instance}}")},
				{Title: "Rate limits: refused", Description: "Requests and batch items over their rate policy.", Unit: "reqps",
					Link: operations, Queries: one(rate("policy", `kith_rate_limit_hits_total{outcome="refused"}`), "{{policy}}")},
				{Title: "Rate limits: admitted", Description: "Requests and batch items within their rate policy.", Unit: "reqps", Queries: one(rate("policy", `kith_rate_limit_hits_total{outcome="admitted"}`), "{{policy}}")},
				{Title: "Rate limits without Redis", Description: "1 while an edge counts rate limits by itself because Redis does not answer.", Unit: "short", Max: 1,
					Link: runbook("KithRateLimitFallback"), Queries: one(`kith_rate_limit_fallback{instance=~"$instance"}`, "{{instance}}")},
				{Title: "Certificates expire in", Description: "Time until a certificate of a listener or of a client expires.", Unit: "s", Min: 14 * 86400,
					Link: runbook("KithCertificateExpires"), Queries: one("kith_tls_certificate_expiry_timestamp_seconds - time()", "{{instance}} {{use}}")},
			}},
			{"Batches and the backend", []Panel{
				{Title: "Batch items", Description: "Batch items answered, by their own status.", Unit: "ops", Queries: one(rate("status", "kith_batch_items_total"), "{{status}}")},
				{Title: "Items per batch", Description: "Number of items of a batch request: average and 95th percentile.", Unit: "short", Queries: []Query{
					{rate("", "kith_batch_items_sum") + " / (" + rate("", "kith_batch_items_count") + " > 0)", "average"},
					{quantile("0.95", "", "kith_batch_items"), "95 %"},
				}},
				{Title: "Requests to the backend", Description: "Requests of the edges to the backend, by outcome.", Unit: "reqps",
					Link: runbook("KithBackendUnreachable"), Queries: one(rate("outcome", "kith_backend_requests_total"), "{{outcome}}")},
				{Title: "Requests by backend", Description: "Requests of the edges to each backend. The calls of a member go to the same one.", Unit: "reqps",
					Queries: one(rate("backend", "kith_placement_calls_total"), "{{backend}}")},
				{Title: "Backends left out", Description: "Backends that an edge does not call, because they refuse connections or fail their health check.", Unit: "short", Max: 1,
					Link: runbook("KithBackendLeftOut"), Queries: one(`1 - kith_placement_backend_up{instance=~"$instance"}`, "{{instance}} {{backend}}")},
				{Title: "Requests that another backend answered", Description: "Requests for members of a backend that was left out or failed, by that backend.", Unit: "reqps",
					Queries: one(rate("backend", "kith_placement_fallbacks_total"), "{{backend}}")},
			}},
		},
	}
}
