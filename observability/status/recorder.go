package status

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	interval = 15 * time.Second // between two readings of the metrics
	kept     = 240              // readings that are shown: one hour
)

// Recorder keeps the figures of the last hour. It is safe for concurrent use.
type Recorder struct {
	gatherer prometheus.Gatherer
	now      func() time.Time
	logger   *slog.Logger
	started  time.Time
	figures  []figure
	stop     chan struct{}
	stopped  chan struct{}

	mu     sync.Mutex
	last   families
	lastAt time.Time
	rows   [][]float64 // the values of all figures, oldest first
}

// NewRecorder returns a Recorder of the metrics of a process.
func NewRecorder(g prometheus.Gatherer, now func() time.Time, logger *slog.Logger) *Recorder {
	return &Recorder{gatherer: g, now: now, logger: logger, figures: figures(), started: now()}
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

// Record reads the metrics once. It logs and skips those that cannot be read.
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
	if s := (span{from: r.last, to: now, length: at.Sub(r.lastAt)}); r.last != nil && s.length > 0 {
		row := make([]float64, len(r.figures))
		for i, f := range r.figures {
			if row[i] = math.NaN(); now.has(f.metric) {
				row[i] = f.value(s)
			}
		}
		r.rows = append(r.rows, row)
		r.rows = r.rows[max(0, len(r.rows)-kept):]
	}
	r.last, r.lastAt = now, at
}

// shown is a figure as the page shows it.
type shown struct {
	Title, Unit string
	Values      []float64 // NaN where there is no value
}

// history returns the figures that the process has metrics for.
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
