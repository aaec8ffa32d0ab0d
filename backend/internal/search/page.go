package search

import "slices"

// byRelevance tells whether the order is that of the tiers.
func (p *plan) byRelevance() bool {
	switch p.sort {
	case SortName, SortLastContact, SortRecent:
		return false
	}
	return true
}

// found is a hit before it is written out.
type found struct {
	part, doc, score int
}

func (r *run) at(f found) ranked { return r.parts[f.part].view.seg.docs[f.doc] }

// page gathers the best of all segments and writes out the asked part of them.
func (r *run) page(capped bool) Result {
	all := r.scratch.found[:0]
	for i := range r.parts {
		b := &r.parts[i].best
		b.prune()
		for _, key := range b.keys {
			score, doc := openKey(key)
			all = append(all, found{part: i, doc: doc, score: score})
		}
	}
	r.scratch.found = all
	all = r.slice(all)
	out := Result{Hits: make([]Hit, 0, len(all)), Total: r.total(), ByIdentifier: r.byIdentifier, TotalCapped: capped}
	names := make([]string, 0, len(all)*min(2, max(1, len(r.plan.tokens))))
	for _, f := range all {
		from := len(names)
		h, in := r.hit(f)
		names = in.appendNames(names)
		h.Matched = names[from:len(names):len(names)]
		out.Hits = append(out.Hits, h)
	}
	return out
}

// slice orders what was found and cuts out the page.
func (r *run) slice(all []found) []found {
	if len(r.parts) > 1 || !r.plan.byRelevance() {
		slices.SortFunc(all, r.compare)
	}
	from := min(r.plan.offset, len(all))
	return all[from:min(r.plan.window, len(all))]
}

func (r *run) compare(x, y found) int {
	if r.plan.byRelevance() && x.score != y.score {
		return y.score - x.score
	}
	if r.plan.byRelevance() && x.part == y.part {
		return x.doc - y.doc
	}
	a, b := r.at(x), r.at(y)
	switch r.plan.sort {
	case SortName:
		return compareName(a, b)
	case SortLastContact:
		if c := b.doc.LastInteractionAt.Compare(a.doc.LastInteractionAt); c != 0 {
			return c
		}
		return compareName(a, b)
	case SortRecent:
		if c := b.doc.CreatedAt.Compare(a.doc.CreatedAt); c != 0 {
			return c
		}
		return compareName(a, b)
	}
	return compareRank(a, b)
}

// hit writes out one hit but for the names of the fields that matched, which it
// returns as a set.
func (r *run) hit(f found) (Hit, fieldSet) {
	p := &r.parts[f.part]
	doc := p.view.seg.docs[f.doc].doc
	h := Hit{ID: doc.ID, Doc: doc, Score: float64(f.score) / topScore}
	var in fieldSet
	if r.byIdentifier {
		in.add(identifiedField(f.score))
	} else if p.domain != nil && p.domain[f.doc] != 0 {
		in.add(fieldDomain)
	} else if len(p.tables) > 0 {
		in = r.matchedIn(p, f.doc)
	}
	if in&longTexts != 0 {
		h.Snippet = r.snippet(p, f.doc)
	}
	return h, in
}

// matchedIn collects the field that counted for each token.
func (r *run) matchedIn(p *part, doc int) fieldSet {
	j := judge{tables: p.tables}
	limit, named, _ := j.limits(doc)
	var in fieldSet
	for i := range p.tables {
		in.add(fieldOf(p.tables[i].chosen(doc, limit, named)))
	}
	return in
}

// snippet is the text around the first token that was found in a long text.
func (r *run) snippet(p *part, d int) string {
	j := judge{tables: p.tables}
	limit, named, _ := j.limits(d)
	doc := p.view.seg.docs[d].doc
	for i := range p.tables {
		q := p.tables[i].chosen(d, limit, named)
		if s := snippetOf(doc.longText(fieldOf(q)), &r.plan.tokens[i], closenessOf(q)); s != "" {
			return s
		}
	}
	return ""
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

// fieldSet is a set of fields.
type fieldSet uint16

// longTexts are the fields that snippets are cut from.
const longTexts fieldSet = 1<<fieldBio | 1<<fieldMetHow | 1<<fieldNote | 1<<fieldInteraction

func (s *fieldSet) add(f field)     { *s |= 1 << f }
func (s fieldSet) has(f field) bool { return s&(1<<f) != 0 }

// appendNames appends the names of the fields in their public order.
func (s fieldSet) appendNames(to []string) []string {
	for _, f := range matchedOrder {
		if s.has(f) {
			to = append(to, fieldNames[f])
		}
	}
	return to
}
