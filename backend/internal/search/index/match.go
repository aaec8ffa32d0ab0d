package index

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
)

// match is how well a document matches a token: in the name and nickname, and in
// the other fields.
type match struct{ name, other quality }

// table holds the best match of each document for one token.
type table struct {
	best  []match // by document number
	found bitset  // documents with a match
	hits  int     // how many were entered, repetitions included
}

// tables pools tables: without the pool, a search of 100,000 people takes two to three times as
// long.
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
	words  *vocabulary
	sounds *vocabulary
	latin  func() *vocabulary // of segment
	docs   []ranked
	token  *token
	edits  bool // look for misspelt words
	table  *table
}

func (m *matcher) fill() {
	m.begins()
	for _, name := range m.token.aliases {
		m.nameIs(name, qualityOf(nickExact, fieldNickname), qualityOf(nickExact, fieldNickname))
	}
	for _, name := range m.token.joined {
		m.nameIs(name, qualityOf(folded, fieldName), qualityOf(nickExact, fieldNickname))
	}
	m.splits()
	m.otherScripts()
	if m.edits && m.token.edits > 0 {
		for t, edits := range m.words.misspelt(m.token.folded, m.token.edits) {
			m.enter(t, oneEdit+closeness(edits-1))
		}
	}
}

// begins enters the terms that are equal to the token or start with it.
func (m *matcher) begins() {
	for t := range m.words.beginning(m.token.folded) {
		m.enter(t, m.token.closenessTo(t))
	}
}

// nameIs enters the people with a whole word in the name or the nickname.
func (m *matcher) nameIs(word string, name, nickname quality) {
	for t := range m.words.equal(word) {
		for _, l := range t.lists {
			switch l.kind {
			case kind(fieldName):
				m.table.putName(name, l.docs)
			case kind(fieldNickname):
				m.table.putName(nickname, l.docs)
			}
		}
	}
}

// splits enters the people in whose name the token is written as several words: aj of A. J. McCoy,
// jeanluc of Jean-Luc.
func (m *matcher) splits() {
	if m.token.unspaced || m.token.runes > maxFuzzyRunes {
		return
	}
	m.split(m.token.folded, nil, nil)
}

// split cuts the rest of the token after the words before it, which docs have in their names.
func (m *matcher) split(rest string, before []string, docs []uint32) {
	for at := range rest {
		if at == 0 {
			continue
		}
		first := m.named(rest[:at], before, docs)
		if len(first) == 0 {
			continue
		}
		words := append(slices.Clone(before), rest[:at])
		run := " " + strings.Join(append(slices.Clone(words), rest[at:]), " ") + " "
		for _, d := range m.named(rest[at:], words, first) {
			if strings.Contains(" "+m.docs[d].key+" ", run) {
				m.table.putName(qualityOf(folded, fieldName), []uint32{d})
			}
		}
		if len(words) < names.MaxRun-1 {
			m.split(rest[at:], words, first)
		}
	}
}

// named returns the people with a word in the name: all, or those of docs when words precede it.
func (m *matcher) named(word string, before []string, docs []uint32) []uint32 {
	var out []uint32
	for t := range m.words.equal(word) {
		for _, l := range t.lists {
			if l.kind == kind(fieldName) {
				out = append(out, l.docs...)
			}
		}
	}
	slices.Sort(out)
	if len(before) == 0 {
		return out
	}
	return slices.DeleteFunc(out, func(d uint32) bool { _, ok := slices.BinarySearch(docs, d); return !ok })
}

// enter adds the documents of one term to the table.
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
		default:
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

// field is where a word was found. Among matches of equal closeness, the earlier field adds more to
// the score.
type field uint8

const (
	fieldName field = iota
	fieldNickname
	fieldTitle
	fieldOrganization
	fieldHeadline
	fieldLocation
	fieldTag
	fieldGroup
	fieldEmail
	fieldDomain
	fieldURL
	fieldBio
	fieldMetHow
	fieldNote
	fieldInteraction
	fieldPhone
	fields
)

// matchedOrder is the order in which fields are listed in [Hit.Matched].
var matchedOrder = [fields]field{
	fieldName, fieldNickname, fieldEmail, fieldPhone, fieldURL, fieldDomain,
	fieldOrganization, fieldTitle, fieldHeadline, fieldLocation, fieldTag, fieldGroup,
	fieldBio, fieldMetHow, fieldNote, fieldInteraction,
}

var fieldNames = [fields]string{
	fieldName: "name", fieldNickname: "nickname", fieldTitle: "title",
	fieldOrganization: "organization", fieldHeadline: "headline", fieldLocation: "location",
	fieldTag: "tag", fieldGroup: "group", fieldEmail: "email", fieldDomain: "domain",
	fieldURL: "url", fieldBio: "bio", fieldMetHow: "met_how", fieldNote: "note", fieldInteraction: "interaction", fieldPhone: "phone",
}

// tolerant reports whether misspelt words are looked for in f.
func (f field) tolerant() bool { return f <= fieldDomain }

// wordy fields hold so many words that short prefixes are not useful.
func (f field) wordy() bool { return f >= fieldEmail }

// minWordyPrefix is the shortest prefix that counts in wordy fields.
const minWordyPrefix = 3

// kind is a field, with inner set for pieces of unspaced words that are not the word itself: those
// match like a prefix at best.
type kind uint8

const (
	inner     kind = 1 << 4
	fieldMask kind = inner - 1
)

// closeness says how a word of the query was found; smaller is better.
type closeness uint8

const (
	exact closeness = iota
	prefix
	folded       // equal without accents
	foldedPrefix // prefix without accents
	oneEdit
	twoEdits
	respelt    // equal in another script
	nearSound  // misspelt in another script, or the beginning of a name there
	nickExact  // a nickname, or another form of the given name
	nickPrefix // the beginning of a nickname
	nickEdit   // a misspelt nickname
	unmatched  = closeness(15)
)

// asNickname is the closeness of a match in the nickname field.
func (c closeness) asNickname() closeness {
	switch c {
	case exact, folded:
		return nickExact
	case prefix, foldedPrefix:
		return nickPrefix
	}
	return nickEdit
}

// quality packs closeness and field into a number: a better match is greater, and 0 means no match.
type quality = uint8

func qualityOf(c closeness, f field) quality { return ^(uint8(c)<<4 | uint8(f)) }

func closenessOf(q quality) closeness { return closeness(^q >> 4) }

func fieldOf(q quality) field { return field(^q & uint8(fieldMask)) }

// score returns how many thousandths a match adds to the score.
func score(q quality) int {
	base := [...]int{
		exact: 1000, prefix: 850, folded: 750, foldedPrefix: 650, oneEdit: 450, twoEdits: 350, respelt: 340, nearSound: 310,
		nickExact: 300, nickPrefix: 250, nickEdit: 200, unmatched: 0,
	}
	return base[closenessOf(q)] - 6*int(fieldOf(q))
}

// band is the range of scores, of 1000, of one tier.
type band struct{ low, high int }

var bands = [...]band{
	exact:        {850, 950},
	prefix:       {750, 840},
	folded:       {650, 740},
	foldedPrefix: {650, 740},
	oneEdit:      {500, 640},
	twoEdits:     {500, 640},
	respelt:      {500, 640},
	nearSound:    {500, 640},
	nickExact:    {400, 490},
	nickPrefix:   {400, 490},
	nickEdit:     {400, 490},
	unmatched:    {100, 390}, // no word in the name
}

// Scores, in thousandths, of the tiers in which all hits have the same score.
const (
	scoreEmail     = 1000
	scorePhone     = 998
	scoreURL       = 996
	scorePhoneTail = 994 // equal but for the country code
	scoreDomain    = 990
	scoreFullName  = 980
)

// judge scores the documents of one segment from the tables of all tokens.
type judge struct {
	tables  []*table
	docs    []ranked
	nameKey string // of the query
	chunked bool   // see plan

	lastMatch match // of the only token
	last      grade // given for lastMatch
}

// grade is the result of a document in the tables.
type grade struct {
	ok    bool // the document is a hit
	score int  // in thousandths
	full  int  // the score if the query is the whole name; 0 when it cannot be
}

// limits returns the tier of document d: the closeness of the word that matches worst, and whether
// a word matches in the name. A document with a match in the name is in a tier of names, even if
// that match is less close than all matches in other fields.
func (j *judge) limits(d int) (limit closeness, named, ok bool) {
	worst, best := exact, unmatched
	for i := range j.tables {
		m := j.tables[i].best[d]
		name, other := closenessOf(m.name), closenessOf(m.other)
		if name == unmatched && other == unmatched {
			return 0, false, false
		}
		worst = max(worst, min(name, other))
		best = min(best, name)
	}
	if best == unmatched {
		return worst, false, true
	}
	return max(worst, best), true, true
}

// chosen returns the match of one token that counts: that in the name if it is within the limit,
// else that in the other fields.
func (t *table) chosen(d int, limit closeness, named bool) quality {
	if m := t.best[d]; !named || closenessOf(m.name) > limit {
		return m.other
	}
	return t.best[d].name
}

// score returns the score of document d in thousandths, or false if it does not match.
func (j *judge) score(d int) (int, bool) {
	g := j.gradeOf(d)
	if g.full > 0 && j.docs[d].key == j.nameKey {
		return g.full, true
	}
	return g.score, g.ok
}

// gradeOf returns the grade of document d. For a single token it caches the last one, because most
// neighbours have the same match.
func (j *judge) gradeOf(d int) grade {
	if !j.matchesLikeLast(d) {
		j.lastMatch, j.last = j.tables[0].best[d], j.assess(d)
	}
	return j.last
}

func (j *judge) matchesLikeLast(d int) bool {
	return len(j.tables) == 1 && j.tables[0].best[d] == j.lastMatch
}

func (j *judge) assess(d int) grade {
	limit, named, ok := j.limits(d)
	if !ok {
		return grade{}
	}
	sum := 0
	for i := range j.tables {
		sum += score(j.tables[i].chosen(d, limit, named))
	}
	b := bands[unmatched]
	if named {
		b = bands[limit]
	}
	g := grade{ok: true, score: b.low + (b.high-b.low)*sum/(1000*len(j.tables))}
	if named {
		g.full = j.fullScore(limit)
	}
	return g
}

// fullScore is the score of a document if the query is its whole name. A prefix can be a
// whole name only where the query was cut into pieces.
func (j *judge) fullScore(limit closeness) int {
	switch {
	case limit == exact, limit == prefix && j.chunked:
		return scoreFullName
	case limit == folded, limit == foldedPrefix && j.chunked:
		return bands[folded].high
	}
	return 0
}

const topScore = 1000

// scored is a document number with its score.
type scored struct{ score, doc int }

// best keeps the k best of the documents that are offered in ascending order; of equal
// scores the first stay.
type best struct {
	hits  []scored
	k     int
	least int // lower scores are no match
	floor int // scores up to here are not among the k best
	top   int // the best score
	total int
	sum   uint64 // sum of the checksums of all matches
}

func (b *best) offer(score, doc int, sum uint64) {
	if score < b.least {
		return
	}
	b.total++
	b.sum ^= sum
	b.top = max(b.top, score)
	if score <= b.floor {
		return
	}
	b.hits = append(b.hits, scored{score, doc})
	if len(b.hits) >= 2*b.k+16 {
		b.prune()
		b.floor = b.hits[b.k-1].score
	}
}

// prune sorts the hits and drops all but the k best.
func (b *best) prune() {
	slices.SortFunc(b.hits, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.doc, y.doc))
	})
	b.hits = b.hits[:min(len(b.hits), b.k)]
}

// Nearest returns up to limit people with a word in a name or nickname that is a few more edits away from a word of the text than
// Search tolerates, the fewest edits first.
func (ix *Index) Nearest(text string, archived bool, limit int) []Hit {
	type near struct {
		ranked

		edits int
	}
	var found []near
	words := ParseWords(text)
	for _, v := range ix.state.Load().views {
		out := (&filter{archived: archived}).excluded(v)
		for i := range words.tokens {
			token := &words.tokens[i]
			if token.unspaced || token.runes > maxFuzzyRunes {
				continue
			}
			for t, edits := range v.seg.words.misspelt(token.folded, token.runes/3) {
				if !t.isName() {
					continue
				}
				for _, l := range t.lists {
					for _, d := range l.docs[:min(len(l.docs), maxNearDocs)] {
						if f := field(l.kind & fieldMask); f <= fieldNickname && !out.has(int(d)) {
							found = append(found, near{v.seg.docs[d], edits})
						}
					}
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(a.edits-b.edits, compareRank(a.ranked, b.ranked)) })
	var hits []Hit
	for _, n := range found {
		if len(hits) < limit && !slices.ContainsFunc(hits, func(h Hit) bool { return h.Doc == n.doc }) {
			hits = append(hits, Hit{ID: n.doc.ID, Doc: n.doc})
		}
	}
	return hits
}

// maxNearDocs is how many of the people with a near name are read.
const maxNearDocs = 20

// maxNameShown is how many characters of a name a reason shows.
const maxNameShown = 80

// Named lists people with their ids, for a reason.
func Named(hits []Hit) string {
	out := make([]string, len(hits))
	for i, hit := range hits {
		out[i] = text.QuoteUpTo(hit.Doc.Name, maxNameShown) + " (" + hit.ID + ")"
	}
	return strings.Join(out, ", ")
}

// Words are the words of a query, for the texts of notes and interactions.
type Words struct{ tokens []token }

// ParseWords parses the words of a query, as for [Query.Text]: words such as "at", "in" and "of" are ignored if
// there are others.
func ParseWords(query string) Words {
	var p plan
	p.readWords(strings.TrimSpace(firstRunes(query, maxQueryRunes)))
	for i := range p.tokens {
		if t := &p.tokens[i]; !t.unspaced {
			t.forms = text.Forms(t.folded)
		}
	}
	return Words{tokens: p.tokens}
}

// Len is how many words there are, at most 16.
func (w Words) Len() int { return len(w.tokens) }

// Typed is a word as it is in the query.
func (w Words) Typed(i int) string { return w.tokens[i].typed }

// Terms returns the terms of [EachTerm] that a word matches: some terms, and all that begin with prefix unless it is empty.
func (w Words) Terms(i int) (terms []string, prefix string) {
	t := &w.tokens[i]
	if t.unspaced || t.runes >= minWordyPrefix {
		prefix = t.folded
	}
	return t.forms, prefix
}

// How much a term counts, and the limit for all terms that one word matches: a long text that repeats one word
// must not rank above a short one with all words.
const (
	wholeHit = 2
	// PartHit is how much a term counts that only begins with the word.
	PartHit = 1
	// MostHits is the largest number of hits of one word.
	MostHits = 6
)

// Weight returns how many hits of a word it is when a text has a term: 0 if the word does not match it.
func (w Words) Weight(i int, term string) int { return w.tokens[i].weight(term) }

func (t *token) weight(term string) int {
	switch {
	case t.unspaced && strings.HasPrefix(term, t.folded):
		return PartHit
	case t.unspaced:
		return 0
	case slices.Contains(t.forms, term):
		return wholeHit
	case t.runes >= minWordyPrefix && strings.HasPrefix(term, t.folded):
		return PartHit
	}
	return 0
}

// EachTerm calls do with each term by which a text is found, in the order of the text: its words, folded, the parts of
// words with an apostrophe or an ampersand, and, of scripts that do not separate words, the pieces of up to four letters
// from every letter. A term has no line breaks and no tabs.
func EachTerm(within string, do func(term string)) {
	var scan scanner
	scan.reset(within)
	for scan.next() {
		scan.eachTerm(do)
	}
}

// eachTerm calls do with the terms of the current word.
func (s *scanner) eachTerm(do func(term string)) {
	word := foldWord(string(s.word))
	if s.unspaced {
		chunks([]byte(word), func(piece []byte, _ bool) { do(string(piece)) })
		return
	}
	do(word)
	s.parts(func(part []byte) { do(foldWord(string(part))) })
}

// Snippet returns the text around the first hit, at most 160 characters on one
// line; around its beginning when there is none.
func (w Words) Snippet(within string) string {
	var scan scanner
	scan.reset(within)
	for scan.next() {
		found := false
		scan.eachTerm(func(term string) {
			found = found || slices.ContainsFunc(w.tokens, func(t token) bool { return t.weight(term) > 0 })
		})
		if found {
			return cut(scan.text, scan.start)
		}
	}
	return cut(scan.text, 0)
}
