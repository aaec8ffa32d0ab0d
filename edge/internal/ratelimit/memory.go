package ratelimit

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultMaxKeys is how many windows a Memory holds unless told otherwise:
	// about 30 MB of fixed ones.
	DefaultMaxKeys = 100_000
	// shards is a power of two.
	shards = 64
)

// MemoryConfig configures a Memory store. The zero value works.
type MemoryConfig struct {
	// MaxKeys bounds how many windows are kept at once, rounded up to a multiple of 64. Defaults to
	// DefaultMaxKeys.
	MaxKeys int
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Memory counts in the memory of this process.
//
// Its size is bounded. A window that has ended is dropped when another key is counted for the first
// time. At MaxKeys, the window that would end first is dropped, which gives its key a new budget a
// little early. To exploit that, a caller needs more than MaxKeys addresses, each of which has a
// budget anyway, or as many invented bearers within a window. A request is never refused because there
// are too many keys. A sliding window takes 8 bytes more for each hit that it admitted.
type Memory struct {
	now      func() time.Time
	start    time.Time // times are stored as durations since start, on the monotonic clock
	seed     maphash.Seed
	perShard int
	shards   [shards]shard
}

// NewMemory returns an empty store. It runs nothing in the background.
func NewMemory(c MemoryConfig) *Memory {
	if c.Now == nil {
		c.Now = time.Now
	}
	m := &Memory{
		now: c.Now, start: c.Now(), seed: maphash.MakeSeed(),
		perShard: (positive(c.MaxKeys, DefaultMaxKeys) + shards - 1) / shards,
	}
	for i := range m.shards {
		m.shards[i].windows = make(map[windowKey]*window)
	}
	return m
}

// positive returns v, or the default if v is 0 or less.
func positive[T cmp.Ordered](v, otherwise T) T {
	var zero T
	if v > zero {
		return v
	}
	return otherwise
}

// Take implements Store. It does not allocate for a known key.
func (m *Memory) Take(_ context.Context, p Policy, key string, n int) (Taken, error) {
	if err := checkTake(p, n); err != nil {
		return Taken{}, err
	}
	s := &m.shards[maphash.String(m.seed, key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	// The clock is read under the lock, so that the shard's times are in order.
	now := m.now().Sub(m.start)
	w := s.find(p, key, now, m.perShard)
	if p.Sliding {
		return w.slide(p, n, now), nil
	}
	return w.count(p, n, now), nil
}

// Len returns how many windows are kept, including those that have ended.
func (m *Memory) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += len(s.windows)
		s.mu.Unlock()
	}
	return n
}

// Close implements Store; it does nothing.
func (m *Memory) Close() error { return nil }

// windowKey identifies a window.
type windowKey struct {
	policy, key string
	length      time.Duration
	sliding     bool
}

// shard holds the windows of some of the keys. mu guards the rest.
type shard struct {
	mu      sync.Mutex
	windows map[windowKey]*window
	queues  []*queue // one for each length of window: there are few
}

// find returns the window of a key, or a new one if there is none. For each new window it drops up
// to two that have ended, so that ended windows are removed over time.
func (s *shard) find(p Policy, key string, now time.Duration, capacity int) *window {
	id := windowKey{policy: p.Name, key: key, length: p.Window, sliding: p.Sliding}
	if w, ok := s.windows[id]; ok {
		return w
	}
	for range 2 {
		if oldest := s.oldest(); oldest != nil && oldest.ends <= now {
			s.drop(oldest)
		}
	}
	if len(s.windows) >= capacity {
		s.drop(s.oldest())
	}
	id.key = strings.Clone(key) // the key may be a part of a long header
	w := &window{id: id, queue: s.queue(p.Window), ends: now}
	s.windows[id] = w
	w.place = w.queue.windows.PushBack(w)
	return w
}

// oldest returns the window that ends first, nil if there is none.
func (s *shard) oldest() *window {
	var oldest *window
	for _, q := range s.queues {
		if first := q.first(); first != nil && (oldest == nil || first.ends < oldest.ends) {
			oldest = first
		}
	}
	return oldest
}

func (s *shard) drop(w *window) {
	w.queue.windows.Remove(w.place)
	delete(s.windows, w.id)
}

// queue returns the queue of the windows of a length.
func (s *shard) queue(length time.Duration) *queue {
	for _, q := range s.queues {
		if q.length == length {
			return q
		}
	}
	q := &queue{length: length}
	s.queues = append(s.queues, q)
	return q
}

// queue holds windows of one length; the one that ends first is in front.
type queue struct {
	length  time.Duration
	windows list.List // of *window
}

// first returns the window in front, nil if there is none.
func (q *queue) first() *window {
	if front := q.windows.Front(); front != nil {
		w, _ := front.Value.(*window)
		return w
	}
	return nil
}

// window holds the hits of one key. Times are durations since the store's start.
type window struct {
	id   windowKey
	ends time.Duration // from then on it is empty

	used int             // of a fixed window
	hits []time.Duration // of a sliding one, the oldest first

	queue *queue
	place *list.Element // in the queue
}

// count takes n hits from a fixed window. Refused hits do not prolong it.
func (w *window) count(p Policy, n int, now time.Duration) Taken {
	if now >= w.ends {
		w.used = 0
		w.prolong(now)
	}
	admitted := max(0, min(n, p.Quota-w.used))
	w.used += admitted
	return Taken{Admitted: admitted, Remaining: max(0, p.Quota-w.used), Reset: w.ends - now}
}

// slide takes n hits from a sliding window. A hit counts for the window's length; refused hits are
// not kept.
func (w *window) slide(p Policy, n int, now time.Duration) Taken {
	for len(w.hits) > 0 && w.hits[0] <= now-p.Window {
		w.hits = w.hits[1:]
	}
	admitted := max(0, min(n, p.Quota-len(w.hits)))
	for range admitted {
		w.hits = append(w.hits, now)
	}
	if admitted > 0 {
		w.prolong(now)
	}
	return Taken{
		Admitted:  admitted,
		Remaining: max(0, p.Quota-len(w.hits)),
		Reset:     w.hits[0] + p.Window - now, // not empty: a quota is at least 1
	}
}

// prolong moves the end of the window to one length from now, later than any other in its queue.
func (w *window) prolong(now time.Duration) {
	w.ends = now + w.id.length
	w.queue.windows.MoveToBack(w.place)
}

// checkTake returns ErrTake, with a reason, for invalid arguments of Take.
func checkTake(p Policy, n int) error {
	switch {
	case n < 1:
		return fmt.Errorf("%w %d hits", ErrTake, n)
	case p.Quota < 1 || p.Window <= 0:
		return fmt.Errorf("%w under rate policy %q: it has a quota of %d in %s", ErrTake, p.Name, p.Quota, p.Window)
	}
	return nil
}
