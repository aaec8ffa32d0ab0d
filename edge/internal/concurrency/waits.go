package concurrency

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// fewest is how many waits it takes to tell something from them.
const fewest = 20

// schedulerWaits reads the runtime's own histogram of how long goroutines were
// runnable before they ran.
type schedulerWaits struct {
	sample [1]metrics.Sample
	before []uint64
}

func newSchedulerWaits() *schedulerWaits {
	w := &schedulerWaits{}
	w.sample[0].Name = "/sched/latencies:seconds"
	w.since()
	return w
}

func (w *schedulerWaits) since() (time.Duration, bool) {
	metrics.Read(w.sample[:])
	if w.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0, false
	}
	h := w.sample[0].Value.Float64Histogram()
	if len(w.before) != len(h.Counts) {
		w.before = append([]uint64(nil), h.Counts...)
		return 0, false
	}
	wait, ok := percentile95(h.Counts, w.before, h.Buckets)
	copy(w.before, h.Counts)
	return wait, ok
}

// percentile95 returns the upper end of the bucket in which the 95th percentile
// of what was added since before lies.
func percentile95(counts, before []uint64, buckets []float64) (time.Duration, bool) {
	var total uint64
	for i := range counts {
		total += counts[i] - before[i]
	}
	if total < fewest {
		return 0, false
	}
	left := total - total*95/100
	for i, count := range slices.Backward(counts) {
		n := count - before[i]
		if n >= left {
			end := buckets[i+1]
			if math.IsInf(end, 1) {
				end = buckets[i]
			}
			return time.Duration(end * float64(time.Second)), true
		}
		left -= n
	}
	return 0, false
}
