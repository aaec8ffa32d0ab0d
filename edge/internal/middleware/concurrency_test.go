package middleware

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// steady is a scheduler whose waits are always the same.
type steady time.Duration

func (s steady) since() (time.Duration, bool) { return time.Duration(s), true }

func taken(l *ConcurrencyLimiter) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places
}

// held keeps the limiter full of requests until the test ends.
func held(t *testing.T, l *ConcurrencyLimiter, n int) {
	t.Helper()
	for range n {
		if !l.Acquire(t.Context()) {
			t.Fatal("refused")
		}
	}
}

// A few concurrent requests are never refused, however busy the processors are: for
// example, forty agents that refresh their tokens while other programs use the machine.
func TestFewRequestsAreNeverRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(128, 2, steady(time.Minute), time.Now)
		var group sync.WaitGroup
		for range fewInFlight {
			group.Go(func() {
				if !l.Acquire(t.Context()) {
					t.Error("refused")
					return
				}
				time.Sleep(10 * time.Second) // its backend is just as slow
				l.Release()
			})
		}
		group.Wait()
		if l.Refused() != 0 || l.InFlight() != 0 || l.places != 0 {
			t.Errorf("refused %d, in flight %d, places %d", l.Refused(), l.InFlight(), l.places)
		}
	})
}

// Beyond fewInFlight, a request waits for a place for a second.
func TestRequestsWaitForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(100, 50, steady(0), time.Now)
		held(t, l, 100)
		start := time.Now()
		if l.Acquire(t.Context()) || time.Since(start) != maxWait || l.Refused() != 1 {
			t.Errorf("refused after %s", time.Since(start))
		}
		go func() {
			time.Sleep(maxWait / 2)
			l.Release()
		}()
		start = time.Now()
		if !l.Acquire(t.Context()) || time.Since(start) != maxWait/2 {
			t.Errorf("admitted after %s", time.Since(start))
		}
		gone, leave := context.WithTimeout(t.Context(), maxWait/2)
		defer leave()
		if l.Acquire(gone) || l.Refused() != 1 || l.InFlight() != 100 {
			t.Errorf("gone: refused %d, in flight %d", l.Refused(), l.InFlight())
		}
	})
}

// The latest request is served first, so that under overload the answered requests are answered
// quickly.
func TestTheLatestIsServedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(100, 50, steady(0), time.Now)
		held(t, l, 100)
		admitted := make(chan int, 10)
		for i := range 10 {
			go func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if l.Acquire(t.Context()) {
					admitted <- i
				}
			}()
		}
		time.Sleep(maxWait / 2)
		l.Release()
		l.Release()
		synctest.Wait()
		if first, second := <-admitted, <-admitted; min(first, second) != 8 {
			t.Errorf("%d and %d went first", first, second)
		}
		time.Sleep(maxWait)
		if len(admitted) != 0 || l.Refused() != 8 {
			t.Errorf("%d more, refused %d", len(admitted), l.Refused())
		}
	})
}

// The queue is bounded, because each waiting request takes memory.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(10, 1, steady(0), time.Now)
		held(t, l, 10)
		for range 10 * queueShare {
			go l.Acquire(t.Context())
		}
		synctest.Wait()
		start := time.Now()
		if l.Acquire(t.Context()) || time.Since(start) != 0 {
			t.Errorf("refused after %s", time.Since(start))
		}
		time.Sleep(2 * maxWait)
	})
}

func TestLimiterWithoutBound(t *testing.T) {
	t.Parallel()
	l := newConcurrencyLimiter(-1, 1, steady(time.Hour), time.Now)
	held(t, l, 1000)
	if !l.AcquireMore(t.Context(), 1000, 0) || !l.Acquire(t.Context()) {
		t.Error("a limiter without a bound refuses")
	}
}

// Under long waits the bound falls to what keeps the processors busy, and no further. When the
// waits are short again, the bound recovers and waiting requests are served.
func TestBoundFollowsTheWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w atomic.Int64
		w.Store(int64(time.Second))
		l := newConcurrencyLimiter(100, 2, &changing{&w}, time.Now)
		for range 20 {
			time.Sleep(every)
			held(t, l, 1)
			l.Release()
		}
		if l.Bound() != 2*perProcessor {
			t.Fatalf("bound %d", l.Bound())
		}
		held(t, l, 2*perProcessor)
		admitted := make(chan bool, 10)
		for range 10 {
			go func() { admitted <- l.Acquire(t.Context()) }()
		}
		synctest.Wait()
		w.Store(0)
		for range 20 {
			time.Sleep(every)
			l.Suspend()
			l.Resume()
		}
		if len(admitted) != 10 || l.Bound() < 14 {
			t.Errorf("%d admitted, bound %d", len(admitted), l.Bound())
		}
	})
}

// changing is a scheduler whose waits change.
type changing struct{ wait *atomic.Int64 }

func (w *changing) since() (time.Duration, bool) { return time.Duration(w.wait.Load()), true }

// A request may take several places. Requests that all want more places do not deadlock.
func TestRequestsOfSeveralPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(4, 2, steady(0), time.Now)
		var done atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if !l.Acquire(t.Context()) || !l.AcquireMore(t.Context(), 3, 0) {
					t.Error("refused")
					return
				}
				time.Sleep(50 * time.Millisecond)
				if taken(l) > 4+3 {
					t.Errorf("%d places are taken", taken(l))
				}
				done.Add(1)
				l.ReleaseMore(3)
				l.Release()
			})
		}
		group.Wait()
		if l.places != 0 || l.InFlight() != 0 || done.Load() != 4 {
			t.Errorf("in the end: %d places, %d in flight, %d done", l.places, l.InFlight(), done.Load())
		}
		held(t, l, 4)
		for range fewInFlight { // they have read their bodies
			l.Resume()
		}
		if !l.AcquireMore(t.Context(), 0, 0) || l.AcquireMore(t.Context(), 1, 0) || l.places != 4+fewInFlight {
			t.Errorf("more than fit: %d places", l.places)
		}
	})
}

// With few requests in flight, a request does not wait for all later ones.
func TestLongestWaitIsServedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(50, 25, steady(0), time.Now)
		held(t, l, 49)
		l.Resume()
		l.inFlight -= 10 // that wait for something else
		admitted := make(chan string, 2)
		for _, who := range []string{"early", "late"} {
			go func() {
				if l.Acquire(t.Context()) {
					admitted <- who
				}
			}()
			time.Sleep(maxWait * 3 / 4)
		}
		l.Release()
		synctest.Wait()
		if first := <-admitted; first != "early" {
			t.Errorf("the %s one is served first", first)
		}
		l.Release()
		<-admitted
	})
}

// If the bound grows when a request arrives, those who wait come first.
func TestNewPlacesGoToThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(8, 1, steady(0), time.Now)
		l.bound, l.adjusted = 2, time.Now()
		held(t, l, 2)
		admitted := make(chan string, 2)
		for _, who := range []string{"early", "late"} {
			go func() {
				if l.Acquire(t.Context()) {
					admitted <- who
				}
			}()
			synctest.Wait()
			time.Sleep(maxWait + every)
		}
		if first := <-admitted; first != "early" {
			t.Errorf("the %s one is served first", first)
		}
		l.Release()
		<-admitted
	})
}

// A request that has begun is served before those that wait for their first place, and
// waits for at most a second in total.
func TestBegunRequestsAreServedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(100, 50, steady(0), time.Now)
		held(t, l, 100)
		l.Resume() // a batch that has read its body
		order := make(chan string, 2)
		go func() {
			if l.AcquireMore(t.Context(), 1, 0) {
				order <- "begun"
			}
		}()
		synctest.Wait()
		go func() {
			if l.Acquire(t.Context()) {
				order <- "new"
			}
		}()
		synctest.Wait()
		l.Release()
		synctest.Wait()
		if first := <-order; first != "begun" {
			t.Errorf("the %s one is served first", first)
		}
		time.Sleep(2 * maxWait)
		start := time.Now()
		if l.AcquireMore(t.Context(), 1, maxWait*3/4) || time.Since(start) != maxWait/4 {
			t.Errorf("it waited for another %s", time.Since(start))
		}
	})
}

// A request that waits for its body does not block other requests.
func TestSlowBodiesKeepNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newConcurrencyLimiter(1, 1, steady(0), time.Now)
		held(t, l, 1)
		reader, writer := io.Pipe()
		read := make(chan string)
		go func() {
			text, err := io.ReadAll(l.Body(reader))
			if err != nil {
				t.Error(err)
			}
			read <- string(text)
		}()
		synctest.Wait()
		start := time.Now()
		held(t, l, 1)
		if time.Since(start) != 0 {
			t.Error("a slow body blocks other requests")
		}
		l.Release()
		if _, err := writer.Write([]byte("slow")); err != nil {
			t.Fatal(err)
		}
		_ = writer.Close()
		if text := <-read; text != "slow" || l.InFlight() != 1 {
			t.Errorf("read %q, in flight %d", text, l.InFlight())
		}
	})
}

func TestNextBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bound, places int
		wait          time.Duration
		want          int
	}{
		"short waits":             {50, 50, target, 55},
		"short waits, few":        {4, 1, 0, 5},
		"short waits, at maximum": {100, 100, 0, 100},
		"long waits":              {60, 60, target + 1, 40},
		"long waits, few taken":   {100, 30, time.Second, 20},
		"long waits, none taken":  {100, 0, time.Second, 4},
	} {
		if got := nextBound(test.bound, test.places, test.wait, 4, 100); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	buckets := []float64{0, .001, .002, .004, math.Inf(1)}
	for name, test := range map[string]struct {
		counts, before []uint64
		want           time.Duration
		ok             bool
	}{
		"too few":         {[]uint64{19, 0, 0, 0}, make([]uint64, 4), 0, false},
		"all short":       {[]uint64{100, 0, 0, 0}, make([]uint64, 4), time.Millisecond, true},
		"a long tail":     {[]uint64{90, 0, 10, 0}, make([]uint64, 4), 4 * time.Millisecond, true},
		"a thin tail":     {[]uint64{96, 0, 4, 0}, make([]uint64, 4), time.Millisecond, true},
		"without end":     {[]uint64{0, 0, 0, 50}, make([]uint64, 4), 4 * time.Millisecond, true},
		"since last time": {[]uint64{100, 100, 0, 0}, []uint64{100, 0, 0, 0}, 2 * time.Millisecond, true},
	} {
		if got, ok := percentile95(test.counts, test.before, buckets); got != test.want || ok != test.ok {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
}

// The runtime has the histogram that the limiter reads.
func TestSchedulerWaits(t *testing.T) {
	t.Parallel()
	w := newSchedulerWaits()
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() {})
	}
	group.Wait()
	if _, ok := w.since(); !ok {
		t.Error("no percentile after a thousand goroutines")
	}
}

func BenchmarkAcquire(b *testing.B) {
	l := NewConcurrencyLimiter(128)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if l.Acquire(b.Context()) {
				l.Release()
			}
		}
	})
}
