package limiter

import (
	"crypto/sha256"
	"sync"
)

// generation is how many credentials are remembered before the older half of
// what is known goes.
const generation = 4096

// credentials remembers the ids of bearers that the backend has confirmed, by
// the bearers' hashes. It holds two generations: what is found in the old one
// moves to the new one.
type credentials struct {
	mu       sync.Mutex
	new, old map[[sha256.Size]byte]string
}

func newCredentials() *credentials {
	return &credentials{new: map[[sha256.Size]byte]string{}}
}

func (c *credentials) find(token string) (id string, ok bool) {
	if token == "" {
		return "", false
	}
	sum := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok = c.new[sum]; ok {
		return id, true
	}
	if id, ok = c.old[sum]; ok {
		c.put(sum, id)
	}
	return id, ok
}

func (c *credentials) keep(token, id string) {
	if token == "" {
		return
	}
	sum := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.new[sum] != id {
		c.put(sum, id)
	}
}

func (c *credentials) put(sum [sha256.Size]byte, id string) {
	if len(c.new) >= generation {
		c.new, c.old = make(map[[sha256.Size]byte]string, generation), c.new
	}
	c.new[sum] = id
}

func (c *credentials) forget(token string) {
	sum := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.new, sum)
	delete(c.old, sum)
}
