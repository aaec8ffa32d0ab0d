package status

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kith-crm/kith/observability/rules"
)

const (
	interval = 15 * time.Second // between two readings of the metrics
	kept     = 240              // number of readings shown: one hour
)

// Recorder keeps the figures of the last hour. It is safe for concurrent use.
type Recorder struct {
	gatherer prometheus.Gatherer
	now      func() time.Time
	logger   *slog.Logger
	started  time.Time
	figures  []figure
	checks   []check
	alerts   map[string]rules.Alert
	stop     chan struct{}
	stopped  chan struct{}

	mu     sync.Mutex
	last   families
	lastAt time.Time
	rows   [][]float64 // the values of all figures, oldest first
	recent [][]reading // the recent readings of each check, oldest first
}

// NewRecorder returns a Recorder of the metrics of a process.
func NewRecorder(g prometheus.Gatherer, now func() time.Time, logger *slog.Logger) (*Recorder, error) {
	r := &Recorder{gatherer: g, now: now, logger: logger, figures: figures(), checks: checks(), started: now()}
	r.recent = make([][]reading, len(r.checks))
	var err error
	if r.alerts, err = rules.Alerts(); err != nil {
		return nil, err
	}
	for _, c := range r.checks {
		if _, known := r.alerts[c.alert]; !known {
			return nil, fmt.Errorf("status: there is no alert rule %q", c.alert)
		}
	}
	return r, nil
}

// Start reads the metrics now and every 15 seconds until Stop.
func (r *Recorder) Start(ctx context.Context) {
	r.Record(ctx)
	r.stop, r.stopped = make(chan struct{}), make(chan struct{})
	ctx = context.WithoutCancel(ctx) // Stop ends the loop
	go func() {
		defer close(r.stopped)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
				r.Record(ctx)
			}
		}
	}()
}

// Stop ends the reading that Start began.
func (r *Recorder) Stop() {
	close(r.stop)
	<-r.stopped
}

// Record reads the metrics once. It logs and skips metrics that cannot be read.
func (r *Recorder) Record(ctx context.Context) {
	gathered, err := r.gatherer.Gather()
	if err != nil {
		r.logger.WarnContext(ctx, "some metrics cannot be read", "error", err)
	}
	now := make(families, len(gathered))
	for _, f := range gathered {
		now[f.GetName()] = f
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now()
	s := span{from: r.last, to: now, at: at, length: at.Sub(r.lastAt)}
	grew := r.last != nil && s.length > 0
	r.check(s, grew)
	if grew {
		row := make([]float64, len(r.figures))
		for i, f := range r.figures {
			if row[i] = math.NaN(); now.has(f.metric) {
				part, whole := f.measure(s, f.metric)
				row[i] = part / whole * f.scale
			}
		}
		r.rows = append(r.rows, row)
		r.rows = r.rows[max(0, len(r.rows)-kept):]
	}
	r.last, r.lastAt = now, at
}

// check measures the checks whose metrics the process has. Rates and shares use the increase since
// the previous reading.
func (r *Recorder) check(s span, grew bool) {
	for i, c := range r.checks {
		switch {
		case !s.to.has(c.metric):
			r.recent[i] = nil
			continue
		case c.gauge:
			r.recent[i] = nil // only the latest is used
		case !grew:
			continue
		}
		part, whole := c.measure(s, c.metric)
		r.recent[i] = append(r.recent[i], reading{part, whole})
		r.recent[i] = r.recent[i][max(0, len(r.recent[i])-recent):]
	}
}

// results returns the checks whose metrics this process has. rates is false until two readings
// exist, from which rates can be computed.
func (r *Recorder) results() (list []checked, rates bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range r.checks {
		if !r.last.has(c.metric) {
			continue
		}
		rule, now := r.alerts[c.alert], quotient(r.recent[i])
		list = append(list, checked{check: c, rule: rule, now: now * c.scale, limit: rule.Limit * c.scale, fires: rule.Fires(now)})
	}
	return list, len(r.rows) > 0
}

// shown is a figure as the page shows it.
type shown struct {
	Title, Unit string
	Values      []float64 // NaN where there is no value
}

// history returns the figures whose metrics this process has, and the time of the last reading.
func (r *Recorder) history() (list []shown, lastAt time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range r.figures {
		if !r.last.has(f.metric) {
			continue
		}
		values := make([]float64, len(r.rows))
		for j, row := range r.rows {
			values[j] = row[i]
		}
		list = append(list, shown{Title: f.title, Unit: f.unit, Values: values})
	}
	return list, r.lastAt
}
