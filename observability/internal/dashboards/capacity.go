package dashboards

func capacity() Dashboard {
	return Dashboard{
		Name: "capacity", Title: "Kith: capacity",
		Description: "How much is used of what there is, and what an answer costs. Nothing here is of one member.",
		Rows: []Row{
			{"Processors", []Panel{
				{Title: "Processors in use", Description: "Processor seconds per second, by process.", Unit: "short",
					Link: runbook("KithSlow"), Queries: one("rate(process_cpu_seconds_total"+only+window+")", "{{job}} {{instance}}")},
				{Title: "Processor time of an answer", Description: "Processor time of all processes, divided by the HTTP requests answered.", Unit: "s",
					Link: "deploy/docs/performance.md", Queries: one(`sum(rate(process_cpu_seconds_total{job=~"kith.*"}`+window+`)) / (`+rate("", "kith_http_requests_total")+` > 0)`, "an answer")},
				{Title: "Room at the edge", Description: "Requests under way, as a share of how many may be; an edge without a bound is not shown.", Unit: "percentunit", Bound: 0.8,
					Link: runbook("KithOverloaded"), Queries: one(`kith_http_in_flight_requests{instance=~"$instance"} / (kith_http_in_flight_limit > 0)`, "{{instance}}")},
				{Title: "Connections in use of the pool", Description: "Of the fullest pool of each backend; a pool without a bound is not shown.", Unit: "percentunit", Bound: 0.8,
					Link: runbook("KithStorePoolExhausted"), Queries: one("max by (instance) (go_sql_in_use_connections"+only+" / (go_sql_max_open_connections > 0))", "{{instance}}")},
			}},
			{"Memory and what is in it", []Panel{
				{Title: "Memory", Description: "Resident memory, by process.", Unit: "bytes", Queries: one("process_resident_memory_bytes"+only, "{{job}} {{instance}}")},
				{Title: "Go's heap", Description: "Bytes of objects on Go's heap, by process.", Unit: "bytes", Queries: one("go_memstats_heap_alloc_bytes"+only, "{{job}} {{instance}}")},
				{Title: "Memory of searches", Description: "Memory of search indexes and of vectors, by process.", Unit: "bytes",
					Link: "deploy/docs/search.md", Queries: []Query{
						{`kith_search_index_bytes{instance=~"$instance"}`, "{{instance}} indexes"},
						{`kith_search_vector_bytes{instance=~"$instance"}`, "{{instance}} vectors"},
					}},
				{Title: "Members in memory", Description: "Members whose search index, or whose vectors, are in memory.", Unit: "short",
					Link: "deploy/docs/search.md", Queries: []Query{
						{`kith_search_indexes{instance=~"$instance"}`, "{{instance}} indexes"},
						{`kith_search_vector_sets{instance=~"$instance"}`, "{{instance}} vectors"},
					}},
				{Title: "Time to make an index, 95 %", Description: "To make a member's search index as a whole, or to bring it up to date.", Unit: "s",
					Link: "deploy/docs/search.md", Queries: one(quantile("0.95", "kind", "kith_search_build_duration_seconds"), "{{kind}}")},
			}},
			{"Processes", []Panel{
				{Title: "Goroutines", Description: "Goroutines, by process: without a bound they leak.", Unit: "short", Queries: one("go_goroutines"+only, "{{job}} {{instance}}")},
				{Title: "Open files", Description: "Files and sockets, as a share of how many may be open.", Unit: "percentunit", Bound: 0.8,
					Queries: one("process_open_fds"+only+" / process_max_fds"+only, "{{job}} {{instance}}")},
				{Title: "Pauses of the collector", Description: "The longest pause of Go's garbage collector, by process.", Unit: "s", Queries: one(`go_gc_duration_seconds{quantile=~"1|1.0",job=~"kith.*",instance=~"$instance"}`, "{{job}} {{instance}}")},
				{Title: "Uptime", Description: "Time since the process started.", Unit: "s",
					Link: runbook("KithInstanceDown"), Queries: one("time() - process_start_time_seconds"+only, "{{job}} {{instance}}")},
				{Title: "Age of the sandbox", Description: "Time since the beginning of the day that the demo account was seeded for; above 25 hours it is stale.", Unit: "s", Bound: 25 * 3600,
					Link: runbook("KithSandboxStale"), Queries: one("max by (instance) (kith_sandbox_age_seconds)", "{{instance}}")},
			}},
		},
	}
}
