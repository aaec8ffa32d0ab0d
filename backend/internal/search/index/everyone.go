package index

import "slices"

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
	seg := p.view.seg
	in := newBitset(seg.len())
	for i := range in {
		in[i] = ^uint64(0)
		if p.out != nil {
			in[i] &^= p.out[i]
		}
		if left := seg.len() - 64*i; left < 64 {
			in[i] &= 1<<left - 1 // there are no more documents
		}
	}
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
