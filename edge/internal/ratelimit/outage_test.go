package ratelimit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// maxDelay is how much later than normal an answer may be (issue 4).
const maxDelay = 60 * time.Millisecond

// outage is one kind of failure of Redis.
type outage struct {
	name       string
	begin, end func(t *testing.T, p *proxy)
}

func outages() []outage {
	refuse := func(_ *testing.T, p *proxy) { p.refuse() }
	accept := func(t *testing.T, p *proxy) { p.accept(t) }
	return []outage{
		{"slow", func(_ *testing.T, p *proxy) { p.slow(5 * time.Second) }, func(_ *testing.T, p *proxy) { p.slow(0) }},
		{"hung", func(_ *testing.T, p *proxy) { p.hang() }, func(_ *testing.T, p *proxy) { p.flow() }},
		{"refused", refuse, accept},
	}
}

// No answer is late, however long the outage lasts and even if every hit calls Redis. The test
// compares the median, because a busy machine slows some hits and a wrong setting slows all.
// TestFallbackBoundsTheWait checks the limit itself.
func TestOutageDelaysNoAnswer(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			address, ok := redisAddress(t)
			if !ok {
				return
			}
			p, behind := newProxy(t, address)
			f := ratelimit.NewFallback(openRedis(t, behind, newPrefix()),
				ratelimit.NewMemory(ratelimit.MemoryConfig{}), ratelimit.FallbackConfig{Failures: 1000})
			t.Cleanup(func() { _ = f.Close() })
			take(t, f, perMinute, "k", 1)
			o.begin(t, p)
			var waits []time.Duration
			for range 5 {
				if waits = measure(t, f, 12); waits[len(waits)/2] <= maxDelay {
					want(t, take(t, f, perMinute, "k", 1), 0, 0)
					return
				}
			}
			t.Errorf("answers took %s", waits)
		})
	}
}

// measure returns how long each of n hits takes, in order of size.
func measure(t *testing.T, s ratelimit.Store, n int) []time.Duration {
	t.Helper()
	waits := make([]time.Duration, 0, n)
	for range n {
		start := time.Now()
		take(t, s, perMinute, "k", 1)
		waits = append(waits, time.Since(start))
	}
	slices.Sort(waits)
	return waits
}

// During an outage the local store limits, afterwards Redis again.
func TestOutageEnds(t *testing.T) {
	t.Parallel()
	for _, o := range outages() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			address, ok := redisAddress(t)
			if !ok {
				return
			}
			proxy, behind := newProxy(t, address)
			changes := make(chan ratelimit.State, 10)
			f := ratelimit.NewFallback(
				openRedis(t, withTimeouts(t, behind, 500*time.Millisecond), newPrefix()),
				ratelimit.NewMemory(ratelimit.MemoryConfig{}),
				ratelimit.FallbackConfig{
					Nodes: 2, Budget: 500 * time.Millisecond, Probe: 20 * time.Millisecond,
					OnState: func(s ratelimit.State, _ error) { changes <- s },
				})
			t.Cleanup(func() { _ = f.Close() })

			p := perMinute
			p.Quota = 10
			want(t, take(t, f, p, "spent", 10), 10, 0)
			o.begin(t, proxy)
			admitted := 0
			for range 20 {
				admitted += take(t, f, p, "k", 1).Admitted
			}
			if admitted != 5 {
				t.Errorf("during the outage %d were admitted, not half of 10", admitted)
			}
			await(t, changes, ratelimit.StateLocal)
			o.end(t, proxy)
			await(t, changes, ratelimit.StateShared)
			want(t, take(t, f, p, "spent", 1), 0, 0) // counted in Redis, not in the local store
		})
	}
}

// await waits for a state and ignores others.
func await(t *testing.T, changes <-chan ratelimit.State, want ratelimit.State) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case got := <-changes:
			if got == want {
				return
			}
		case <-deadline:
			t.Fatalf("the state did not become %s", want)
		}
	}
}

// A restart of Redis between two calls, which loses connections and scripts, fails no call.
func TestRestartIsNoOutage(t *testing.T) {
	t.Parallel()
	address, ok := redisAddress(t)
	if !ok {
		return
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	proxy, behind := newProxy(t, patient(t, address))
	f := newFallback(t, openRedis(t, behind, newPrefix())) // whose state may not change
	t.Cleanup(func() { _ = f.Close() })
	for name, p := range map[string]ratelimit.Policy{"fixed": perMinute, "sliding": slidingMinute()} {
		p.Window = 24 * time.Hour // so that it hardly ends within the test: Redis has its own clock
		want(t, take(t, f, p, name, 1), 1, 1)
		proxy.drop()
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		want(t, take(t, f, p, name, 1), 1, 0)
		want(t, take(t, f, p, name, 1), 0, 0)
	}
}
