package dashboards

func jobs() Dashboard {
	return Dashboard{
		Name: "jobs", Title: "Kith: jobs",
		Description: "Background jobs: imports, vectors, the hourly sweep.",
		Rows: []Row{
			{"Queue", []Panel{
				// Every backend counts the jobs of the same database.
				{Title: "Unfinished jobs", Description: "Jobs scheduled for later, queued for a worker, and running, by kind.", Unit: "short", Queries: one("max by (kind, state) (kith_jobs)", "{{kind}} {{state}}")},
				{Title: "Longest wait", Description: "How long the oldest queued job has waited for a worker, by kind.", Unit: "s", Max: 600,
					Link: runbook("KithJobsWait"), Queries: one("max by (kind) (kith_job_queue_age_seconds)", "{{kind}}")},
			}},
			{"Runs", []Panel{
				{Title: "Runs by kind", Description: "Finished runs of jobs, by kind.", Unit: "ops", Queries: one(rate("kind", "kith_job_runs_total"), "{{kind}}")},
				{Title: "Runs by outcome", Description: "Finished runs by outcome. yielded: another job goes first; stopped: the process stops; lost: the lease was lost.", Unit: "ops", Queries: one(rate("outcome", "kith_job_runs_total"), "{{outcome}}")},
				{Title: "Share of failed runs", Description: "Share of runs that failed, will be retried or lost their lease, by kind.", Unit: "percentunit", Max: 0.5,
					Link: runbook("KithJobsFail"), Queries: one(share("kind", `kith_job_runs_total{outcome=~"failed|retried|lost"}`, "kith_job_runs_total"), "{{kind}}")},
				{Title: "Leases lost", Description: "Runs whose process could not reach the database for longer than its lease.", Unit: "ops",
					Link: runbook("KithJobsFail"), Queries: one(rate("kind", `kith_job_runs_total{outcome="lost"}`)+" or vector(0)", "{{kind}}")},
				{Title: "Run time, 95 %", Description: "95th percentile of the time of a run, by kind.", Unit: "s", Queries: one(quantile("0.95", "kind", "kith_job_run_duration_seconds"), "{{kind}}")},
				{Title: "Attempts", Description: "Number of the attempt of each run, counted since the last completed step. Normally 1.", Unit: "short", Max: 3,
					Link: runbook("KithJobsFail"), Queries: []Query{
						{rate("", "kith_job_attempts_sum") + " / (" + rate("", "kith_job_attempts_count") + " > 0)", "average"},
						{quantile("0.99", "", "kith_job_attempts"), "99 %"},
					}},
			}},
		},
	}
}
