package middleware

import (
	"context"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

// How the bound is adjusted.
const (
	// target is the highest acceptable 95th percentile of the time that goroutines wait for a
	// processor.
	target = 4 * time.Millisecond
	// every is how often the bound is adjusted.
	every = 20 * time.Millisecond
	// perProcessor is how many requests are served for each processor, whatever the waits are.
	perProcessor = 2
)

const (
	// maxWait is how long a request waits to be admitted.
	maxWait = time.Second
	// fewInFlight is how many requests may be in flight, served or waiting,
	// without any of them being refused.
	fewInFlight = 64
	// queueShare is how many requests may wait for each place. More are refused at
	// once, because each takes memory while it waits.
	queueShare = 8
)

// ConcurrencyLimiter bounds how many requests are served at once. It is safe for concurrent use. A
// request beyond the bound waits. After a second it is refused if many others are in flight;
// if few are, it is served before all later requests.
//
// The right bound depends on what requests cost, so it is adjusted by a symptom of overload: the
// time that runnable goroutines wait for a processor. While the waits are short the bound grows, up
// to a maximum; when they are long it shrinks, down to what keeps the processors busy. Requests that
// wait for something else, such as a database, do not lengthen these waits.
//
// The queue is last in, first out. Under overload some requests must be refused; with first in,
// first out, every request would wait for the longest time.
type ConcurrencyLimiter struct {
	least, most int
	waits       waits
	now         func() time.Time

	mu       sync.Mutex
	places   int       // that are taken; a request takes one or more
	inFlight int       // requests that are served or wait
	queue    []*waiter // to be admitted
	first    []*waiter // are served before queue: they have begun, or waited for maxWait
	bound    int
	refused  int64
	adjusted time.Time
}

// waiter is a request that waits to be admitted.
type waiter struct {
	places int
	turn   chan struct{} // closed when the places are taken
}

// waits measures how long goroutines waited for a processor.
type waits interface {
	// since returns the 95th percentile of the waits since the last call, and false when there were
	// too few for a percentile.
	since() (time.Duration, bool)
}

// NewConcurrencyLimiter returns a limiter whose bound never exceeds the argument. With 0 or less it
// limits nothing.
func NewConcurrencyLimiter(most int) *ConcurrencyLimiter {
	return newConcurrencyLimiter(most, runtime.GOMAXPROCS(0), newSchedulerWaits(), time.Now)
}

func newConcurrencyLimiter(most, processors int, w waits, now func() time.Time) *ConcurrencyLimiter {
	return &ConcurrencyLimiter{least: min(perProcessor*processors, most), most: most, bound: most, waits: w, now: now}
}

// Acquire waits for a place, and reports whether the request got one. It reports false when ctx
// ends, or when the request waited for a second and too many others are in flight. After true, call
// Release.
func (l *ConcurrencyLimiter) Acquire(ctx context.Context) bool {
	l.mu.Lock()
	l.inFlight++
	l.wake() // if the bound has grown, those who wait come first
	if l.acquire(ctx, &l.queue, 1, maxWait) {
		return true
	}
	l.mu.Lock()
	l.inFlight--
	l.mu.Unlock()
	return false
}

// Release gives back the place of a request.
func (l *ConcurrencyLimiter) Release() { l.leave(1) }

// AcquireMore waits for n more places for a request that has one, and reports whether it got them.
// Such requests have priority over those that have no place yet. waited is how long the request has
// already waited; it waits for at most a second in total. After true, call ReleaseMore. After false
// the request keeps its first place.
func (l *ConcurrencyLimiter) AcquireMore(ctx context.Context, n int, waited time.Duration) bool {
	if n < 1 {
		return true
	}
	l.mu.Lock()
	l.places-- // else requests that wait for more places could deadlock
	ok := l.acquire(ctx, &l.first, n+1, maxWait-waited)
	if !ok {
		l.mu.Lock()
		l.places++
		l.mu.Unlock()
	}
	return ok
}

// ReleaseMore gives back what AcquireMore took.
func (l *ConcurrencyLimiter) ReleaseMore(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places -= n
	l.wake()
}

// Suspend gives the place back while the request waits for something that needs no processor.
func (l *ConcurrencyLimiter) Suspend() { l.leave(1) }

// Resume takes the place again, even beyond the bound, because the request has already
// begun.
func (l *ConcurrencyLimiter) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight++
	l.places++
}

// InFlight returns how many requests are being served or waiting.
func (l *ConcurrencyLimiter) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

// Bound returns how many requests may be served at once at the moment.
func (l *ConcurrencyLimiter) Bound() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.bound)
}

// Refused returns how many requests were refused so far.
func (l *ConcurrencyLimiter) Refused() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// acquire takes places, and unlocks the mutex that the caller locked. If there is no room it waits
// in the queue.
func (l *ConcurrencyLimiter) acquire(ctx context.Context, queue *[]*waiter, places int, wait time.Duration) bool {
	defer l.mu.Unlock()
	l.adjust()
	if l.most <= 0 || l.places < l.bound {
		l.places += places
		return true
	}
	if len(*queue) >= queueShare*l.most {
		l.refused++
		return false
	}
	w := &waiter{places: places, turn: make(chan struct{})}
	*queue = append(*queue, w)
	l.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-w.turn:
	case <-timer.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	if !remove(queue, w) {
		return true // it was admitted
	}
	if ctx.Err() != nil {
		return false
	}
	if l.inFlight > min(fewInFlight, l.most) {
		l.refused++
		return false
	}
	l.first = append(l.first, w)
	l.mu.Unlock()
	select {
	case <-w.turn:
	case <-ctx.Done():
	}
	l.mu.Lock()
	return !remove(&l.first, w)
}

// remove takes a request out of a queue, and reports whether it was there.
func remove(queue *[]*waiter, w *waiter) bool {
	i := slices.Index(*queue, w)
	if i < 0 {
		return false
	}
	*queue = slices.Delete(*queue, i, i+1)
	return true
}

func (l *ConcurrencyLimiter) leave(places int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.places -= places
	l.wake()
}

// wake gives places to waiting requests: those in first in their order, then the latest in the
// queue. A request that takes several places may exceed the bound, so that it does not wait
// behind small ones forever.
func (l *ConcurrencyLimiter) wake() {
	l.adjust()
	for l.places < l.bound && len(l.first)+len(l.queue) > 0 {
		queue, next := &l.first, 0
		if len(l.first) == 0 {
			queue, next = &l.queue, len(l.queue)-1
		}
		w := (*queue)[next]
		*queue = slices.Delete(*queue, next, next+1)
		l.places += w.places
		close(w.turn)
	}
}

func (l *ConcurrencyLimiter) adjust() {
	now := l.now()
	if l.most <= 0 || now.Sub(l.adjusted) < every {
		return
	}
	l.adjusted = now
	if wait, ok := l.waits.since(); ok {
		l.bound = nextBound(l.bound, l.places, wait, l.least, l.most)
	}
}

// nextBound returns the new bound: a third less than the taken places if goroutines wait too
// long, else a tenth more.
func nextBound(bound, places int, wait time.Duration, least, most int) int {
	if wait > target {
		bound = min(bound, places) * 2 / 3
	} else {
		bound += max(1, bound/10)
	}
	return max(least, min(most, bound))
}

// Body returns a request's body that suspends the request while it waits for bytes, so that slow
// clients do not block others.
func (l *ConcurrencyLimiter) Body(body io.ReadCloser) io.ReadCloser {
	return &suspendingBody{ReadCloser: body, limiter: l}
}

type suspendingBody struct {
	io.ReadCloser

	limiter *ConcurrencyLimiter
}

// Read implements io.Reader.
func (b *suspendingBody) Read(p []byte) (int, error) {
	b.limiter.Suspend()
	defer b.limiter.Resume()
	return b.ReadCloser.Read(p)
}

// fewest is the minimum number of waits for a percentile.
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

// percentile95 returns the upper end of the histogram bucket with the 95th percentile of the waits
// since before.
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
