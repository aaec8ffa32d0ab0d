package index

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Index is a keyword index over one member's connections. All methods may be
// called from many goroutines; searches never wait for updates.
type Index struct {
	mu      sync.Mutex // held by updates
	state   atomic.Pointer[snapshot]
	minPart int // the least number of documents for a goroutine and a segment of their own
}

// snapshot is a state of the index; it never changes.
type snapshot struct {
	views []*view
	bytes int64
	live  int      // documents that are not archived
	memos sync.Map // the results of Lookup.Once by name

	summary func() *Summary
}

// view is a segment with the documents that are no longer valid.
type view struct {
	seg  *segment
	dead bitset // nil when all are valid
	live int
}

// New returns an empty index.
func New() *Index {
	ix := &Index{minPart: 10_000}
	ix.state.Store(newSnapshot(nil))
	return ix
}

// Put inserts documents or replaces those of the same ID. If a call has two with the same ID, the
// last one is kept. A document that is Gone is removed. Load all documents with one call: it is
// several times faster than one by one.
func (ix *Index) Put(docs ...Document) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.put(ix.change(), docs)
}

// Reset replaces all documents; searches see the old state or the new one.
func (ix *Index) Reset(docs ...Document) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.put(&change{ix: ix, own: make(map[*view]bool)}, docs)
}

func (ix *Index) put(c *change, docs []Document) {
	shared := make(interner)
	latest := make(map[string]int, len(docs))
	for i := range docs {
		latest[docs[i].ID] = i
	}
	var added []*Document
	for i := range docs {
		if latest[docs[i].ID] != i {
			continue
		}
		c.remove(docs[i].ID)
		if !docs[i].Gone {
			added = append(added, shared.keep(&docs[i]))
		}
	}
	c.addParts(added)
	c.commit()
}

// archived are the valid documents that are archived.
func (v *view) archived() bitset {
	if v.dead == nil || v.seg.archived == nil {
		return v.seg.archived
	}
	out := slices.Clone(v.seg.archived)
	for i := range out {
		out[i] &^= v.dead[i]
	}
	return out
}

// Delete removes documents; unknown ids are ignored.
func (ix *Index) Delete(ids ...string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	c := ix.change()
	for _, id := range ids {
		c.remove(id)
	}
	c.commit()
}

// Len is the number of documents held that are not archived.
func (ix *Index) Len() int { return ix.state.Load().live }

// Bytes estimates the memory that the index holds, texts of notes included.
func (ix *Index) Bytes() int64 { return ix.state.Load().bytes }

// change is an update in progress, under the lock of the index.
type change struct {
	ix    *Index
	views []*view
	own   map[*view]bool // created by this change, so not shared with readers
}

func (ix *Index) change() *change {
	return &change{ix: ix, views: slices.Clone(ix.state.Load().views), own: make(map[*view]bool)}
}

// remove marks the document dead in a copy of its view.
func (c *change) remove(id string) {
	i, doc, ok := find(c.views, id)
	if !ok {
		return
	}
	v := c.views[i]
	if !c.own[v] {
		fresh := &view{seg: v.seg, dead: slices.Clone(v.dead), live: v.live}
		if fresh.dead == nil {
			fresh.dead = newBitset(v.seg.len())
		}
		v, c.views[i], c.own[fresh] = fresh, fresh, true
	}
	v.dead.set(uint32(doc))
	v.live--
}

// find returns the view and the number of the current version of a document.
func find(views []*view, id string) (at, doc int, ok bool) {
	for i, v := range views {
		if doc, ok := v.seg.byID[id]; ok && !v.dead.has(int(doc)) {
			return i, int(doc), true
		}
	}
	return 0, 0, false
}

// add appends a segment of the documents.
func (c *change) add(docs []*Document) {
	if len(docs) == 0 {
		return
	}
	c.views = append(c.views, &view{seg: newSegment(docs), live: len(docs)})
}

// addParts appends the documents in segments that are built at the same time. There are
// fewer of them than would be merged at once.
func (c *change) addParts(docs []*Document) {
	if len(docs) == 0 {
		return
	}
	n := max(1, min(len(docs)/c.ix.minPart, mergeFan-1, runtime.GOMAXPROCS(0)))
	views := make([]*view, n)
	var group sync.WaitGroup
	for i := range views {
		part := docs[i*len(docs)/n : (i+1)*len(docs)/n]
		group.Go(func() { views[i] = &view{seg: newSegment(part), live: len(part)} })
	}
	group.Wait()
	c.views = append(c.views, views...)
}

// commit merges segments where needed and publishes the new snapshot to readers.
func (c *change) commit() {
	for c.merge() {
	}
	next := newSnapshot(c.views)
	for _, v := range c.views {
		next.bytes += v.seg.size
		next.live += v.live - v.archived().count()
	}
	c.ix.state.Store(next)
}
