package index

import (
	"slices"
)

// Search answers q from the state of the index at the time of the call.
func (ix *Index) Search(q Query) Result {
	p := newPlan(&q)
	r := run{plan: &p}
	for _, v := range ix.state.Load().views {
		r.parts = append(r.parts, part{view: v, out: p.filter.excluded(v)})
	}
	defer func() {
		for i := range r.parts {
			r.parts[i].release()
		}
	}()
	return r.answer()
}

// run is one search over all segments.
type run struct {
	plan  *plan
	parts []part

	byIdentifier bool // the query is an address, a number or a URL that was found
}

// part is a search in one segment.
type part struct {
	view   *view
	out    bitset   // excluded documents
	tables []*table // one per token; none when a token has no match
	domain bitset   // documents with an address at the domain, if the query is one
	best   best
}

// answer runs one or two passes. Misspelt words cost most, so answer looks for them only if exact
// words are not enough. The second pass gives the hits of the first the same scores.
func (r *run) answer() Result {
	switch {
	case r.plan.all:
		return r.everyone()
	case r.identified():
		r.byIdentifier = true
		return r.page()
	case len(r.plan.tokens) == 0 && r.plan.handles.domain == "":
		return r.page() // the query has no words
	}
	if r.match(false); r.plan.guesses || !r.enough() {
		r.match(true)
	}
	return r.page()
}

// enough reports whether the exact matches are good enough to leave out misspelt ones.
func (r *run) enough() bool {
	if !r.plan.byRelevance() {
		return r.total() > 0
	}
	for i := range r.parts {
		if r.parts[i].best.top >= strong {
			return true
		}
	}
	return false
}

// strong is the score of a word that, exactly as spelt, is a whole value of a person: the
// name, title, organisation, place, tag or group.
var strong = bands[unmatched].low + (bands[unmatched].high-bands[unmatched].low)*score(qualityOf(exact, fieldGroup))/1000

func (r *run) total() int {
	n := 0
	for i := range r.parts {
		n += r.parts[i].best.total
	}
	return n
}

// keep returns how many hits of a segment can be on the page or before it.
func (r *run) keep() int {
	if r.plan.byRelevance() {
		return r.plan.window
	}
	return maxWindow
}

// match fills the tables of every segment, with misspelt words when edits is set, and
// scores the documents in all of them.
func (r *run) match(edits bool) {
	for i := range r.parts {
		p := &r.parts[i]
		p.best = best{k: r.keep(), floor: r.plan.minScore - 1, least: r.plan.minScore}
		p.fill(r.plan, edits)
		j := judge{tables: p.tables, docs: p.view.seg.docs, nameKey: r.plan.nameKey, chunked: r.plan.chunked}
		for d := range p.candidates().all() {
			if !p.out.has(d) {
				p.consider(&j, d)
			}
		}
	}
}

// fill enters the matches of every token. If a token has no match it stops and releases all tables,
// because no document has all tokens.
func (p *part) fill(plan *plan, edits bool) {
	seg := p.view.seg
	p.release()
	p.domain = nil
	if docs := seg.values[valueDomain][plan.handles.domain]; len(docs) > 0 {
		p.domain = newBitset(seg.len())
		p.domain.setAll(docs)
	}
	for i := range plan.tokens {
		m := matcher{words: &seg.words, docs: seg.docs, token: &plan.tokens[i], edits: edits, table: newTable(seg.len())}
		m.fill()
		p.tables = append(p.tables, m.table)
		if m.table.hits == 0 {
			p.release()
			return
		}
	}
}

// release returns the tables to the pool.
func (p *part) release() {
	for _, t := range p.tables {
		tables.Put(t)
	}
	p.tables = nil
}

// candidates are the documents found by the rarest token, and those of the domain.
func (p *part) candidates() bitset {
	if len(p.tables) == 0 {
		return p.domain
	}
	rarest := slices.MinFunc(p.tables, func(a, b *table) int { return a.hits - b.hits })
	return rarest.found.or(p.domain)
}

// consider scores document d and offers it to the best.
func (p *part) consider(j *judge, d int) {
	if p.domain.has(d) {
		p.best.offer(scoreDomain, d, j.docs[d].sum)
	} else if score, ok := j.score(d); ok {
		p.best.offer(score, d, j.docs[d].sum)
	}
}
