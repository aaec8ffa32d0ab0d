package index

import (
	"slices"
	"strings"
	"sync"
)

// reach says which matches are looked for.
type reach struct {
	others bool // in fields other than the name and the nickname
	edits  bool // misspelt
}

// match is how well a document matches a token: in the name and nickname, and in
// the other fields.
type match struct{ name, other quality }

// table holds the best match of each document for one token.
type table struct {
	best  []match // by document number
	found bitset  // documents with a match
	hits  int     // how many were entered, repetitions included
}

// tables are reused: without that, a search of 100,000 people takes two to three times
// as long.
var tables = sync.Pool{New: func() any { return new(table) }}

func newTable(docs int) *table {
	t := tables.Get().(*table)
	t.best = slices.Grow(t.best[:0], docs)[:docs]
	t.found = slices.Grow(t.found[:0], docs/64+1)[:docs/64+1]
	clear(t.best)
	clear(t.found)
	t.hits = 0
	return t
}

// matcher fills a table from a vocabulary.
type matcher struct {
	words *vocabulary
	token *token
	reach reach
	table *table
}

func (m *matcher) fill() {
	m.begins()
	for _, name := range m.token.aliases {
		m.alias(name)
	}
	if m.reach.edits && m.token.edits > 0 {
		for t, edits := range m.words.misspelt(m.token.folded, m.token.edits) {
			m.enter(t, oneEdit+closeness(edits-1))
		}
	}
}

// begins enters the terms that are or begin with the token.
func (m *matcher) begins() {
	for i := m.words.from(m.token.folded); i < len(m.words.terms); i++ {
		t := &m.words.terms[i]
		if !strings.HasPrefix(t.folded, m.token.folded) {
			return
		}
		m.enter(t, m.token.closenessTo(t))
	}
}

// alias enters another form of the given name, which must be there in full.
func (m *matcher) alias(name string) {
	for i := m.words.from(name); i < len(m.words.terms) && m.words.terms[i].folded == name; i++ {
		for _, l := range m.words.terms[i].lists {
			if l.kind == kind(fieldName) || l.kind == kind(fieldNickname) {
				m.table.putName(qualityOf(nickExact, fieldNickname), l.docs)
			}
		}
	}
}

// enter puts the documents of one term into the table.
func (m *matcher) enter(t *term, c closeness) {
	for _, l := range t.lists {
		f, as := field(l.kind&fieldMask), c
		if l.kind&inner != 0 {
			as = innerCloseness(c)
		}
		switch {
		case !m.token.reaches(as, f):
		case f == fieldName:
			m.table.putName(qualityOf(as, f), l.docs)
		case f == fieldNickname:
			m.table.putName(qualityOf(as.asNickname(), f), l.docs)
		case m.reach.others:
			m.table.putOther(qualityOf(as, f), l.docs)
		}
	}
}

// innerCloseness is the closeness of a match inside an unspaced word.
func innerCloseness(c closeness) closeness {
	switch c {
	case exact:
		return prefix
	case folded:
		return foldedPrefix
	}
	return c
}

func (t *table) putName(q quality, docs []uint32) {
	t.hits += len(docs)
	for _, d := range docs {
		t.found.set(d)
		t.best[d].name = max(t.best[d].name, q)
	}
}

func (t *table) putOther(q quality, docs []uint32) {
	t.hits += len(docs)
	for _, d := range docs {
		t.found.set(d)
		t.best[d].other = max(t.best[d].other, q)
	}
}
