package route

import (
	"net/http"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// PathJobs is where jobs are started.
const PathJobs = "/api/jobs"

// jobs are read and started over plain HTTP.
func jobs() []Route {
	job := Route{State: Current, Protocol: HTTP, RatePolicy: ratelimit.PolicyJobs}
	start, read := job, job
	start.Name, start.Methods, start.Pattern = StartJob, []string{http.MethodPost}, PathJobs
	start.Summary = "Starts a job of a kind, or returns the one that is queued or running. Needs a bearer token."
	read.Name, read.Methods, read.Pattern = Job, []string{http.MethodGet}, PathJobs+"/{task_id}"
	read.Summary = "How far a job is, by the number that starting it answered. Needs a bearer token."
	return []Route{start, read}
}
