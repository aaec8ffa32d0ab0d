package search

import (
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	minFuzzyRunes = 4  // shorter words of a query are taken as typed
	longRunes     = 8  // from here two edits are forgiven
	maxFuzzyRunes = 32 // longer words are taken as typed
)

// editsFor is how many edits are forgiven in a word of the query.
func editsFor(word string, runes int) int {
	switch {
	case runes < minFuzzyRunes || runes > maxFuzzyRunes || strings.ContainsAny(word, "0123456789"):
		return 0
	case runes < longRunes:
		return 1
	}
	return 2
}

// signature sums up a term: an edit changes at most one letter bit each way and
// the length by at most one, so most terms are rejected without being read.
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

// signatures lists the terms that a misspelt word can mean, the shortest first.
func (v *vocabulary) signatures() []signature {
	var out []signature
	for i := range v.len() {
		folded := v.terms[i].folded
		if len(folded) < minFuzzyRunes-1 || !v.tolerant(i) || strings.ContainsAny(folded, "0123456789") {
			continue
		}
		letters, runes := lettersOf(folded)
		if runes >= minFuzzyRunes-1 && runes <= maxFuzzyRunes+2 {
			out = append(out, signature{letters: letters, term: uint32(i), runes: uint8(runes)})
		}
	}
	slices.SortStableFunc(out, func(a, b signature) int { return int(a.runes) - int(b.runes) })
	return out
}

func (v *vocabulary) tolerant(i int) bool {
	found := false
	v.each(i, func(k kind, _ []uint32) {
		found = found || k&inner == 0 && field(k).tolerant()
	})
	return found
}

// misspelt calls do with every term that is 1 to limit edits away from word.
func (v *vocabulary) misspelt(word string, limit int, do func(term, edits int)) {
	var buf runeBuffer
	x := runesInto(&buf, word)
	letters, runes := lettersOf(word)
	first := sort.Search(len(v.near), func(i int) bool { return int(v.near[i].runes) >= runes-limit })
	for _, s := range v.near[first:] {
		if int(s.runes) > runes+limit {
			return
		}
		if bits.OnesCount32(letters&^s.letters) > limit || bits.OnesCount32(s.letters&^letters) > limit {
			continue
		}
		if d := editsBetween(x, v.terms[s.term].folded, limit); d > 0 && d <= limit {
			do(int(s.term), d)
		}
	}
}

// editDistance counts insertions, deletions, substitutions and transpositions
// of neighbours (optimal string alignment). Beyond limit it returns limit+1.
// Words longer than maxFuzzyRunes+2 are beyond any limit.
func editDistance(a, b string, limit int) int {
	var buf runeBuffer
	return editsBetween(runesInto(&buf, a), b, limit)
}

// editsBetween is editDistance for a word that is compared with many.
func editsBetween(x []rune, b string, limit int) int {
	var buf runeBuffer
	y := runesInto(&buf, b)
	if x == nil || y == nil || len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	var rows [3][maxFuzzyRunes + 4]uint8
	two, one, row := &rows[0], &rows[1], &rows[2]
	for j := range len(y) + 1 {
		one[j] = uint8(j)
	}
	beyond := uint8(limit + 1)
	for i := 1; i <= len(x); i++ {
		// Further from the diagonal than limit, a cell is beyond it.
		low, high := max(1, i-limit), min(len(y), i+limit)
		row[low-1], row[high+1] = beyond, beyond
		if low == 1 {
			row[0] = uint8(i)
		}
		least := row[low-1]
		for j := low; j <= high; j++ {
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+different(x[i-1], y[j-1]))
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= beyond {
			return limit + 1
		}
		two, one, row = one, row, two
	}
	return int(min(one[len(y)], beyond))
}

func different(a, b rune) uint8 {
	if a == b {
		return 0
	}
	return 1
}

// runeBuffer holds the letters of the longest words that are compared.
type runeBuffer [maxFuzzyRunes + 2]rune

// runesInto returns the runes of s in buf, or nil when they do not fit.
func runesInto(buf *runeBuffer, s string) []rune {
	if len(s) > len(buf) && utf8.RuneCountInString(s) > len(buf) {
		return nil
	}
	n := 0
	for _, r := range s {
		buf[n] = r
		n++
	}
	return buf[:n]
}
