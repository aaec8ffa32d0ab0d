package oauth

import (
	"context"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

// rememberClients is how many clients are cached.
const rememberClients = 1024

// clients caches recently used clients, so that a refresh does not read its client from
// the store. A registered client never changes; it can only be deleted, if it was never
// used. clients is safe for concurrent use.
type clients struct {
	store *db.DB
	keep  time.Duration
	now   func() time.Time

	mu    sync.Mutex
	known map[string]remembered
}

type remembered struct {
	client *Client
	until  time.Time
}

func newClients(store *db.DB, keep time.Duration, now func() time.Time) *clients {
	return &clients{store: store, keep: keep, now: now, known: map[string]remembered{}}
}

// get returns a client, as GetClient does.
func (c *clients) get(ctx context.Context, id string) (*Client, error) {
	now := c.now()
	c.mu.Lock()
	entry, ok := c.known[id]
	c.mu.Unlock()
	if ok && now.Before(entry.until) {
		return entry.client, nil
	}
	client, err := GetClient(ctx, c.store, id)
	if err != nil || c.keep <= 0 {
		return client, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= rememberClients {
		clear(c.known) // emptying the cache sometimes is cheaper than tracking the oldest entry
	}
	c.known[id] = remembered{client: client, until: now.Add(c.keep)}
	return client, nil
}
