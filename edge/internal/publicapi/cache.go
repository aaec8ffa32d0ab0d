package publicapi

import (
	"container/list"
	"sync"
	"time"
)

// maxCached is how many rendered profiles are remembered.
const maxCached = 4096

// cache remembers the representations that were asked for last, each for a
// while. It is safe for concurrent use.
type cache struct {
	capacity int
	ttl      time.Duration
	now      func() time.Time

	mu      sync.Mutex
	entries map[profileKey]*list.Element // of *cached
	recency *list.List                   // the last one used is in front
}

type cached struct {
	key     profileKey
	rep     *representation
	expires time.Time
}

func newCache(capacity int, ttl time.Duration, now func() time.Time) *cache {
	return &cache{
		capacity: capacity, ttl: ttl, now: now,
		entries: make(map[profileKey]*list.Element), recency: list.New(),
	}
}

// get returns what is remembered, unless it is too old.
func (c *cache) get(key profileKey) (*representation, bool) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	entry, _ := element.Value.(*cached)
	if !now.Before(entry.expires) {
		c.drop(element)
		return nil, false
	}
	c.recency.MoveToFront(element)
	return entry.rep, true
}

// put remembers rep for the time to live, and forgets the one that was used
// longest ago if there are too many.
func (c *cache) put(key profileKey, rep *representation) {
	expires := c.now().Add(c.ttl)
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[key]; ok {
		c.drop(element)
	}
	c.entries[key] = c.recency.PushFront(&cached{key: key, rep: rep, expires: expires})
	if c.recency.Len() > c.capacity {
		c.drop(c.recency.Back())
	}
}

// drop forgets an entry. The lock must be held.
func (c *cache) drop(element *list.Element) {
	if entry, ok := c.recency.Remove(element).(*cached); ok {
		delete(c.entries, entry.key)
	}
}
