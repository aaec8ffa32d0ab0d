package dashboards

func jobs() Dashboard {
	return Dashboard{
		Name: "jobs", Title: "Kith: jobs",
		Description: "Work that outlives a request: imports, vectors, the hourly sweep.",
		Rows: []Row{
			{"Queue", []Panel{
				// Every backend counts the jobs of the one database.
				{Title: "Jobs that have not ended", Description: "Jobs scheduled for later, queued for a worker, and running, by kind.", Unit: "short", Queries: one("max by (kind, state) (kith_jobs)", "{{kind}} {{state}}")},
				{Title: "Longest wait", Description: "How long the job that waited longest has waited for a worker, by kind.", Unit: "s", Bound: 600,
					Link: runbook("KithJobsWait"), Queries: one("max by (kind) (kith_job_queue_age_seconds)", "{{kind}}")},
			}},
			{"Runs", []Panel{
				{Title: "Runs by kind", Description: "Runs of jobs that came to an end, by kind.", Unit: "ops", Queries: one(rate("kind", "kith_job_runs_total"), "{{kind}}")},
				{Title: "Runs by outcome", Description: "How runs ended: yielded gives way to others, stopped is a process that ends, lost is one that was cut off.", Unit: "ops", Queries: one(rate("outcome", "kith_job_runs_total"), "{{outcome}}")},
				{Title: "Share without success", Description: "Share of runs that failed, are tried again or were lost, by kind.", Unit: "percentunit", Bound: 0.5,
					Link: runbook("KithJobsFail"), Queries: one(share("kind", `kith_job_runs_total{outcome=~"failed|retried|lost"}`, "kith_job_runs_total"), "{{kind}}")},
				{Title: "Leases lost", Description: "Runs whose process was cut off from the database for longer than its lease.", Unit: "ops",
					Link: runbook("KithJobsFail"), Queries: one(rate("kind", `kith_job_runs_total{outcome="lost"}`)+" or vector(0)", "{{kind}}")},
				{Title: "Time of a run, 95 %", Description: "How long one run of a job takes, by kind.", Unit: "s", Queries: one(quantile("0.95", "kind", "kith_job_run_duration_seconds"), "{{kind}}")},
				{Title: "Attempts of a run", Description: "Which attempt in a row, without a step made, runs were: 1 is as it should be.", Unit: "short", Bound: 3,
					Link: runbook("KithJobsFail"), Queries: []Query{
						{rate("", "kith_job_attempts_sum") + " / (" + rate("", "kith_job_attempts_count") + " > 0)", "average"},
						{quantile("0.99", "", "kith_job_attempts"), "99 %"},
					}},
			}},
		},
	}
}
