package recall

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/embedding"
)

const (
	// patience bounds how long a search waits for the vector of its query.
	patience = 2 * time.Second
	// rest is how long a provider that failed is left alone by searches.
	rest = 15 * time.Second
	// remembered is how many queries' vectors are kept.
	remembered = 1000
)

// queries makes vectors of queries, and remembers the latest.
type queries struct {
	provider embedding.Provider

	mu     sync.Mutex
	byText map[string]*list.Element
	recent *list.List // of query, the latest first
	// down is what the provider failed with, until a time.
	down  *embedding.ProviderError
	until time.Time
}

type query struct {
	text   string
	vector embedding.Vector
}

func newQueries(p embedding.Provider) *queries {
	return &queries{provider: p, byText: map[string]*list.Element{}, recent: list.New()}
}

// vector fails with a *embedding.ProviderError when there is none in time.
func (q *queries) vector(ctx context.Context, text string) (embedding.Vector, error) {
	if v, err := q.known(text); v != nil || err != nil {
		return v, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	vectors, err := q.provider.Embed(limited, []string{text})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, q.failed(err)
	}
	q.remember(text, vectors[0])
	return vectors[0], nil
}

func (q *queries) known(text string) (embedding.Vector, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at, ok := q.byText[text]; ok {
		q.recent.MoveToFront(at)
		return at.Value.(query).vector, nil
	}
	if q.down != nil && time.Now().Before(q.until) {
		return nil, q.down
	}
	return nil, nil
}

// failed remembers that the provider is down, so that the next searches need not
// find it out by waiting.
func (q *queries) failed(err error) error {
	var known *embedding.ProviderError
	if !errors.As(err, &known) {
		known = &embedding.ProviderError{Message: "the embedding provider takes too long"}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down, q.until = known, time.Now().Add(rest)
	return known
}

func (q *queries) remember(text string, v embedding.Vector) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = nil
	if _, ok := q.byText[text]; ok {
		return
	}
	q.byText[text] = q.recent.PushFront(query{text, v})
	if q.recent.Len() > remembered {
		delete(q.byText, q.recent.Remove(q.recent.Back()).(query).text)
	}
}
