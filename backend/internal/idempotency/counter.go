package idempotency

import "sync"

const (
	// recountEvery is how many keys are kept between two counts of a scope, which
	// is as far as another process can carry it past its bound unnoticed.
	recountEvery = 100
	// maxScopes bounds the scopes that are remembered; beyond it all are counted anew.
	maxScopes = 10_000
)

// Counter remembers how many keys a scope has, so that not every new one has
// them counted. It is safe for concurrent use; its zero value is ready.
type Counter struct {
	mu     sync.Mutex
	scopes map[string]*tally
}

type tally struct{ keys, since int }

// Admits tells whether a scope may have another key. count is asked how many
// live ones there are when that is not known, or was not counted for a while.
func (c *Counter) Admits(k Key, count func() (int, error)) (bool, error) {
	c.mu.Lock()
	t, known := c.scopes[k.Scope]
	fresh := known && t.since < recountEvery && t.keys < k.MaxKeys()
	if fresh {
		t.keys++
		t.since++
	}
	c.mu.Unlock()
	if fresh {
		return true, nil
	}
	n, err := count()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scopes == nil || len(c.scopes) >= maxScopes {
		c.scopes = map[string]*tally{}
	}
	c.scopes[k.Scope] = &tally{keys: n + 1}
	return n < k.MaxKeys(), nil
}
