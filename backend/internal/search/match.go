package search

import "strings"

// reach says which matches are looked for.
type reach struct {
	others bool // in fields other than the name and the nickname
	edits  bool // misspelt
}

// table holds, for one token, the best match of each document: name in the name
// and nickname, other in the other fields; the counts say how many were entered.
type table struct {
	name, other         []quality
	nameHits, otherHits int
}

func (t *table) hits() int { return t.nameHits + t.otherHits }

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
		m.words.misspelt(m.token.folded, m.token.edits, func(term, edits int) {
			m.enter(term, oneEdit+closeness(edits-1))
		})
	}
}

// begins enters the terms that are or begin with the token.
func (m *matcher) begins() {
	for i := m.words.from(m.token.folded); i < m.words.len(); i++ {
		t := &m.words.terms[i]
		if !strings.HasPrefix(t.folded, m.token.folded) {
			return
		}
		m.enter(i, m.token.closenessTo(t))
	}
}

// alias enters another form of the given name, which must be there in full.
func (m *matcher) alias(name string) {
	for i := m.words.from(name); i < m.words.len() && m.words.terms[i].folded == name; i++ {
		m.words.each(i, func(k kind, docs []uint32) {
			if k == kind(fieldName) || k == kind(fieldNickname) {
				m.table.putName(qualityOf(nickExact, fieldNickname), docs)
			}
		})
	}
}

// enter puts the posts of one term into the table.
func (m *matcher) enter(term int, c closeness) {
	v := m.words
	for j := v.terms[term].lists; j < v.terms[term+1].lists; j++ {
		f, as := field(v.lists[j].kind&fieldMask), c
		if v.lists[j].kind&inner != 0 {
			as = innerCloseness(c)
		}
		docs := v.posts[v.lists[j].start:v.lists[j+1].start]
		switch {
		case !m.token.reaches(as, f):
		case f == fieldName:
			m.table.putName(qualityOf(as, f), docs)
		case f == fieldNickname:
			m.table.putName(qualityOf(as.asNickname(), f), docs)
		case m.reach.others:
			m.table.putOther(qualityOf(as, f), docs)
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
	t.nameHits += len(docs)
	raise(t.name, q, docs)
}

func (t *table) putOther(q quality, docs []uint32) {
	t.otherHits += len(docs)
	raise(t.other, q, docs)
}

// raise sets the quality of docs where it is better than what is there.
func raise(column []quality, q quality, docs []uint32) {
	for _, d := range docs {
		if column[d] < q {
			column[d] = q
		}
	}
}
