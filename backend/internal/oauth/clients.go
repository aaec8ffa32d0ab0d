package oauth

import (
	"context"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
)

// rememberClients is how many clients are remembered.
const rememberClients = 1024

// clients remembers the clients that asked last, so that a refresh costs no read
// of its client. A client never changes once it is registered; it can only go,
// when nobody ever used it. It is safe for concurrent use.
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

// get returns a client as GetClient does.
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
		clear(c.known) // to begin anew now and then is cheaper than to know who was last
	}
	c.known[id] = remembered{client: client, until: now.Add(c.keep)}
	return client, nil
}
