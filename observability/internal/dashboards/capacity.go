package dashboards

func capacity() Dashboard {
	return Dashboard{
		Name: "capacity", Title: "Kith: capacity",
		Description: "Use of processors, memory and connections, and the cost of a request.",
		Rows: []Row{
			{"Processors", []Panel{
				{Title: "Processors in use", Description: "Processor seconds per second, by process.", Unit: "short",
					Link: runbook("KithSlow"), Queries: one("rate(process_cpu_seconds_total"+only+window+")", "{{job}} {{instance}}")},
				{Title: "Processor time per request", Description: "Processor time of all processes divided by the number of HTTP requests.", Unit: "s",
					Link: "deploy/docs/performance.md", Queries: one(`sum(rate(process_cpu_seconds_total{job=~"kith.*"}`+window+`)) / (`+rate("", "kith_http_requests_total")+` > 0)`, "per request")},
				{Title: "Requests in flight, share of the limit", Description: "Requests in flight as a share of the limit. An edge without a limit is not shown.", Unit: "percentunit", Max: 0.8,
					Link: runbook("KithOverloaded"), Queries: one(`kith_http_in_flight_requests{instance=~"$instance"} / (kith_http_in_flight_limit > 0)`, "{{instance}}")},
				{Title: "Database connections, share of the pool", Description: "Connections in use as a share of the fullest pool of each backend. A pool without a limit is not shown.", Unit: "percentunit", Max: 0.8,
					Link: runbook("KithStorePoolExhausted"), Queries: one("max by (instance) (go_sql_in_use_connections"+only+" / (go_sql_max_open_connections > 0))", "{{instance}}")},
			}},
			{"Memory", []Panel{
				{Title: "Resident memory", Description: "Resident memory of each process.", Unit: "bytes", Queries: one("process_resident_memory_bytes"+only, "{{job}} {{instance}}")},
				{Title: "Go's heap", Description: "Bytes of objects on Go's heap, by process.", Unit: "bytes", Queries: one("go_memstats_heap_alloc_bytes"+only, "{{job}} {{instance}}")},
				{Title: "Search memory", Description: "Memory of search indexes and of vectors, by process.", Unit: "bytes",
					Link: "deploy/docs/search.md", Queries: []Query{
						{`kith_search_index_bytes{instance=~"$instance"}`, "{{instance}} indexes"},
						{`kith_search_vector_bytes{instance=~"$instance"}`, "{{instance}} vectors"},
					}},
				{Title: "Members in search memory", Description: "Members whose search index or vectors are in memory.", Unit: "short",
					Link: "deploy/docs/search.md", Queries: []Query{
						{`kith_search_indexes{instance=~"$instance"}`, "{{instance}} indexes"},
						{`kith_search_vector_sets{instance=~"$instance"}`, "{{instance}} vectors"},
					}},
				{Title: "Index build time, 95 %", Description: "Time to build a whole search index of a member (whole) or to update it (update).", Unit: "s",
					Link: "deploy/docs/search.md", Queries: one(quantile("0.95", "kind", "kith_search_build_duration_seconds"), "{{kind}}")},
			}},
			{"Processes", []Panel{
				{Title: "Goroutines", Description: "Goroutines of each process. Steady growth is a leak.", Unit: "short", Queries: one("go_goroutines"+only, "{{job}} {{instance}}")},
				{Title: "Open files", Description: "Open files and sockets as a share of the limit.", Unit: "percentunit", Max: 0.8,
					Queries: one("process_open_fds"+only+" / process_max_fds"+only, "{{job}} {{instance}}")},
				{Title: "Garbage collection pauses", Description: "Longest pause of Go's garbage collector, by process.", Unit: "s", Queries: one(`go_gc_duration_seconds{quantile=~"1|1.0",job=~"kith.*",instance=~"$instance"}`, "{{job}} {{instance}}")},
				{Title: "Uptime", Description: "Time since the process started.", Unit: "s",
					Link: runbook("KithInstanceDown"), Queries: one("time() - process_start_time_seconds"+only, "{{job}} {{instance}}")},
				{Title: "Age of the sandbox", Description: "Time since the start of the day that the demo account was seeded for. Above 25 hours it is stale.", Unit: "s", Max: 25 * 3600,
					Link: runbook("KithSandboxStale"), Queries: one("max by (instance) (kith_sandbox_age_seconds)", "{{instance}}")},
			}},
		},
	}
}
