package search

import (
	"context"
	"errors"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

const (
	// queryTimeout limits how long a search waits for the vector of its query.
	queryTimeout = 2 * time.Second
	// rest is how long searches do not call a provider after it failed.
	rest = 15 * time.Second
	// remembered is how many queries' vectors are cached.
	remembered = 1000
)

// queries makes vectors of queries, and caches the latest.
type queries struct {
	provider vector.Provider
	kept     *lru.Cache[string, vector.Vector] // by text

	mu sync.Mutex
	// down is the error of a provider that failed, valid until a time.
	down  *vector.ProviderError
	until time.Time
}

func newQueries(p vector.Provider) *queries {
	kept, _ := lru.New[string, vector.Vector](remembered) // fails only for a size below 1
	return &queries{provider: p, kept: kept}
}

// vector returns the vector of a text, or a *vector.ProviderError when there is none in
// time.
func (q *queries) vector(ctx context.Context, text string) (vector.Vector, error) {
	if v, ok := q.kept.Get(text); ok {
		return v, nil
	}
	if down := q.failure(); down != nil {
		return nil, down
	}
	limited, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	vectors, err := q.provider.Embed(limited, []string{text})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, q.failed(err)
	}
	q.kept.Add(text, vectors[0])
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = nil
	return vectors[0], nil
}

// failure returns the error of a provider that failed recently, or nil.
func (q *queries) failure() *vector.ProviderError {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Now().After(q.until) {
		return nil
	}
	return q.down
}

// failed records that the provider is down, so that the next searches do not wait for it.
func (q *queries) failed(err error) error {
	var known *vector.ProviderError
	if !errors.As(err, &known) {
		known = &vector.ProviderError{Message: "the embedding provider takes too long"}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down, q.until = known, time.Now().Add(rest)
	return known
}
