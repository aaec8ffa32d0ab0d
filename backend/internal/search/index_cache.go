package search

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Documents are the searchable words of connections, as of a data version.
type Documents struct {
	// Version is the tenant's data version that the documents reflect.
	Version int64
	// Changed are the connections whose words changed; archived ones are marked.
	Changed []index.Document
	// Whole tells that Changed is everybody: who is not in it is gone.
	Whole bool
}

// Source reads the documents of a tenant that changed after a data version.
type Source func(ctx context.Context, t tenant.ID, since int64) (Documents, error)

// IndexCache keeps the search index of each tenant. It is safe for concurrent use.
type IndexCache struct {
	indexes *Cache[*index.Index]
	onBuild func(ctx context.Context, whole bool, d time.Duration)
}

// NewIndexCache returns an IndexCache that holds about maxBytes of indexes, and always one.
func NewIndexCache(source Source, maxBytes int64) *IndexCache {
	c := &IndexCache{onBuild: func(context.Context, bool, time.Duration) {}}
	load := func(ctx context.Context, t tenant.ID, since int64, index *index.Index) (int64, error) {
		start := time.Now()
		docs, err := source(ctx, t, since)
		if err != nil {
			return 0, err
		}
		if docs.Whole {
			index.Reset(docs.Changed...)
		} else {
			index.Put(docs.Changed...)
		}
		c.onBuild(ctx, docs.Whole, time.Since(start))
		return docs.Version, nil
	}
	c.indexes = NewCache(index.New, load, maxBytes)
	return c
}

// OnBuild has fn told of each index that is made (whole) or brought up to date, and
// how long that took with its reading. Set it before the first search.
func (c *IndexCache) OnBuild(fn func(ctx context.Context, whole bool, d time.Duration)) {
	c.onBuild = fn
}

// Index returns the tenant's index as of data version atLeast or later.
func (c *IndexCache) Index(ctx context.Context, t tenant.ID, atLeast int64) (*index.Index, error) {
	return c.indexes.Get(ctx, t, atLeast)
}

// Search looks in the tenant's network as of data version atLeast or later.
func (c *IndexCache) Search(ctx context.Context, t tenant.ID, atLeast int64, q index.Query) (index.Result, error) {
	ix, err := c.Index(ctx, t, atLeast)
	if err != nil {
		return index.Result{}, err
	}
	return ix.Search(q), nil
}

// Held returns how many indexes are held and how many bytes they take.
func (c *IndexCache) Held() (indexes int, bytes int64) { return c.indexes.Held() }
