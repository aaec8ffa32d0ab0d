package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Search answers q from the state of the index at the time of the call.
func (ix *Index) Search(q Query) Result {
	r := ix.run(&q)
	defer r.release()
	if r.plan.all {
		return r.everyone()
	}
	r.find()
	return r.page()
}

// run prepares a search in the present state. The caller must release it.
func (ix *Index) run(q *Query) *run {
	p := newPlan(q)
	r := &run{plan: &p}
	for _, v := range ix.state.Load().views {
		r.parts = append(r.parts, part{view: v, out: p.filter.excluded(v)})
	}
	return r
}

func (r *run) release() {
	for i := range r.parts {
		r.parts[i].release()
	}
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

// find matches the words of the query in one or two passes. Misspelt words cost most, so it looks for them only if exact
// words are not enough. The second pass gives the hits of the first the same scores.
func (r *run) find() {
	r.byIdentifier = r.identified()
	if r.byIdentifier || len(r.plan.tokens) == 0 && r.plan.handles.domain == "" { // without the latter, the query has no words
		return
	}
	if r.match(false); r.plan.guesses || !r.enough() {
		r.match(true)
	}
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
		m := matcher{words: &seg.words, sounds: &seg.sounds, latin: seg.latin, docs: seg.docs, token: &plan.tokens[i], edits: edits, table: newTable(seg.len())}
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

// sortable is a document with its value for the order of a query.
type sortable struct {
	ranked

	value float64
	text  string // compared if the values are equal
	known bool   // whether it has a value
}

// sortable returns a document with its value for the order of the query. Smaller values come first.
func (p *plan) sortable(r ranked) sortable {
	s, d := sortable{ranked: r}, r.doc
	switch p.sort {
	case SortFamilyName:
		s.text = text.Fold(cmp.Or(d.FamilyName, names.Family(d.Name)))
		s.known = s.text != ""
	case SortLastContact:
		s.value, s.known = -float64(d.LastInteractionAt.UnixMicro()), !d.LastInteractionAt.IsZero()
	case SortCreated:
		s.value, s.known = -float64(d.CreatedAt.UnixMicro()), !d.CreatedAt.IsZero()
	case SortStrength:
		s.value, s.known = -d.Ties, d.Ties > 0
	case SortNextDue:
		due, known := d.Cadence().NextDue(p.zone)
		s.value, s.known = float64(due.Unix()), known
	case SortField:
		s.value, s.text, s.known = p.sortValue(d)
	}
	return s
}

// compare is the order of two documents by the query's sort. Documents without a value come last in
// both directions; equals are in the order of their names.
func (p *plan) compare(a, b *sortable) int {
	switch {
	case p.byRelevance():
		return compareRank(a.ranked, b.ranked)
	case p.sort == SortName && p.reverse:
		return -compareName(a.ranked, b.ranked)
	case a.known != b.known && a.known:
		return -1
	case a.known != b.known:
		return 1
	case a.value != b.value && p.reverse:
		return cmp.Compare(b.value, a.value)
	case a.value != b.value:
		return cmp.Compare(a.value, b.value)
	case a.text != b.text && p.reverse:
		return strings.Compare(b.text, a.text)
	case a.text != b.text:
		return strings.Compare(a.text, b.text)
	default:
		return compareName(a.ranked, b.ranked)
	}
}

// order is the documents of a segment in one order.
type order struct {
	sort, zone string // zone is the time zone or the custom field that the order depends on
	reverse    bool
	docs       []uint32
}

// ordered returns the documents in the order of the query. Orders are computed on first use; one of
// each sort and direction is kept.
func (s *segment) ordered(p *plan) []uint32 {
	wanted := order{sort: p.sort, reverse: p.reverse}
	if p.byRelevance() {
		wanted = order{}
	}
	switch p.sort {
	case SortNextDue:
		wanted.zone = p.zone.String()
	case SortField:
		wanted.zone = p.sortField
	}
	s.ordering.Lock()
	defer s.ordering.Unlock()
	for i, o := range s.orders {
		if o.sort == wanted.sort && o.reverse == wanted.reverse {
			if o.zone != wanted.zone {
				s.orders[i].zone, s.orders[i].docs = wanted.zone, s.sorted(p)
			}
			return s.orders[i].docs
		}
	}
	wanted.docs = s.sorted(p)
	s.orders = append(s.orders, wanted)
	return wanted.docs
}

func (s *segment) sorted(p *plan) []uint32 {
	out := make([]uint32, len(s.docs))
	for i := range out {
		out[i] = uint32(i)
	}
	if p.byRelevance() {
		return out // the order of the numbers
	}
	docs := make([]sortable, len(s.docs))
	for i := range docs {
		docs[i] = p.sortable(s.docs[i])
	}
	slices.SortFunc(out, func(a, b uint32) int { return p.compare(&docs[a], &docs[b]) })
	return out
}

// byRelevance reports whether the order is that of the tiers.
func (p *plan) byRelevance() bool {
	switch p.sort {
	case SortName, SortFamilyName, SortLastContact, SortCreated, SortStrength, SortNextDue, SortField:
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
		texts := []string{d.Bio}
		for _, v := range d.Fields {
			texts = append(texts, v.text())
		}
		return texts
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

const (
	snippetRunes  = 160
	snippetBefore = 50 // the most of it before the match
	ellipsis      = "…"
)

// snippetOf returns the text around the first word of texts that the token
// matched with the given closeness, or "" if none does.
func snippetOf(texts []string, t *token, c closeness) string {
	var scan scanner
	for _, text := range texts {
		scan.reset(text)
		for scan.next() {
			if t.isIn(&scan, c) {
				return cut(scan.text, scan.start)
			}
		}
	}
	return ""
}

// isIn reports whether the token matches the current word of scan, or a part of it.
func (t *token) isIn(scan *scanner, c closeness) bool {
	word := foldWord(string(scan.word))
	if t.unspaced {
		return strings.Contains(word, t.folded)
	}
	if t.fits(word, c) {
		return true
	}
	fits := false
	scan.parts(func(part []byte) { fits = fits || t.fits(foldWord(string(part)), c) })
	return fits
}

func (t *token) fits(word string, c closeness) bool {
	if c == exact || c == folded {
		return word == t.folded
	}
	return strings.HasPrefix(word, t.folded)
}

// cut returns up to snippetRunes of text around offset at, on one line.
func cut(text string, at int) string {
	from, lead := at, ""
	for n := 0; from > 0 && n < snippetBefore; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	if from > 0 {
		from, lead = wordStart(text, from, at), ellipsis
	}
	var b strings.Builder
	b.WriteString(lead)
	n, space := utf8.RuneCountInString(lead), false
	for _, r := range text[from:] {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = n > utf8.RuneCountInString(lead)
			continue
		}
		if n+2 >= snippetRunes { // room for a space and the ellipsis
			return strings.TrimRight(b.String(), " ") + ellipsis
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// wordStart moves from forward to the beginning of a word, but not beyond at.
func wordStart(text string, from, at int) int {
	if i := strings.IndexFunc(text[from:at], unicode.IsSpace); i >= 0 {
		return from + i
	}
	return from
}
