// Package admission bounds how many requests are worked on at once. Beyond the
// bound a request is refused at once: to answer some in good time is better than
// all of them late.
//
// How many are too many depends on what they cost, so the bound follows what
// overload looks like from within: goroutines that could run and wait for a
// processor. While their waits are short the bound grows, up to a fixed one; when
// they get long it shrinks, down to what keeps the processors busy. Requests that
// wait for something else, such as a database, make no goroutine wait.
package admission

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The control of the bound.
const (
	// target is the longest that 95 of 100 goroutines should wait for a processor.
	target = 4 * time.Millisecond
	// every is how often the bound is adjusted.
	every = 20 * time.Millisecond
	// perProcessor is how many requests are always let in for each processor.
	perProcessor = 2
)

// Gate admits requests. It is safe for concurrent use.
type Gate struct {
	least, most int64
	waits       waits
	now         func() time.Time

	inside  atomic.Int64
	bound   atomic.Int64
	refused atomic.Int64
	next    atomic.Int64 // when to adjust, in nanoseconds
	mu      sync.Mutex   // held while adjusting
}

// waits tells how long goroutines waited for a processor.
type waits interface {
	// since returns the 95th percentile of the waits since the last call, and
	// false when there were too few to tell.
	since() (time.Duration, bool)
}

// New returns a gate for most requests at a time; 0 or less admits all.
func New(most int) *Gate { return newGate(most, runtime.GOMAXPROCS(0), newSchedulerWaits(), time.Now) }

func newGate(most, processors int, w waits, now func() time.Time) *Gate {
	g := &Gate{least: min(int64(perProcessor*processors), int64(most)), most: int64(most), waits: w, now: now}
	g.bound.Store(g.most)
	return g
}

// Enter reports whether a request may go on. One that may must Leave.
func (g *Gate) Enter() bool {
	n := g.inside.Add(1)
	if g.most <= 0 {
		return true
	}
	if now := g.now().UnixNano(); now >= g.next.Load() {
		g.adjust(now)
	}
	if n > g.bound.Load() {
		g.inside.Add(-1)
		g.refused.Add(1)
		return false
	}
	return true
}

// Leave makes room for another request.
func (g *Gate) Leave() { g.inside.Add(-1) }

// Widen takes n more places for a request that is inside, if there is room for all
// of them or nobody else is inside. Narrow gives them back.
func (g *Gate) Widen(n int) bool {
	if n < 1 {
		return true // however many are inside by now
	}
	inside := g.inside.Add(int64(n))
	if g.most <= 0 || inside <= g.bound.Load() || inside == int64(n)+1 {
		return true
	}
	g.inside.Add(-int64(n))
	g.refused.Add(1)
	return false
}

// Narrow gives back what Widen took.
func (g *Gate) Narrow(n int) { g.inside.Add(-int64(n)) }

// Resume takes back a place that was left for a while, whether or not there is
// room: the request has begun already.
func (g *Gate) Resume() { g.inside.Add(1) }

// Inside is how many requests are worked on.
func (g *Gate) Inside() int64 { return g.inside.Load() }

// Bound is how many requests may be worked on at the moment.
func (g *Gate) Bound() int64 { return g.bound.Load() }

// Refused is how many requests were not admitted so far.
func (g *Gate) Refused() int64 { return g.refused.Load() }

func (g *Gate) adjust(now int64) {
	if !g.mu.TryLock() {
		return // somebody is at it
	}
	defer g.mu.Unlock()
	if now < g.next.Load() {
		return
	}
	g.next.Store(now + int64(every))
	if wait, ok := g.waits.since(); ok {
		g.bound.Store(adjusted(g.bound.Load(), g.inside.Load(), wait, g.least, g.most))
	}
}

// adjusted is the bound that follows from how long goroutines wait now: a third
// less than what is inside when that is too long, a tenth more when it is not.
func adjusted(bound, inside int64, wait time.Duration, least, most int64) int64 {
	if wait > target {
		bound = min(bound, inside) * 2 / 3
	} else {
		bound += max(1, bound/10)
	}
	return max(least, min(most, bound))
}
