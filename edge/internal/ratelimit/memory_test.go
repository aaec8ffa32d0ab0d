package ratelimit_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

var perMinute = ratelimit.Policy{Name: "p", Quota: 2, Window: time.Minute, By: ratelimit.Address}

// slidingMinute is perMinute with a sliding window.
func slidingMinute() ratelimit.Policy {
	p := perMinute
	p.Sliding = true
	return p
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const most = 640
	for name, p := range map[string]ratelimit.Policy{"fixed": perMinute, "sliding": slidingMinute()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			m := ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now, MaxKeys: most})
			for i := range 20 * most {
				c.Add(time.Millisecond)
				want(t, take(t, m, p, fmt.Sprint("key ", i), 2), 2, 0)
			}
			if n := m.Len(); n > most {
				t.Errorf("%d windows are kept, more than %d", n, most)
			}
			// The latest windows are still limited, the first one was dropped.
			want(t, take(t, m, p, fmt.Sprint("key ", 20*most-1), 1), 0, 0)
			want(t, take(t, m, p, "key 0", 1), 1, 1)
		})
	}
}

// Of windows of several lengths, the one that ends first is dropped.
func TestMemoryDropsTheWindowThatEndsFirst(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now, MaxKeys: 128})
	hourly := perMinute
	hourly.Name, hourly.Window = "hourly", time.Hour
	want(t, take(t, m, hourly, "patient", 2), 2, 0)
	for i := range 1000 {
		take(t, m, perMinute, fmt.Sprint("key ", i), 1)
	}
	want(t, take(t, m, hourly, "patient", 1), 0, 0)
}

func TestMemoryDropsEndedWindows(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now})
	for i := range 10_000 {
		take(t, m, perMinute, fmt.Sprint("early ", i), 1)
	}
	c.Add(time.Minute)
	for i := range 10_000 {
		take(t, m, perMinute, fmt.Sprint("late ", i), 1)
	}
	if n := m.Len(); n > 10_500 {
		t.Errorf("%d windows are kept", n)
	}
}

// A key is a substring of a header. The store must not keep the whole header in memory.
func TestMemoryCopiesTheKey(t *testing.T) {
	m := ratelimit.NewMemory(ratelimit.MemoryConfig{})
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	for i := range 1000 {
		header := fmt.Sprint(i, ",") + strings.Repeat("x", 16<<10)
		key, _, _ := strings.Cut(header, ",")
		take(t, m, perMinute, key, 1)
	}
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("1000 keys take %d KiB", grown>>10)
	}
	runtime.KeepAlive(m)
}

func TestMemoryDoesNotAllocate(t *testing.T) {
	for name, p := range map[string]ratelimit.Policy{"fixed": perMinute, "sliding": slidingMinute()} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			m := ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now})
			take(t, m, p, "key", 2)
			if n := testing.AllocsPerRun(100, func() {
				c.Add(20 * time.Second)
				take(t, m, p, "key", 1)
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
