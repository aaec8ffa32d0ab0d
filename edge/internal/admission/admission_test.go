package admission

import (
	"io"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"
)

// steady is a scheduler whose waits are always the same.
type steady time.Duration

func (s steady) since() (time.Duration, bool) { return time.Duration(s), true }

// clock moves by an adjustment's time with each look at it.
func clock() func() time.Time {
	now := time.Unix(0, 0)
	var mu sync.Mutex
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(every)
		return now
	}
}

func TestGateHoldsItsBound(t *testing.T) {
	t.Parallel()
	g := newGate(10, 1, steady(0), clock())
	var group sync.WaitGroup
	hold := make(chan struct{})
	admitted := make(chan bool, 100)
	for range 100 {
		group.Go(func() {
			ok := g.Enter()
			admitted <- ok
			if ok {
				<-hold
				g.Leave()
			}
		})
	}
	n := 0
	for range 100 {
		if <-admitted {
			n++
		}
	}
	if n != 10 || g.Inside() != 10 || g.Refused() != 90 {
		t.Errorf("admitted %d, inside %d, refused %d", n, g.Inside(), g.Refused())
	}
	close(hold)
	group.Wait()
	if g.Inside() != 0 || !g.Enter() {
		t.Error("the gate does not open again")
	}
}

func TestGateWithoutBound(t *testing.T) {
	t.Parallel()
	g := newGate(-1, 1, steady(time.Hour), clock())
	for range 1000 {
		if !g.Enter() {
			t.Fatal("refused")
		}
	}
}

// Under long waits the bound falls to what keeps the processors busy, and no
// further; when they are over it comes back.
func TestBoundFollowsTheWaits(t *testing.T) {
	t.Parallel()
	overloaded, idle := newGate(100, 2, steady(time.Second), clock()), newGate(100, 2, steady(0), clock())
	for range 50 {
		if overloaded.Enter() {
			defer overloaded.Leave()
		}
	}
	if overloaded.Bound() != 2*perProcessor || overloaded.Refused() == 0 {
		t.Errorf("overloaded: bound %d, refused %d", overloaded.Bound(), overloaded.Refused())
	}
	idle.bound.Store(4)
	for range 100 {
		idle.Enter()
		idle.Leave()
	}
	if idle.Bound() != 100 || idle.Refused() != 0 {
		t.Errorf("idle: bound %d, refused %d", idle.Bound(), idle.Refused())
	}
}

// A request that is worked on in several places takes as many, or none; one that
// nobody competes with is let in, however narrow the gate.
func TestWideRequests(t *testing.T) {
	t.Parallel()
	g := newGate(4, 1, steady(0), clock())
	if !g.Enter() || !g.Widen(2) || g.Inside() != 3 {
		t.Errorf("the first: inside %d", g.Inside())
	}
	if !g.Enter() || g.Widen(1) || g.Inside() != 4 || g.Refused() != 1 {
		t.Errorf("the second: inside %d, refused %d", g.Inside(), g.Refused())
	}
	g.Leave()
	g.Narrow(2)
	if !g.Widen(9) || g.Inside() != 10 || g.Enter() {
		t.Errorf("alone: inside %d", g.Inside())
	}
	g.Narrow(9)
	g.Leave()
	if g.Inside() != 0 || !g.Enter() {
		t.Errorf("in the end: inside %d", g.Inside())
	}
	for range 4 { // back from their bodies, when somebody else took the room
		g.Resume()
	}
	if !g.Widen(0) || g.Widen(1) {
		t.Errorf("more than fit: inside %d", g.Inside())
	}
	if open := newGate(-1, 1, steady(0), clock()); !open.Enter() || !open.Widen(1000) || !open.Enter() {
		t.Error("a gate without a bound refuses")
	}
}

// A request that waits for its body keeps nobody out.
func TestSlowBodiesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	g := newGate(1, 1, steady(0), clock())
	if !g.Enter() {
		t.Fatal("refused")
	}
	reader, writer := io.Pipe()
	body := g.Body(reader)
	read := make(chan string)
	go func() {
		text, err := io.ReadAll(body)
		if err != nil {
			t.Error(err)
		}
		read <- string(text)
	}()
	if _, err := writer.Write([]byte("slow")); err != nil { // whoever reads it has begun to wait
		t.Fatal(err)
	}
	for g.Inside() != 0 {
		runtime.Gosched()
	}
	if !g.Enter() {
		t.Error("a slow body keeps others out")
	}
	g.Leave()
	_ = writer.Close()
	if text := <-read; text != "slow" || g.Inside() != 1 {
		t.Errorf("read %q, inside %d", text, g.Inside())
	}
}

func TestAdjusted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bound, inside int64
		wait          time.Duration
		want          int64
	}{
		"short waits":             {50, 50, target, 55},
		"short waits, few":        {4, 1, 0, 5},
		"short waits, at the top": {100, 100, 0, 100},
		"long waits":              {60, 60, target + 1, 40},
		"long waits of few":       {100, 30, time.Second, 20},
		"long waits of none":      {100, 0, time.Second, 4},
	} {
		if got := adjusted(test.bound, test.inside, test.wait, 4, 100); got != test.want {
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

// The runtime has the histogram that the gate rests on.
func TestSchedulerWaits(t *testing.T) {
	t.Parallel()
	w := newSchedulerWaits()
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() {})
	}
	group.Wait()
	if _, ok := w.since(); !ok {
		t.Error("nothing is known of a thousand goroutines")
	}
}

func BenchmarkEnter(b *testing.B) {
	g := New(128)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if g.Enter() {
				g.Leave()
			}
		}
	})
}
