package index

import (
	"slices"
	"strings"
	"sync"

	"github.com/kith-crm/kith/backend/internal/people/names"
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
	words *vocabulary
	docs  []ranked
	token *token
	edits bool // look for misspelt words
	table *table
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
		exact: 1000, prefix: 850, folded: 750, foldedPrefix: 650, oneEdit: 450, twoEdits: 350,
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
