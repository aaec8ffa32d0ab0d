// Package finder keeps a search index of each tenant that is being searched, and
// keeps it fresh.
//
// An index is built at a tenant's first search and brought up to date when the
// tenant's data version, which comes with each authenticated call, is ahead of
// it. So a search sees every write that was committed before the call, in
// whichever process, and costs no read of the database when nothing changed. The
// least recently searched indexes give way when memory runs short; they are
// derived and can always be built again.
package finder

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Documents are the searchable words of connections, as of a data version.
type Documents struct {
	// Version is the tenant's data version that the documents reflect.
	Version int64
	// Changed are the connections whose words changed; archived ones are marked.
	Changed []search.Document
	// Whole tells that Changed is everybody: who is not in it is gone.
	Whole bool
}

// Source reads the documents of a tenant that changed after a data version.
type Source func(ctx context.Context, t tenant.ID, since int64) (Documents, error)

// Finder searches tenants' networks. It is safe for concurrent use.
type Finder struct {
	source   Source
	maxBytes int64

	mu      sync.Mutex
	entries map[tenant.ID]*list.Element
	recent  *list.List // of *entry, the most recently used first
	bytes   int64
}

type entry struct {
	tenant tenant.ID
	index  *search.Index
	bytes  int64 // as counted in Finder.bytes, guarded by Finder.mu

	version atomic.Int64  // the data version that the index reflects
	refresh chan struct{} // holds one token; its owner may refresh
}

// New returns a Finder that holds about maxBytes of indexes, and always one.
func New(source Source, maxBytes int64) *Finder {
	return &Finder{source: source, maxBytes: maxBytes, entries: map[tenant.ID]*list.Element{}, recent: list.New()}
}

// Search looks in the tenant's network as of data version atLeast or later.
func (f *Finder) Search(ctx context.Context, t tenant.ID, atLeast int64, q search.Query) (search.Result, error) {
	e := f.entry(t)
	if e.version.Load() < atLeast {
		if err := f.bringUp(ctx, e, atLeast); err != nil {
			return search.Result{}, err
		}
	}
	return e.index.Search(q), nil
}

// entry returns the tenant's entry, new if need be, as the most recently used.
func (f *Finder) entry(t tenant.ID) *entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	if el, ok := f.entries[t]; ok {
		f.recent.MoveToFront(el)
		return el.Value.(*entry)
	}
	e := &entry{tenant: t, index: search.New(), refresh: make(chan struct{}, 1)}
	e.version.Store(-1)
	f.entries[t] = f.recent.PushFront(e)
	return e
}

// bringUp loads what changed. Searches that wait for the same data share one load.
func (f *Finder) bringUp(ctx context.Context, e *entry, atLeast int64) error {
	select {
	case e.refresh <- struct{}{}:
		defer func() { <-e.refresh }()
	case <-ctx.Done():
		return ctx.Err()
	}
	since := e.version.Load()
	if since >= atLeast {
		return nil
	}
	docs, err := f.source(ctx, e.tenant, since)
	if err != nil {
		return err
	}
	if docs.Whole {
		e.index.Reset(docs.Changed...)
	} else {
		e.index.Put(docs.Changed...)
	}
	e.version.Store(docs.Version)
	f.account(e)
	return nil
}

// account counts the entry's memory and lets the least recently used go.
func (f *Finder) account(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if el, ok := f.entries[e.tenant]; !ok || el.Value.(*entry) != e {
		return
	}
	size := e.index.Bytes()
	f.bytes += size - e.bytes
	e.bytes = size
	for f.bytes > f.maxBytes && f.recent.Len() > 1 {
		last := f.recent.Back()
		out := last.Value.(*entry)
		f.recent.Remove(last)
		delete(f.entries, out.tenant)
		f.bytes -= out.bytes
	}
}

// Held returns how many indexes are held and how many bytes they take.
func (f *Finder) Held() (indexes int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recent.Len(), f.bytes
}
