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
	domain bitset   // documents with an address at the domain that is the query
	best   best
}

// answer runs the passes. Each costs more than the one before and runs only if the
// page is not full yet. A later pass scores the hits of an earlier one the same.
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
		p.best = best{k: r.keep(), floor: -1}
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

// match fills the tables of every segment and scores the documents in all of them.
func (r *run) match(reach reach, strong bool) {
	for i := range r.parts {
		p := &r.parts[i]
		p.best = best{k: r.keep(), floor: -1}
		p.fill(r.plan, reach)
		j := judge{tables: p.tables, docs: p.view.seg.docs, nameKey: r.plan.nameKey, chunked: r.plan.chunked, strong: strong}
		for d := range p.candidates().all() {
			if !p.out.has(d) {
				p.consider(&j, d)
			}
		}
	}
}

// fill enters the matches of every token. As soon as a token has none it stops and
// leaves no table, because then no document has all tokens.
func (p *part) fill(plan *plan, reach reach) {
	seg := p.view.seg
	p.release()
	p.domain = nil
	if docs := seg.values[valueDomain][plan.handles.domain]; len(docs) > 0 {
		p.domain = newBitset(seg.len())
		p.domain.setAll(docs)
	}
	for i := range plan.tokens {
		m := matcher{words: &seg.words, token: &plan.tokens[i], reach: reach, table: newTable(seg.len())}
		m.fill()
		p.tables = append(p.tables, m.table)
		if m.table.hits == 0 {
			p.release()
			return
		}
	}
}

// release gives the tables back.
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
		p.best.offer(scoreDomain, d)
	} else if j.matchesLikeLast(d) && j.last.ok && j.last.full == 0 && j.last.score <= p.best.floor {
		p.best.total++
	} else if score, ok := j.score(d); ok {
		p.best.offer(score, d)
	}
}
