package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Jobs counts the runs of jobs.
type Jobs struct {
	runs     *calls
	attempts prometheus.Histogram
}

// NewJobs registers the kith_job_* metrics of runs with r, or joins them. kinds is
// the closed set of kinds.
func NewJobs(r prometheus.Registerer, kinds []string) (*Jobs, error) {
	runs, err := newCalls(r, callsOptions{
		requests: "kith_job_runs_total", requestsHelp: "Runs of jobs, by kind and outcome (succeeded, failed, cancelled, retried, yielded, stopped, lost).",
		seconds: "kith_job_run_duration_seconds", secondsHelp: "Time that one run of a job took.",
		labels: []label{closed("kind", unknown, kinds...), closed("outcome", "failed", "succeeded", "failed", "cancelled", "retried", "yielded", "stopped", "lost")},
	})
	if err != nil {
		return nil, err
	}
	attempts, err := register(r, prometheus.NewHistogram(histogram(
		"kith_job_attempts", "Number of the attempt of each run of a job, counted since the last completed step.", 1, 2, 3, 4, 5, 6)))
	return &Jobs{runs: runs, attempts: attempts}, err
}

// Observe counts a run. An unknown outcome counts as "failed".
func (m *Jobs) Observe(ctx context.Context, kind, outcome string, attempt int, d time.Duration) {
	m.runs.observe(ctx, d, kind, outcome)
	m.attempts.Observe(float64(attempt))
}

// JobCount is the number of jobs of a kind in a state ("scheduled", "queued" or "running"), and how
// long the oldest queued one has waited for a worker.
type JobCount struct {
	Kind, State string
	Count       int
	Waited      time.Duration
}

// queueTimeout bounds one query of the queue.
const queueTimeout = 2 * time.Second

// queue reports the unfinished jobs at each scrape. If counting fails, it reports nothing.
type queue struct {
	counts func(context.Context) ([]JobCount, error)
	kinds  map[string]bool
	jobs   *prometheus.Desc
	waited *prometheus.Desc
}

// NewQueue registers the metrics of the queue with r; it fails if r has them. kinds is
// the closed set of kinds; others count as "unknown". counts is called once per scrape,
// from any goroutine.
func NewQueue(r prometheus.Registerer, kinds []string, counts func(context.Context) ([]JobCount, error)) error {
	kind := closed("kind", unknown, kinds...)
	if _, err := namesOf([]label{kind}); err != nil {
		return err
	}
	return r.Register(&queue{
		counts: counts, kinds: kind.values,
		jobs: prometheus.NewDesc("kith_jobs", "Unfinished jobs, by kind and state (scheduled for later, queued for a worker, running).", []string{"kind", "state"}, nil),
		waited: prometheus.NewDesc("kith_job_queue_age_seconds",
			"How long the oldest job that could run has waited for a worker, by kind.", []string{"kind"}, nil),
	})
}

// Describe implements prometheus.Collector.
func (q *queue) Describe(ch chan<- *prometheus.Desc) {
	ch <- q.jobs
	ch <- q.waited
}

// Collect implements prometheus.Collector.
func (q *queue) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queueTimeout)
	defer cancel()
	counts, err := q.counts(ctx)
	if err != nil {
		return // kith_store_up reports the outage
	}
	jobs, waited := map[string]map[string]int{}, map[string]time.Duration{}
	for kind := range q.kinds {
		jobs[kind] = map[string]int{}
	}
	for _, c := range counts {
		kind := c.Kind
		if !q.kinds[kind] {
			kind = unknown
		}
		if jobs[kind] == nil {
			jobs[kind] = map[string]int{}
		}
		jobs[kind][c.State] += c.Count
		waited[kind] = max(waited[kind], c.Waited)
	}
	for kind, states := range jobs {
		for _, state := range []string{"scheduled", "queued", "running"} {
			ch <- prometheus.MustNewConstMetric(q.jobs, prometheus.GaugeValue, float64(states[state]), kind, state)
		}
		ch <- prometheus.MustNewConstMetric(q.waited, prometheus.GaugeValue, waited[kind].Seconds(), kind)
	}
}
