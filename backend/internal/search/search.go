package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Search answers q from the state of the index at the moment of the call.
func (ix *Index) Search(q Query) Result {
	p := newPlan(&q)
	s, _ := ix.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer ix.scratch.Put(s)
	defer s.release()

	r := run{plan: &p, scratch: s}
	for _, v := range ix.state.Load().views {
		s.open(v, p.filter.excluded(v))
	}
	r.parts = s.parts
	return r.answer()
}

// run is one search over all segments.
type run struct {
	plan    *plan
	scratch *scratch
	parts   []part

	byIdentifier bool // the query is an address, a number or a URL that was found
}

// part is a search in one segment.
type part struct {
	view   *view
	out    bitset // not to be returned
	tables []table
	domain []quality // not 0 where the domain of an address is the query
	best   best
}

// answer runs the passes: each is dearer than the one before and is run only if
// the page is not full yet. What an earlier pass finds, later ones score alike.
func (r *run) answer() Result {
	switch {
	case r.plan.all:
		r.everything()
		return r.page(false)
	case r.identified():
		r.byIdentifier = true
		return r.page(false)
	case len(r.plan.tokens) == 0 && r.plan.handles.domain == "":
		return r.page(false) // nothing that could be a word
	case !r.plan.byRelevance():
		if r.match(reach{others: true}, false); r.total() == 0 {
			r.match(reach{others: true, edits: true}, false)
		}
		return r.page(false)
	}
	r.match(reach{others: len(r.plan.tokens) > 1}, true)
	if r.total() > r.plan.window {
		return r.page(true)
	}
	r.match(reach{others: true, edits: true}, false)
	return r.page(false)
}

func (r *run) total() int {
	n := 0
	for i := range r.parts {
		n += r.parts[i].best.total
	}
	return n
}

// everything finds all documents that are not excluded.
func (r *run) everything() {
	for i := range r.parts {
		p := &r.parts[i]
		p.best.reset(r.keep())
		for d := range p.view.seg.docs {
			if !p.out.has(d) {
				p.best.offer(0, d)
			}
		}
	}
}

// keep is how many hits of a segment can be on the page or before it.
func (r *run) keep() int {
	if r.plan.byRelevance() {
		return r.plan.window
	}
	return maxWindow
}

// match fills the tables of every segment and scores what is in all of them.
func (r *run) match(reach reach, strong bool) {
	r.scratch.rewind()
	for i := range r.parts {
		p := &r.parts[i]
		p.best.reset(r.keep())
		p.domain = nil
		if r.fill(p, reach) || p.domain != nil {
			r.scan(p, strong)
		}
	}
}

// fill enters the matches of every token; it reports false as soon as a token
// has none, for then no document has all.
func (r *run) fill(p *part, reach reach) bool {
	seg := p.view.seg
	if docs := seg.values.docs(valueDomain, r.plan.handles.domain); len(docs) > 0 {
		p.domain = r.scratch.take(seg.len())
		for _, d := range docs {
			p.domain[d] = qualityOf(exact, fieldDomain)
		}
	}
	p.tables = p.tables[:0]
	for i := range r.plan.tokens {
		t := table{name: r.scratch.take(seg.len()), other: r.scratch.take(seg.len())}
		m := matcher{words: &seg.words, token: &r.plan.tokens[i], reach: reach, table: &t}
		m.fill()
		p.tables = append(p.tables, t)
		if t.hits() == 0 {
			p.tables = p.tables[:0]
			return false
		}
	}
	return true
}

// scan offers the documents found by the rarest token, and those of the domain.
func (r *run) scan(p *part, strong bool) {
	j := judge{tables: p.tables, docs: p.view.seg.docs, nameKey: r.plan.nameKey, chunked: r.plan.chunked, strong: strong}
	lead := p.lead()
	for at := 0; at < len(j.docs); at += 8 {
		var found uint64
		for _, column := range lead {
			found |= binary.LittleEndian.Uint64(column[at:])
		}
		for found != 0 {
			lane := bits.TrailingZeros64(found) / 8
			found &^= 0xff << (8 * lane)
			if d := at + lane; !p.out.has(d) {
				p.consider(&j, d)
			}
		}
	}
}

func (p *part) consider(j *judge, d int) {
	if p.domain != nil && p.domain[d] != 0 {
		p.best.offer(scoreDomain, d)
		return
	}
	if j.known && j.last.ok && j.last.full == 0 && j.last.score <= p.best.floor && j.sameAsLast(d) {
		p.best.total++ // one more match like the last that is not among the best
		return
	}
	if score, ok := j.score(d); ok {
		p.best.offer(score, d)
	}
}

// lead returns the columns that together name every candidate: those of the
// rarest token, and the domain.
func (p *part) lead() [][]quality {
	columns := make([][]quality, 0, 3)
	if p.domain != nil {
		columns = append(columns, full(p.domain))
	}
	if len(p.tables) == 0 {
		return columns
	}
	t := slices.MinFunc(p.tables, func(a, b table) int { return a.hits() - b.hits() })
	if t.nameHits > 0 {
		columns = append(columns, full(t.name))
	}
	if t.otherHits > 0 {
		columns = append(columns, full(t.other))
	}
	return columns
}

// full extends a column to the eight bytes that are read at once.
func full(column []quality) []quality { return column[:cap(column)] }
