package index

import (
	"maps"
	"slices"
	"sync"
)

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
