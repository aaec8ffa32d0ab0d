package index

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Grouped is how many people a query found, and by a facet.
type Grouped struct {
	// Total is as in Result, and Without how many of them have no value of the facet.
	Total, Without int
	// Counts are the values that the most people have, as many as the query's limit; equal ones in alphabetical order. Months are in
	// their own order.
	Counts []Count
	// More reports that there are further values.
	More bool
}

// Group counts the people whom q finds, on all pages, by a facet. It scans them once.
func (ix *Index) Group(q Query, by Facet) Grouped {
	var out Grouped
	counts := map[string]int{}
	out.Total = ix.each(q, func(d *Document) {
		n := 0
		d.values(by, func(value string) { counts[value]++; n++ })
		if n == 0 {
			out.Without++
		}
	})
	compare := func(a, b string) int {
		return cmp.Or(strings.Compare(text.Fold(a), text.Fold(b)), strings.Compare(a, b))
	}
	limit := max(q.Limit, 1)
	if by == BirthMonths {
		for month := range 12 {
			name := strconv.Itoa(month + 1)
			if n := counts[name]; n > 0 {
				out.Counts = append(out.Counts, Count{name, n})
			}
		}
	} else {
		out.Counts = most(counts, limit+1, compare)
	}
	if out.More = by != BirthMonths && len(out.Counts) > limit; out.More {
		out.Counts = out.Counts[:limit]
	}
	return out
}

// Total returns how many people q finds, on all pages.
func (ix *Index) Total(q Query) int {
	q.Offset, q.Limit = 0, 1
	return ix.Search(q).Total
}

// each calls found for everyone whom q finds, in no particular order, and returns how many they are.
func (ix *Index) each(q Query, found func(*Document)) int {
	r := ix.run(&q)
	defer r.release()
	if r.plan.all && r.plan.minScore <= 0 {
		n := 0
		for i := range r.parts {
			p := &r.parts[i]
			for d := range p.in().all() {
				found(p.view.seg.docs[d].doc)
				n++
			}
		}
		return n
	}
	r.plan.window = maxWindow // keep all
	r.find()
	for i := range r.parts {
		p := &r.parts[i]
		for _, h := range p.best.hits {
			found(p.view.seg.docs[h.doc].doc)
		}
	}
	return r.total()
}
