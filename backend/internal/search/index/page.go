package index

import (
	"slices"
)

// byRelevance reports whether the order is that of the tiers.
func (p *plan) byRelevance() bool {
	switch p.sort {
	case SortName, SortLastContact, SortCreated, SortStrength, SortNextDue:
		return false
	}
	return true
}

// found is a hit before it is converted to a Hit.
type found struct {
	part, doc, score int
}

func (r *run) at(f found) ranked { return r.parts[f.part].view.seg.docs[f.doc] }

// page collects the best hits of all segments and converts the requested part of them.
func (r *run) page() Result {
	var all []found
	for i := range r.parts {
		b := &r.parts[i].best
		b.prune()
		for _, h := range b.hits {
			all = append(all, found{part: i, doc: h.doc, score: h.score})
		}
	}
	return r.result(r.slice(all))
}

// result converts the hits of the page.
func (r *run) result(page []found) Result {
	out := Result{Hits: make([]Hit, 0, len(page)), Total: r.total(), ByIdentifier: r.byIdentifier}
	for i := range r.parts {
		out.Sum ^= r.parts[i].best.sum
	}
	for _, f := range page {
		out.Hits = append(out.Hits, r.hit(f))
	}
	return out
}

// slice sorts the hits and returns the page.
func (r *run) slice(all []found) []found {
	if len(r.parts) > 1 || !r.plan.byRelevance() {
		all = r.first(all)
	}
	from := min(r.plan.offset, len(all))
	return all[from:min(r.plan.window, len(all))]
}

// fewHits is how many hits are found without sorting all of them.
const fewHits = 500

// first returns, in order, at least as many of the first hits as the page needs.
func (r *run) first(all []found) []found {
	n := r.plan.window
	if n < 1 || n > fewHits || n >= len(all) {
		slices.SortFunc(all, r.compare)
		return all
	}
	first := make([]found, 0, n+1)
	for _, f := range all {
		if len(first) == n && r.compare(f, first[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(first, f, r.compare)
		first = slices.Insert(first, at, f)
		first = first[:min(len(first), n)]
	}
	return first
}

func (r *run) compare(x, y found) int {
	switch {
	case r.plan.byRelevance() && x.score != y.score:
		return y.score - x.score
	case r.plan.byRelevance() && x.part == y.part:
		return x.doc - y.doc
	}
	a, b := r.plan.sortable(r.at(x)), r.plan.sortable(r.at(y))
	return r.plan.compare(&a, &b)
}

// hit converts one hit.
func (r *run) hit(f found) Hit {
	p := &r.parts[f.part]
	doc := p.view.seg.docs[f.doc].doc
	h := Hit{ID: doc.ID, Doc: doc, Score: float64(f.score) / topScore}
	switch {
	case r.byIdentifier:
		h.Matched = []string{fieldNames[identifiedField(f.score)]}
	case p.domain.has(f.doc):
		h.Matched = []string{fieldNames[fieldDomain]}
	case len(p.tables) > 0:
		h.Matched, h.Snippet = r.explain(p, f.doc)
	}
	return h
}

// explain returns the names of the fields that counted for the tokens, and the snippet around the
// first token that was found in a long text.
func (r *run) explain(p *part, d int) (matched []string, snippet string) {
	j := judge{tables: p.tables}
	limit, named, _ := j.limits(d)
	var in [fields]bool
	for i := range p.tables {
		q := p.tables[i].chosen(d, limit, named)
		in[fieldOf(q)] = true
		if snippet == "" {
			texts := p.view.seg.docs[d].doc.longText(fieldOf(q))
			snippet = snippetOf(texts, &r.plan.tokens[i], closenessOf(q))
		}
	}
	for _, f := range matchedOrder {
		if in[f] {
			matched = append(matched, fieldNames[f])
		}
	}
	return matched, snippet
}

// longText returns the texts of a field that snippets are cut from, nil for any
// other field.
func (d *Document) longText(f field) []string {
	switch f {
	case fieldBio:
		return []string{d.Bio}
	case fieldMetHow:
		return []string{d.MetHow}
	case fieldNote:
		return d.Notes
	case fieldInteraction:
		return d.Interactions
	default:
		return nil
	}
}
