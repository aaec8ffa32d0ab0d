package placement

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kith-crm/kith/edge/internal/upstream"
)

func newPlacement(t testing.TB, change func(*Options), urls ...string) *Placement {
	t.Helper()
	o := Options{
		URLs: urls, NewTransport: upstream.NewTransport, SessionCookie: "kith_session", Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Reads: func(path string) bool { return path == "/read" },
	}
	if change != nil {
		change(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func members(n int) []string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("member-%d", i))
	}
	return keys
}

// homes returns the backend that is tried first for each member.
func homes(p *Placement, keys []string) map[string]string {
	at := map[string]string{}
	for _, key := range keys {
		at[key] = p.order(key).tried[0].host
	}
	return at
}

// Each backend gets about as many members as the others.
func TestMembersAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 8; n++ {
		var urls []string
		for i := range n {
			urls = append(urls, fmt.Sprintf("http://10.0.0.%d:8082", i+1))
		}
		const all = 20_000
		counts := map[string]int{}
		for _, host := range homes(newPlacement(t, nil, urls...), members(all)) {
			counts[host]++
		}
		for _, u := range urls {
			if got, mean := counts[u[len("http://"):]], all/n; got < mean*9/10 || got > mean*11/10 {
				t.Errorf("%d backends: %s has %d members, the mean is %d", n, u, got, mean)
			}
		}
	}
}

// When a backend is lost, only its members move, to all of the others; when it is back, they return
// to it. The order of the addresses does not matter.
func TestOnlyTheMembersOfALostBackendMove(t *testing.T) {
	t.Parallel()
	keys := members(500)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(rt, "backends")
		var urls []string
		for i := range n {
			urls = append(urls, fmt.Sprintf("http://backend-%d:8082", i))
		}
		p := newPlacement(t, nil, urls...)
		before := homes(p, keys)
		shuffled := newPlacement(t, nil, rapid.Permutation(urls).Draw(rt, "order")...)
		lost := (*p.backends.Load())[rapid.IntRange(0, n-1).Draw(rt, "lost")]
		lost.leaveOut(p.options.Logger, http.ErrServerClosed)
		targets := map[string]bool{}
		for key, host := range homes(p, keys) {
			moved := host != before[key]
			if moved != (before[key] == lost.host) {
				rt.Fatalf("%s lost, and %s moved from %s to %s", lost.host, key, before[key], host)
			}
			if moved {
				targets[host] = true
			}
		}
		if len(targets) != n-1 {
			rt.Fatalf("the members of %s moved to %d of %d others", lost.host, len(targets), n-1)
		}
		lost.takeBack(p.options.Logger, time.Now().Add(-returnOver))
		for key, host := range homes(p, keys) {
			if host != before[key] || shuffled.order(key).tried[0].host != host {
				rt.Fatalf("%s was at %s and is at %s", key, before[key], host)
			}
		}
	})
}

// The members of a backend that is back return over returnOver, each once.
func TestMembersReturnOverATime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := newPlacement(t, func(o *Options) { o.Now = func() time.Time { return now } }, "http://a:1", "http://b:1", "http://c:1")
	keys := members(3000)
	before := homes(p, keys)
	back := (*p.backends.Load())[1]
	back.leaveOut(p.options.Logger, http.ErrServerClosed)
	back.takeBack(p.options.Logger, now)
	home := map[string]bool{}
	for _, share := range []int{0, 25, 50, 75, 100} {
		now = back.since.Load().Add(returnOver * time.Duration(share) / 100)
		at, own, there := homes(p, keys), 0, 0
		for key, host := range at {
			if before[key] != back.host {
				if host != before[key] {
					t.Fatalf("%s moved from %s to %s", key, before[key], host)
				}
				continue
			}
			own++
			if host == back.host {
				there++
				home[key] = true
			} else if home[key] {
				t.Fatalf("%s returned and moved again", key)
			}
		}
		if want := own * share / 100; there < want-own/20 || there > want+own/20 {
			t.Errorf("after %d %% of the time %d of %d members are back", share, there, own)
		}
	}
}

// Calls without a member go to all backends, round robin, but not to those that are left out.
func TestCallsWithoutAMemberAreSpread(t *testing.T) {
	t.Parallel()
	p := newPlacement(t, nil, "http://a:1", "http://b:1", "http://c:1")
	(*p.backends.Load())[2].leaveOut(p.options.Logger, http.ErrServerClosed)
	counts := map[string]int{}
	for range 30 {
		counts[p.order("").tried[0].host]++
	}
	if counts["a:1"] < 10 || counts["b:1"] < 10 || counts["c:1"] != 0 {
		t.Errorf("calls by backend: %v", counts)
	}
}

// If all backends are left out, each member's own is tried first.
func TestAllBackendsLeftOut(t *testing.T) {
	t.Parallel()
	p := newPlacement(t, nil, "http://a:1", "http://b:1")
	keys := members(50)
	before := homes(p, keys)
	for _, b := range *p.backends.Load() {
		b.leaveOut(p.options.Logger, http.ErrServerClosed)
	}
	for key, host := range homes(p, keys) {
		if host != before[key] || len(p.order(key).tried) != 2 {
			t.Fatalf("%s moved from %s to %s", key, before[key], host)
		}
	}
}
