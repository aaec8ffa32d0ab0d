package search

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// loadTimeout limits the duration of one load.
const loadTimeout = 2 * time.Minute

// Sized returns about how much memory the value holds.
type Sized interface{ Bytes() int64 }

// Load applies to a value what changed after a data version, or everything when since is
// below 0. It returns the version that the value reflects afterwards. Only one call runs
// at a time for each value, while others may use it.
type Load[T Sized] func(ctx context.Context, t tenant.ID, since int64, value T) (version int64, err error)

// Cache keeps one value for each tenant, computed from the tenant's data. It is safe for
// concurrent use.
//
// A value is made at its first use and brought up to date when the tenant's data version,
// which comes with each authenticated call, is ahead of it. So a call sees every write
// that was committed before it, in whichever process, and reads nothing from the database
// when nothing changed. The least recently used values are evicted when the cache is full.
type Cache[T Sized] struct {
	fresh    func() T
	load     Load[T]
	maxBytes int64

	mu      sync.Mutex
	entries *simplelru.LRU[tenant.ID, *entry[T]]
	bytes   int64
}

type entry[T Sized] struct {
	tenant tenant.ID
	value  T
	bytes  int64 // as counted in Cache.bytes, guarded by Cache.mu

	version atomic.Int64  // the data version that the value reflects
	refresh chan struct{} // holds one token; its owner may refresh
}

// NewCache returns a Cache that holds about maxBytes of values, and always at least one.
// fresh makes an empty value.
func NewCache[T Sized](fresh func() T, load Load[T], maxBytes int64) *Cache[T] {
	c := &Cache[T]{fresh: fresh, load: load, maxBytes: maxBytes}
	// The limit is in bytes. Values that are empty, or could not be loaded, take bytes too: so
	// the number of entries is limited as well. New fails only for a size below 1.
	most := max(minEntries, int(min(maxBytes/entryBytes, math.MaxInt32)))
	c.entries, _ = simplelru.NewLRU(most, func(_ tenant.ID, out *entry[T]) { c.bytes -= out.bytes })
	return c
}

// entryBytes is the memory of a small value for which the cache has room, minEntries how many
// values it may hold however little memory it has.
const (
	entryBytes = 4 << 10
	minEntries = 64
)

// Get returns the tenant's value as of data version atLeast or later. Calls that
// wait for the same data share one load.
func (c *Cache[T]) Get(ctx context.Context, t tenant.ID, atLeast int64) (T, error) {
	e := c.entry(t)
	if e.version.Load() < atLeast {
		if err := c.refresh(ctx, e, atLeast); err != nil {
			var none T
			return none, err
		}
	}
	return e.value, nil
}

// Prepare starts to load a value that a later Get will need, and does not wait. That Get
// returns the error, if any.
func (c *Cache[T]) Prepare(ctx context.Context, t tenant.ID, atLeast int64) {
	e := c.entry(t)
	if e.version.Load() >= atLeast {
		return
	}
	select {
	case e.refresh <- struct{}{}:
		c.start(ctx, e, atLeast)
	default: // another call is refreshing it
	}
}

// entry returns the tenant's entry, creating it if necessary, and marks it as the most
// recently used.
func (c *Cache[T]) entry(t tenant.ID) *entry[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(t); ok {
		return e
	}
	e := &entry[T]{tenant: t, value: c.fresh(), refresh: make(chan struct{}, 1)}
	e.version.Store(-1)
	c.entries.Add(t, e)
	return e
}

// refresh loads what changed. It continues when its caller gives up; otherwise a load that
// takes longer than callers wait would never finish.
func (c *Cache[T]) refresh(ctx context.Context, e *entry[T], atLeast int64) error {
	select {
	case e.refresh <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.start(ctx, e, atLeast):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start loads for the owner of the token, and returns the token.
func (c *Cache[T]) start(ctx context.Context, e *entry[T], atLeast int64) <-chan error {
	done := make(chan error, 1)
	go func() {
		defer func() { <-e.refresh }()
		done <- c.loadInto(context.WithoutCancel(ctx), e, atLeast)
	}()
	return done
}

// loadInto updates the entry, unless another call has done so. It recovers a panic,
// because the load runs outside its callers' goroutines.
func (c *Cache[T]) loadInto(ctx context.Context, e *entry[T], atLeast int64) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("update a cached value: panic: %v\n%s", cause, debug.Stack())
		}
	}()
	since := e.version.Load()
	if since >= atLeast {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	version, err := c.load(ctx, e.tenant, since, e.value)
	if err != nil {
		return err
	}
	e.version.Store(version)
	c.account(e)
	return nil
}

// account counts the entry's memory and evicts the least recently used values.
func (c *Cache[T]) account(e *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.entries.Peek(e.tenant); !ok || held != e {
		return
	}
	size := e.value.Bytes()
	c.bytes += size - e.bytes
	e.bytes = size
	for c.bytes > c.maxBytes && c.entries.Len() > 1 {
		c.entries.RemoveOldest()
	}
}

// Held returns how many values are held and how many bytes they take.
func (c *Cache[T]) Held() (values int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len(), c.bytes
}

// Documents are the searchable words of connections, as of a data version.
type Documents struct {
	// Version is the tenant's data version that the documents reflect.
	Version int64
	// Changed are the connections whose words changed; archived ones are marked.
	Changed []index.Document
	// Whole reports that Changed has every connection: others no longer exist.
	Whole bool
}

// Source reads the documents of a tenant that changed after a data version.
type Source func(ctx context.Context, t tenant.ID, since int64) (Documents, error)

// IndexCache keeps the search index of each tenant. It is safe for concurrent use.
type IndexCache struct {
	indexes *Cache[*index.Index]
	onBuild func(ctx context.Context, whole bool, d time.Duration)
}

// NewIndexCache returns an IndexCache that holds about maxBytes of indexes, and always at
// least one.
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

// OnBuild sets a function that is called after each index is built (whole) or updated,
// with the duration including the read. Set it before the first search.
func (c *IndexCache) OnBuild(fn func(ctx context.Context, whole bool, d time.Duration)) {
	c.onBuild = fn
}

// OfCaller returns the index of the caller's tenant as of the caller's data version or later.
func (c *IndexCache) OfCaller(ctx context.Context) (*index.Index, error) {
	p := tenant.PrincipalFrom(ctx)
	return c.Index(ctx, p.Tenant, p.DataVersion)
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
