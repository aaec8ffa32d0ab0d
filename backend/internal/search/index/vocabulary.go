package index

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// vocabulary holds the words of a segment.
type vocabulary struct {
	terms []term // sorted by their folded form
	near  []signature
}

// term is a word with one list of documents for each kind of place it occurs in.
type term struct {
	folded, typed string
	lists         []list
}

type list struct {
	kind kind
	docs []uint32 // ascending
}

// newVocabulary sorts the terms and keeps the slice.
func newVocabulary(terms []term) vocabulary {
	slices.SortFunc(terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.folded, b.folded), cmp.Compare(a.typed, b.typed))
	})
	return vocabulary{terms: terms, near: signatures(terms)}
}

// from returns the first term whose folded form is not below word.
func (v *vocabulary) from(word string) int {
	return sort.Search(len(v.terms), func(i int) bool { return v.terms[i].folded >= word })
}

// beginning iterates over the terms whose folded form begins with word.
func (v *vocabulary) beginning(word string) iter.Seq[*term] {
	return func(yield func(*term) bool) {
		for i := v.from(word); i < len(v.terms) && strings.HasPrefix(v.terms[i].folded, word); i++ {
			if !yield(&v.terms[i]) {
				return
			}
		}
	}
}

// equal iterates over the terms whose folded form is word.
func (v *vocabulary) equal(word string) iter.Seq[*term] {
	return func(yield func(*term) bool) {
		for i := v.from(word); i < len(v.terms) && v.terms[i].folded == word; i++ {
			if !yield(&v.terms[i]) {
				return
			}
		}
	}
}

// Estimates of the memory, in bytes, of a document number, a list of them, a term
// without its text, and a string without its text.
const (
	numberBytes = 4
	listBytes   = 40
	termBytes   = 72
	stringBytes = 16
)

func (v *vocabulary) bytes() int64 {
	n := 0
	for i := range v.terms {
		t := &v.terms[i]
		n += termBytes + len(t.typed)
		if t.folded != t.typed {
			n += len(t.folded)
		}
		for _, l := range t.lists {
			n += listBytes + numberBytes*len(l.docs)
		}
	}
	return int64(n)
}

const (
	minFuzzyRunes = 4  // shorter words must match as typed
	longRunes     = 8  // from this length two edits are allowed
	maxFuzzyRunes = 32 // longer words must match as typed
)

// editsFor returns how many edits are allowed in a word of the query.
func editsFor(word string, runes int) int {
	switch {
	case runes < minFuzzyRunes || runes > maxFuzzyRunes || strings.ContainsAny(word, "0123456789"):
		return 0
	case runes < longRunes:
		return 1
	}
	return 2
}

// signature has the letters and the length of a term. An edit sets at most one letter bit, clears
// at most one, and changes the length by at most one, so most terms are rejected without being
// read.
type signature struct {
	letters uint32
	term    uint32
	runes   uint8
}

func lettersOf(word string) (letters uint32, runes int) {
	for _, r := range word {
		letters |= 1 << (uint32(r) & 31)
		runes++
	}
	return letters, runes
}

// signatures are those of the terms that a misspelt word can match, the shortest first.
func signatures(terms []term) []signature {
	var out []signature
	for i := range terms {
		folded := terms[i].folded
		if !terms[i].tolerant() || strings.ContainsAny(folded, "0123456789") {
			continue
		}
		letters, runes := lettersOf(folded)
		if runes >= minFuzzyRunes-1 && runes <= maxFuzzyRunes+2 {
			out = append(out, signature{letters: letters, term: uint32(i), runes: uint8(runes)})
		}
	}
	slices.SortStableFunc(out, func(a, b signature) int { return cmp.Compare(a.runes, b.runes) })
	return out
}

// tolerant reports whether the term is in a field where misspelt words are looked for.
func (t *term) tolerant() bool {
	return slices.ContainsFunc(t.lists, func(l list) bool { return l.kind&inner == 0 && field(l.kind).tolerant() })
}

// misspelt iterates over the terms that are 1 to limit edits away from word, with the number of
// edits. Signatures reject most terms: a search of 100,000 distinct names takes 4 ms of processor
// time instead of 26 (the aim is 15).
func (v *vocabulary) misspelt(word string, limit int) iter.Seq2[*term, int] {
	letters, runes := lettersOf(word)
	x := []rune(word)
	return func(yield func(*term, int) bool) {
		first := sort.Search(len(v.near), func(i int) bool { return int(v.near[i].runes) >= runes-limit })
		for _, s := range v.near[first:] {
			if int(s.runes) > runes+limit {
				return
			}
			if bits.OnesCount32(letters&^s.letters) > limit || bits.OnesCount32(s.letters&^letters) > limit {
				continue
			}
			t := &v.terms[s.term]
			if d := text.Distance(x, t.folded, limit); d > 0 && d <= limit && !yield(t, d) {
				return
			}
		}
	}
}
