package dashboards

func store() Dashboard {
	const queries = "kith_store_queries_total"
	return Dashboard{
		Name: "store", Title: "Kith: store",
		Description: "The database, as the backends see it.",
		Rows: []Row{
			{"Connections", []Panel{
				{Title: "Database reached", Description: "1 while the database answers a backend, 0 while it does not.", Unit: "short", Least: 1,
					Link: runbook("KithStoreDown"), Queries: one(`kith_store_up{instance=~"$instance"}`, "{{instance}}")},
				{Title: "Connections in use", Description: "Connections of each pool in use, and how many there may be; 0 is no bound.", Unit: "short",
					Link: runbook("KithStorePoolExhausted"), Queries: []Query{
						{"sum by (instance, db_name) (go_sql_in_use_connections" + only + ")", "{{instance}} {{db_name}}"},
						{"max by (db_name) (go_sql_max_open_connections" + only + ")", "{{db_name}} limit"},
					}},
				{Title: "Idle connections", Description: "Connections of each pool that are open and not in use.", Unit: "short",
					Queries: one("sum by (instance, db_name) (go_sql_idle_connections"+only+")", "{{instance}} {{db_name}}")},
				{Title: "Callers that wait", Description: "How many callers wait for a connection at a time, by pool.", Unit: "short", Bound: 4,
					Link: runbook("KithStorePoolExhausted"), Queries: one(rate("instance, db_name", "go_sql_wait_duration_seconds_total"+only), "{{instance}} {{db_name}}")},
				{Title: "Waits", Description: "How often a caller has to wait for a connection, by pool.", Unit: "ops",
					Link: runbook("KithStorePoolExhausted"), Queries: one(rate("db_name", "go_sql_wait_count_total"+only), "{{db_name}}")},
			}},
			{"Statements", []Panel{
				{Title: "Statements by operation", Description: "Statements sent to the database, by their first word.", Unit: "ops", Queries: one(rate("operation", queries), "{{operation}}")},
				{Title: "Statements that fail", Description: "Statements by what became of them, without those that were answered.", Unit: "ops",
					Link: runbook("KithStoreDown"), Queries: one(rate("outcome", queries+`{outcome!="ok"}`), "{{outcome}}")},
				{Title: "Conflicts", Description: "Statements that gave way to another transaction and are tried again.", Unit: "ops", Bound: 0.5,
					Link: runbook("KithStoreConflicts"), Queries: one(rate("instance", queries+`{outcome="conflict",instance=~"$instance"}`)+" or vector(0)", "{{instance}}")},
				{Title: "Transactions rolled back", Description: "Share of transactions that were rolled back.", Unit: "percentunit",
					Queries: one(share("", queries+`{operation="rollback"}`, queries+`{operation="begin"}`), "rolled back")},
				{Title: "Time by operation, 95 %", Description: "Until the database answered a statement.", Unit: "s", Bound: 0.1,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "operation", "kith_store_query_duration_seconds"), "{{operation}}")},
				{Title: "Time of a commit", Description: "Until the database had a transaction safe.", Unit: "s", Bound: 0.1,
					Link: runbook("KithSlow"), Queries: quantiles(`kith_store_query_duration_seconds{operation="commit"}`)},
			}},
			{"Disk", []Panel{
				{Title: "Free disk", Description: "Share of the file system of a SQLite file that is free. PostgreSQL's disk is its machine's to report.", Unit: "percentunit", Least: 0.15,
					Link: runbook("KithDiskFills"), Queries: one("kith_store_disk_free_bytes / kith_store_disk_size_bytes", "{{instance}}")},
			}},
		},
	}
}
