package ratelimit

import "time"

// window holds the hits of one key. Times are durations since the store's start.
type window struct {
	id   identity
	ends time.Duration // from then on nothing in it counts

	used int   // of a fixed window
	log  times // of a sliding one

	queue      *queue
	prev, next *window
}

// count takes n hits from a fixed window. Those that are refused fill it up, but
// do not prolong it.
func (w *window) count(p Policy, n int, now time.Duration) Taken {
	if now >= w.ends {
		w.used = 0
		w.prolong(now)
	}
	admitted := max(0, min(n, p.Quota-w.used))
	w.used += admitted
	return Taken{Admitted: admitted, Remaining: max(0, p.Quota-w.used), Reset: w.ends - now}
}

// slide takes n hits from a sliding window. A hit counts for the window's length
// and leaves at its very end; those that are refused are not remembered.
func (w *window) slide(p Policy, n int, now time.Duration) Taken {
	for w.log.len > 0 && w.log.first() <= now-p.Window {
		w.log.drop()
	}
	admitted := max(0, min(n, p.Quota-w.log.len))
	for range admitted {
		w.log.push(now)
	}
	if admitted > 0 {
		w.prolong(now)
	}
	return Taken{
		Admitted:  admitted,
		Remaining: max(0, p.Quota-w.log.len),
		Reset:     w.log.first() + p.Window - now, // one was there or was admitted: a quota is at least 1
	}
}

// prolong lets the window end one length from now, which is later than that of
// any other in its queue.
func (w *window) prolong(now time.Duration) {
	w.ends = now + w.id.length
	w.queue.remove(w)
	w.queue.push(w)
}

// queue links windows of one length; the one that ends first is in front.
type queue struct {
	length time.Duration
	root   window // its next is the first, its prev the last
}

func newQueue(length time.Duration) *queue {
	q := &queue{length: length}
	q.root.next, q.root.prev = &q.root, &q.root
	return q
}

// first returns the window in front, nil if there is none.
func (q *queue) first() *window {
	if q.root.next == &q.root {
		return nil
	}
	return q.root.next
}

func (q *queue) push(w *window) {
	last := q.root.prev
	w.prev, w.next = last, &q.root
	last.next, q.root.prev = w, w
}

func (q *queue) remove(w *window) {
	w.prev.next, w.next.prev = w.next, w.prev
	w.prev, w.next = nil, nil
}

// times is a first-in-first-out ring.
type times struct {
	ring []time.Duration // its length is 0 or a power of two
	head int
	len  int
}

// first returns the oldest; there must be one.
func (t *times) first() time.Duration { return t.ring[t.head] }

// drop forgets the oldest; there must be one.
func (t *times) drop() {
	t.head = (t.head + 1) & (len(t.ring) - 1)
	t.len--
}

func (t *times) push(d time.Duration) {
	if t.len == len(t.ring) {
		t.grow()
	}
	t.ring[(t.head+t.len)&(len(t.ring)-1)] = d
	t.len++
}

func (t *times) grow() {
	ring := make([]time.Duration, max(4, 2*len(t.ring)))
	n := copy(ring, t.ring[t.head:])
	copy(ring[n:], t.ring[:t.head])
	t.ring, t.head = ring, 0
}
