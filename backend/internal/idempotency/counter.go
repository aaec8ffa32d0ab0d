package idempotency

import (
	"sync"
	"time"
)

const (
	// recountKeys is how many keys are stored between two counts of a scope. Another process
	// can exceed the bound by that many before this one notices.
	recountKeys = 100
	// recountShare is the part of a bound in bytes that is stored between two counts.
	recountShare = 16
	// maxScopes bounds the scopes that are remembered; beyond it, all are counted again.
	maxScopes = 10_000
	// remeasure is how long a total over all scopes is used before it is measured again,
	// remeasureFull how long when the total is at its bound: measuring reads the whole table.
	remeasure     = 10 * time.Minute
	remeasureFull = time.Minute
)

// Usage is how much is stored.
type Usage struct {
	Keys  int
	Bytes int64 // of answers
}

// Totals are the bytes of all stored answers.
type Totals struct {
	Credentials, Addresses int64
}

// Counter caches how much each scope and all scopes together have stored, so that few
// requests need a count. It is safe for concurrent use; its zero value is ready.
type Counter struct {
	mu                     sync.Mutex
	scopes                 map[string]*tally
	credentials, addresses total
	measured               time.Time
}

// tally is what a scope has stored, and how much of that was added since the last count.
type tally struct{ usage, since Usage }

// total is what all scopes of a kind have stored, and how much was added since it was
// measured.
type total struct{ bytes, since int64 }

// Admits reports whether the key's scope may have another key. It calls count for the
// live keys of the scope when they were never counted, or not for a while, and fails when
// count does.
func (c *Counter) Admits(k Key, count func() (Usage, error)) (bool, error) {
	c.mu.Lock()
	t, known := c.scopes[k.Scope]
	fresh := known && t.since.Keys < recountKeys && t.since.Bytes < k.MaxBytes()/recountShare && k.admits(t.usage)
	if fresh {
		t.usage.Keys++
		t.since.Keys++
	}
	c.mu.Unlock()
	if fresh {
		return true, nil
	}
	usage, err := count()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scopes == nil || len(c.scopes) >= maxScopes {
		c.scopes = map[string]*tally{}
	}
	c.scopes[k.Scope] = &tally{usage: Usage{Keys: usage.Keys + 1, Bytes: usage.Bytes}}
	return k.admits(usage), nil
}

// HasRoom reports whether an answer to the key can be stored under the bound over all
// scopes of its kind. It calls measure when the totals were never measured, or not for a
// while, and fails when measure does. Concurrent calls use the previous totals meanwhile.
func (c *Counter) HasRoom(k Key, now time.Time, measure func() (Totals, error)) (bool, error) {
	c.mu.Lock()
	t := c.totalOf(k)
	age := now.Sub(c.measured)
	stale := c.measured.IsZero() || age >= remeasure || t.since >= k.maxTotal()/recountShare || (t.bytes >= k.maxTotal() && age >= remeasureFull)
	if stale {
		c.measured, t.since = now, 0
	}
	room := t.bytes < k.maxTotal()
	c.mu.Unlock()
	if !stale {
		return room, nil
	}
	totals, err := measure()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.measured = time.Time{}
		return false, err
	}
	c.credentials, c.addresses = total{bytes: totals.Credentials}, total{bytes: totals.Addresses}
	return t.bytes < k.maxTotal(), nil
}

// Kept adds an answer that was stored under an admitted key.
func (c *Counter) Kept(k Key, answer []byte) {
	n := int64(len(answer))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, scope := range []string{k.Scope, k.ofMember().Scope} { // an address has no member, so the second is not known
		if t, known := c.scopes[scope]; known {
			t.usage.Bytes += n
			t.since.Bytes += n
		}
	}
	t := c.totalOf(k)
	t.bytes += n
	t.since += n
}

// Forget makes the next call of HasRoom measure, because answers were deleted.
func (c *Counter) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.measured = time.Time{}
}

func (c *Counter) totalOf(k Key) *total {
	if k.Tenant == "" {
		return &c.addresses
	}
	return &c.credentials
}

type claim struct{ scope, name string }

// Registry holds the keys that are in flight in this process, so that a second
// request is refused without waiting for the first. It is safe for
// concurrent use; its zero value is ready.
type Registry struct {
	mu       sync.Mutex
	inFlight map[claim]struct{}
}

// Claim reserves a key until release is called. It fails with fault.InFlight while
// another request has it.
func (r *Registry) Claim(k Key) (release func(), err error) {
	c := claim{k.Scope, k.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.inFlight[c]; taken {
		return nil, InFlight()
	}
	if r.inFlight == nil {
		r.inFlight = map[claim]struct{}{}
	}
	r.inFlight[c] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.inFlight, c)
	}, nil
}
