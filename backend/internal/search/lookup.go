package search

import (
	"maps"
	"slices"
)

// Lookup finds documents by their id among those that a query's filters admit, in
// the state of the index at the moment it was made. It may be used by one goroutine.
type Lookup struct {
	views []*view
	out   []bitset
}

// Lookup returns one for the filters of q; its text is not looked at.
func (ix *Index) Lookup(q Query) *Lookup {
	filter := newFilter(&q)
	l := &Lookup{views: ix.state.Load().views}
	for _, v := range l.views {
		l.out = append(l.out, filter.excluded(v))
	}
	return l
}

// Find returns the document, or false when it is not there or not admitted.
func (l *Lookup) Find(id string) (*Document, bool) {
	at, doc, ok := find(l.views, id)
	if !ok || l.out[at].has(doc) {
		return nil, false
	}
	return l.views[at].seg.docs[doc].doc, true
}

// NameScore is the score from which on the whole query is an identifier, the domain
// of an address, or somebody's name, case aside.
const NameScore = float64(scoreFullName) / topScore

// Names returns the different values that a list of the documents holds, sorted. It
// reads every document.
func (ix *Index) Names(of func(*Document) []string) []string {
	names := map[string]bool{}
	for _, v := range ix.state.Load().views {
		for i, d := range v.seg.docs {
			if v.dead.has(i) {
				continue
			}
			for _, name := range of(d.doc) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
