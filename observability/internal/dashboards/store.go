package dashboards

func store() Dashboard {
	const queries = "kith_store_queries_total"
	return Dashboard{
		Name: "store", Title: "Kith: store",
		Description: "Connections, statements and disk of the database.",
		Rows: []Row{
			{"Connections", []Panel{
				{Title: "Database is up", Description: "1 while a backend can reach and write the database, 0 while it cannot.", Unit: "short", Min: 1,
					Link: runbook("KithStoreDown"), Queries: one(`kith_store_up{instance=~"$instance"}`, "{{instance}}")},
				{Title: "Connections in use", Description: "Connections in use of each pool, and the limit of the pool; 0 means no limit.", Unit: "short",
					Link: runbook("KithStorePoolExhausted"), Queries: []Query{
						{"sum by (instance, db_name) (go_sql_in_use_connections" + only + ")", "{{instance}} {{db_name}}"},
						{"max by (db_name) (go_sql_max_open_connections" + only + ")", "{{db_name}} limit"},
					}},
				{Title: "Idle connections", Description: "Open connections of each pool that are not in use.", Unit: "short",
					Queries: one("sum by (instance, db_name) (go_sql_idle_connections"+only+")", "{{instance}} {{db_name}}")},
				{Title: "Waiting callers", Description: "Average number of callers that wait for a connection, by pool.", Unit: "short", Max: 4,
					Link: runbook("KithStorePoolExhausted"), Queries: one(rate("instance, db_name", "go_sql_wait_duration_seconds_total"+only), "{{instance}} {{db_name}}")},
				{Title: "Waits", Description: "Waits for a connection per second, by pool.", Unit: "ops",
					Link: runbook("KithStorePoolExhausted"), Queries: one(rate("db_name", "go_sql_wait_count_total"+only), "{{db_name}}")},
			}},
			{"Statements", []Panel{
				{Title: "Statements by operation", Description: "Statements sent to the database, by their first word.", Unit: "ops", Queries: one(rate("operation", queries), "{{operation}}")},
				{Title: "Failed statements", Description: "Statements that did not succeed, by outcome.", Unit: "ops",
					Link: runbook("KithStoreDown"), Queries: one(rate("outcome", queries+`{outcome!="ok"}`), "{{outcome}}")},
				{Title: "Conflicts", Description: "Statements that conflicted with another transaction and are retried.", Unit: "ops", Max: 0.5,
					Link: runbook("KithStoreConflicts"), Queries: one(rate("instance", queries+`{outcome="conflict",instance=~"$instance"}`)+" or vector(0)", "{{instance}}")},
				{Title: "Transactions rolled back", Description: "Share of transactions that were rolled back.", Unit: "percentunit",
					Queries: one(share("", queries+`{operation="rollback"}`, queries+`{operation="begin"}`), "rolled back")},
				{Title: "Latency by operation, 95 %", Description: "Time until the database answered a statement.", Unit: "s", Max: 0.1,
					Link: runbook("KithSlow"), Queries: one(quantile("0.95", "operation", "kith_store_query_duration_seconds"), "{{operation}}")},
				{Title: "Commit latency", Description: "Time until the database committed a transaction.", Unit: "s", Max: 0.1,
					Link: runbook("KithSlow"), Queries: quantiles(`kith_store_query_duration_seconds{operation="commit"}`)},
			}},
			{"Disk", []Panel{
				{Title: "Free disk", Description: "Free share of the file system of a SQLite file. The disk of PostgreSQL is not measured by Kith.", Unit: "percentunit", Min: 0.15,
					Link: runbook("KithDiskFills"), Queries: one("kith_store_disk_free_bytes / kith_store_disk_size_bytes", "{{instance}}")},
				{Title: "Write-ahead log", Description: "Size of the write-ahead log of a SQLite file. It is written back after 16 MiB and cut off beyond 64 MiB.", Unit: "bytes", Max: 64 << 20,
					Link: runbook("KithDiskFills"), Queries: one("kith_store_log_bytes", "{{instance}}")},
				{Title: "Damaged file", Description: "1 after the daily check found a SQLite file damaged.", Unit: "short", Max: 0.5,
					Link: runbook("KithStoreDamaged"), Queries: one("kith_store_damaged", "{{instance}}")},
			}},
		},
	}
}
