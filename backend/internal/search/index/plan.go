package index

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/people/names"
)

// plan is a query prepared for segments.
type plan struct {
	all            bool // no text: every document
	tokens         []token
	nameKey        string // all words, as in ranked.key
	chunked        bool   // an unspaced word was cut into several tokens
	handles        handles
	filter         filter
	sort           string
	reverse        bool
	minScore       int  // in thousandths
	guesses        bool // return misspelt matches beside strong ones
	zone           *time.Location
	offset, window int // skip offset, stop at window
}

// token is one word of the query.
type token struct {
	typed, folded string
	runes         int
	unspaced      bool
	edits         int      // how many edits are allowed
	aliases       []string // other forms of a given name, folded
	joined        []string // the word joined with its neighbours, folded: mccoy of mc and of coy
}

// stopWords are left out of a query that has other words.
var stopWords = map[string]bool{
	"and": true, "at": true, "for": true, "from": true, "in": true, "is": true,
	"of": true, "the": true, "who": true, "with": true,
}

func newPlan(q *Query) plan {
	p := plan{filter: newFilter(q), sort: q.Sort, reverse: q.Reverse, zone: civil.Zone(q.Zone)}
	if q.MinScore != nil {
		p.guesses, p.minScore = true, int(math.Ceil(*q.MinScore*topScore))
	}
	p.offset = min(max(q.Offset, 0), maxWindow)
	limit := q.Limit
	if limit < 1 {
		limit = defaultLimit
	}
	p.window = p.offset + min(limit, maxWindow)

	text := strings.TrimSpace(firstRunes(q.Text, maxQueryRunes))
	if text == "" {
		p.all = true
		return p
	}
	p.handles = parseHandles(text)
	p.readWords(p.handles.words(text))
	return p
}

// readWords splits the text into tokens and the key of a full name.
func (p *plan) readWords(text string) {
	var scan scanner
	var key []byte
	scan.reset(text)
	for scan.next() {
		if len(key) > 0 {
			key = append(key, ' ')
		}
		key = append(key, scan.word...)
		p.addWord(scan.word, scan.unspaced)
	}
	p.nameKey = foldWord(string(key))
	p.joinWords(strings.Fields(p.nameKey))
	p.dropStopWords()
	p.tokens = p.tokens[:min(len(p.tokens), maxQueryTokens)]
}

// joinWords gives each token the words that it makes with its neighbours.
func (p *plan) joinWords(words []string) {
	for from := range words[:min(len(words), maxQueryTokens)] {
		for to := from + 2; to <= min(from+names.MaxRun, len(words)); to++ {
			run := words[from:to]
			for i := range p.tokens {
				if t := &p.tokens[i]; slices.Contains(run, t.folded) {
					t.joined = append(t.joined, strings.Join(run, ""))
				}
			}
		}
	}
}

func (p *plan) addWord(word []byte, unspaced bool) {
	if !unspaced {
		p.addToken(string(word), false)
		return
	}
	for from := 0; from < len(word); {
		to := chunkEnd(word, from)
		p.chunked = p.chunked || to < len(word)
		p.addToken(string(word[from:to]), true)
		from = to
	}
}

func (p *plan) addToken(typed string, unspaced bool) {
	for i := range p.tokens {
		if p.tokens[i].typed == typed {
			return
		}
	}
	t := token{typed: typed, folded: foldWord(typed), unspaced: unspaced}
	t.runes = utf8.RuneCountInString(t.folded)
	t.aliases = names.Nicknames(t.folded)
	if !unspaced {
		t.edits = editsFor(t.folded, t.runes)
	}
	p.tokens = append(p.tokens, t)
}

func (p *plan) dropStopWords() {
	kept := make([]token, 0, len(p.tokens))
	for _, t := range p.tokens {
		if !stopWords[t.typed] {
			kept = append(kept, t)
		}
	}
	if len(kept) > 0 {
		p.tokens = kept
	}
}

// closenessTo returns how a term that begins with the token matches it.
func (t *token) closenessTo(m *term) closeness {
	switch {
	case len(m.folded) == len(t.folded):
		if m.typed == t.typed {
			return exact
		}
		return folded
	case strings.HasPrefix(m.typed, t.typed):
		return prefix
	}
	return foldedPrefix
}

// reaches reports whether a match of closeness c counts in field f. Fields with many words require
// more letters and the exact spelling.
func (t *token) reaches(c closeness, f field) bool {
	switch c {
	case prefix, foldedPrefix:
		return !f.wordy() || t.unspaced || t.runes >= minWordyPrefix
	case oneEdit, twoEdits:
		return f.tolerant()
	}
	return true
}

func firstRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
