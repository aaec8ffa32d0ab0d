package index

import (
	"maps"
	"slices"
)

// Lookup finds documents by id among those that pass a query's filters, in the state of
// the index when the Lookup was made. It is not safe for concurrent use.
type Lookup struct {
	views []*view
	out   []bitset
}

// Lookup returns a Lookup for the filters of q. It ignores the text of q.
func (ix *Index) Lookup(q Query) *Lookup {
	filter := newFilter(&q)
	l := &Lookup{views: ix.state.Load().views}
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

// NameScore is the lowest score of a hit whose identifier, domain of an address or name
// is the whole query, ignoring case.
const NameScore = float64(scoreFullName) / topScore

// NamedScore is the lowest score of a hit of which all words of the query are words, one
// of them of the name.
var NamedScore = float64(bands[exact].low) / topScore

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
