package index

import (
	"maps"
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

// everyone finds all documents that are not excluded, for a query without words. It reads each
// segment in the order of the query, and no further than the page.
func (r *run) everyone() Result {
	if r.plan.minScore > 0 { // without words the score is 0
		return r.result(nil)
	}
	rest := make([]*inOrder, len(r.parts))
	for i := range r.parts {
		p := &r.parts[i]
		p.best.total, p.best.sum = p.admitted()
		rest[i] = &inOrder{part: p, plan: r.plan, number: i, docs: p.view.seg.ordered(r.plan)}
		rest[i].advance()
	}
	var page []found
	for n := range min(r.plan.window, r.total()) {
		next := slices.MinFunc(rest, (*inOrder).compare)
		if n >= r.plan.offset {
			page = append(page, found{part: next.number, doc: next.doc})
		}
		next.advance()
	}
	return r.result(page)
}

// admitted returns the number of documents that are not excluded, and their checksum. It reads the
// excluded documents or the others, whichever are fewer.
func (p *part) admitted() (n int, sum uint64) {
	seg, in := p.view.seg, p.in()
	n = in.count()
	if n <= seg.len()/2 {
		for d := range in.all() {
			sum ^= seg.docs[d].sum
		}
		return n, sum
	}
	sum = seg.sum
	for i := range in {
		in[i] = ^in[i]
	}
	for d := range in.all() {
		if d == seg.len() {
			break
		}
		sum ^= seg.docs[d].sum
	}
	return n, sum
}

// in returns the documents that are not excluded.
func (p *part) in() bitset {
	in := newBitset(p.view.seg.len())
	for i := range in {
		in[i] = ^uint64(0)
		if p.out != nil {
			in[i] &^= p.out[i]
		}
		if left := p.view.seg.len() - 64*i; left < 64 {
			in[i] &= 1<<left - 1 // there are no more documents
		}
	}
	return in
}

// inOrder is the rest of a segment in the order of a query.
type inOrder struct {
	part   *part
	plan   *plan
	number int      // of the part
	docs   []uint32 // after doc

	doc   int
	head  sortable // of doc
	ended bool
}

// advance moves to the next document that is not excluded.
func (o *inOrder) advance() {
	for len(o.docs) > 0 {
		o.doc, o.docs = int(o.docs[0]), o.docs[1:]
		if !o.part.out.has(o.doc) {
			o.head = o.plan.sortable(o.part.view.seg.docs[o.doc])
			return
		}
	}
	o.ended = true
}

func (o *inOrder) compare(other *inOrder) int {
	switch {
	case o.ended && other.ended:
		return 0
	case o.ended:
		return 1
	case other.ended:
		return -1
	default:
		return o.plan.compare(&o.head, &other.head)
	}
}

// Lookup finds documents by id among those that pass a query's filters, in the state of
// the index when the Lookup was made. It is not safe for concurrent use.
type Lookup struct {
	state *snapshot
	views []*view
	out   []bitset
}

// Lookup returns a Lookup for the filters of q. It ignores the text of q.
func (ix *Index) Lookup(q Query) *Lookup {
	filter := newFilter(&q)
	state := ix.state.Load()
	l := &Lookup{state: state, views: state.views}
	for _, v := range l.views {
		l.out = append(l.out, filter.excluded(v))
	}
	return l
}

// Find returns the document, or false when it is absent or filtered out.
func (l *Lookup) Find(id string) (*Document, bool) {
	at, doc, ok := find(l.views, id)
	if !ok || l.out[at].has(doc) {
		return nil, false
	}
	return l.views[at].seg.docs[doc].doc, true
}

// Once returns the result of compute, which runs once for each name and state of the index. compute
// must depend on nothing but a Lookup with the same filters, and its result must not be changed.
func Once[T any](l *Lookup, name string, compute func() T) T {
	once, _ := l.state.memos.LoadOrStore(name, sync.OnceValue(compute))
	return once.(func() T)() //nolint:forcetypeassert // a name has one type
}

// NameScore is the lowest score of a hit whose identifier, domain of an address or name
// is the whole query, ignoring case.
const NameScore = float64(scoreFullName) / topScore

// NamedScore is the lowest score of a hit that has all words of the query as whole words, at least
// one of them in the name; MisspeltNameScore that of a hit whose words are beginnings or misspelt.
var (
	NamedScore        = float64(bands[exact].low) / topScore
	MisspeltNameScore = float64(bands[oneEdit].low) / topScore
)

// Names returns the distinct values of a list of the documents, sorted. It reads every
// document.
func (ix *Index) Names(of func(*Document) []string) []string {
	names := map[string]bool{}
	for _, v := range ix.state.Load().views {
		for i, d := range v.seg.docs {
			if v.dead.has(i) || v.seg.archived.has(i) {
				continue
			}
			for _, name := range of(d.doc) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// identified looks up the whole query as an e-mail address, a phone number or a URL. If it finds
// documents, they are the whole answer, because the query identifies them.
func (r *run) identified() bool {
	h := &r.plan.handles
	if h.email == "" && h.phone == "" && h.url == "" {
		return false
	}
	for i := range r.parts {
		p := &r.parts[i]
		p.best = best{k: maxWindow, floor: -1, least: r.plan.minScore}
		seen := map[uint32]bool{}
		values := p.view.seg.values
		p.identify(values[valueEmail][h.email], seen, func(*Document) int { return scoreEmail })
		if h.phone != "" {
			p.identify(values[valuePhone][phoneKey(h.phone)], seen, h.phoneScore)
		}
		p.identify(values[valueURL][h.url], seen, func(*Document) int { return scoreURL })
	}
	return r.total() > 0
}

// identify offers each of docs once, with its score; 0 is not a match.
func (p *part) identify(docs []uint32, seen map[uint32]bool, score func(*Document) int) {
	for _, d := range docs {
		if seen[d] || p.out.has(int(d)) {
			continue
		}
		if s := score(p.view.seg.docs[d].doc); s > 0 {
			seen[d] = true
			p.best.offer(s, int(d), p.view.seg.docs[d].sum)
		}
	}
}

// phoneScore scores an equal number highest, then one that differs only in the country code, then
// one with the same last digits.
func (h *handles) phoneScore(d *Document) int {
	score := 0
	for _, raw := range d.Phones {
		switch digits := normalizePhone(raw); {
		case digits == h.phone:
			return scorePhone
		case samePhone(digits, h.phone):
			score = scorePhoneTail
		}
	}
	return score
}

// identifiedField returns the field in which a hit with that score was found.
func identifiedField(score int) field {
	switch score {
	case scoreEmail:
		return fieldEmail
	case scorePhone, scorePhoneTail:
		return fieldPhone
	}
	return fieldURL
}
