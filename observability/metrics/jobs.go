package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Jobs counts the runs of jobs.
type Jobs struct {
	runs     *calls
	kinds    map[string]*series
	endings  map[string]int
	attempts prometheus.Histogram
}

// The ways in which a run of a job ends.
func jobEndings() []string {
	return []string{"succeeded", "failed", "cancelled", "retried", "yielded", "stopped", "lost"}
}

// NewJobs registers the kith_job_* metrics of runs with r, or joins them. kinds is
// the closed list of kinds.
func NewJobs(r prometheus.Registerer, kinds []string) (*Jobs, error) {
	if err := checkNames("job", kinds); err != nil {
		return nil, err
	}
	m := &Jobs{endings: map[string]int{}}
	var endings [][]string
	for i, ending := range jobEndings() {
		m.endings[ending] = i
		endings = append(endings, []string{ending})
	}
	runs, err := newCalls(r, callsOptions{
		requests: "kith_job_runs_total", requestsHelp: "Runs of jobs, by kind and outcome (succeeded, failed, cancelled, retried, yielded, stopped, lost).",
		seconds: "kith_job_run_duration_seconds", secondsHelp: "Time that one run of a job took.",
		labels: []string{"kind", "outcome"}, endings: endings,
	})
	if err != nil {
		return nil, err
	}
	m.runs, m.kinds = runs, runs.seriesByName(kinds)
	m.attempts, err = register(r, prometheus.NewHistogram(histogram(
		"kith_job_attempts", "Which attempt in a row, without a step made, each run of a job was.", []float64{1, 2, 3, 4, 5, 6})))
	return m, err
}

// Observe counts a run. One that ended in a way that is not known is "failed".
func (m *Jobs) Observe(ctx context.Context, kind, outcome string, attempt int, d time.Duration) {
	s, ok := m.kinds[kind]
	if !ok {
		s = m.kinds[unknown]
	}
	ending, ok := m.endings[outcome]
	if !ok {
		ending = m.endings["failed"]
	}
	s.observe(ctx, ending, d)
	m.attempts.Observe(float64(attempt))
}

// JobCount is how many jobs of a kind are in a state, "scheduled", "queued" or
// "running", and for how long the longest of those that could run has waited.
type JobCount struct {
	Kind, State string
	Count       int
	Waited      time.Duration
}

// queueTimeout bounds one look at the queue.
const queueTimeout = 2 * time.Second

// Queue reports on the jobs that have not ended whenever it is scraped. While
// they cannot be counted it reports nothing.
type Queue struct {
	counts func(context.Context) ([]JobCount, error)
	kinds  map[string]bool
	jobs   *prometheus.Desc
	waited *prometheus.Desc
}

var _ prometheus.Collector = (*Queue)(nil)

// NewQueue registers the metrics of the queue with r; it fails if r has them.
// kinds is the closed list of kinds; others are counted as "unknown". counts is
// called once per scrape, from any goroutine.
func NewQueue(r prometheus.Registerer, kinds []string, counts func(context.Context) ([]JobCount, error)) (*Queue, error) {
	if err := checkNames("job", kinds); err != nil {
		return nil, err
	}
	q := &Queue{
		counts: counts, kinds: map[string]bool{},
		jobs: prometheus.NewDesc("kith_jobs", "Jobs that have not ended, by kind and state (scheduled for later, queued for a worker, running).", []string{"kind", "state"}, nil),
		waited: prometheus.NewDesc("kith_job_queue_age_seconds",
			"How long the longest waiting of the jobs that could run has waited for a worker, by kind.", []string{"kind"}, nil),
	}
	for _, kind := range kinds {
		q.kinds[kind] = true
	}
	return q, r.Register(q)
}

// Describe implements prometheus.Collector.
func (q *Queue) Describe(ch chan<- *prometheus.Desc) {
	ch <- q.jobs
	ch <- q.waited
}

// queuedJobs are the jobs of one kind.
type queuedJobs struct {
	scheduled, queued, running int
	waited                     time.Duration
}

// Collect implements prometheus.Collector.
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), queueTimeout)
	defer cancel()
	counts, err := q.counts(ctx)
	if err != nil {
		return // kith_store_up tells
	}
	kinds := map[string]queuedJobs{}
	for kind := range q.kinds {
		kinds[kind] = queuedJobs{}
	}
	for _, c := range counts {
		kind := c.Kind
		if !q.kinds[kind] {
			kind = unknown
		}
		sum := kinds[kind]
		switch c.State {
		case "scheduled":
			sum.scheduled += c.Count
		case "running":
			sum.running += c.Count
		default:
			sum.queued += c.Count
		}
		sum.waited = max(sum.waited, c.Waited)
		kinds[kind] = sum
	}
	for kind, sum := range kinds {
		ch <- prometheus.MustNewConstMetric(q.jobs, prometheus.GaugeValue, float64(sum.scheduled), kind, "scheduled")
		ch <- prometheus.MustNewConstMetric(q.jobs, prometheus.GaugeValue, float64(sum.queued), kind, "queued")
		ch <- prometheus.MustNewConstMetric(q.jobs, prometheus.GaugeValue, float64(sum.running), kind, "running")
		ch <- prometheus.MustNewConstMetric(q.waited, prometheus.GaugeValue, sum.waited.Seconds(), kind)
	}
}
