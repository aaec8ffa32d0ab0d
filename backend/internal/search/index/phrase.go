package index

import (
	"slices"
	"strings"
)

// Words are the words of a query, for texts that are not in an index.
type Words struct{ tokens []token }

// ParseWords reads the words of a query like [Query.Text]: "at", "in", "of" and the
// like do not count when there are other words.
func ParseWords(text string) Words {
	var p plan
	p.readWords(strings.TrimSpace(firstRunes(text, maxQueryRunes)))
	return Words{tokens: p.tokens}
}

// How much a hit counts, and the limit for all hits of one word: a long text that repeats one word
// must not rank above a short one with all words.
const (
	wholeHit = 2
	partHit  = 1
	mostHits = 6
)

// Hits counts how often the words are in text, ignoring case and accents: as whole words
// and, from three letters, as beginnings of words. It is 0 unless all words are found.
func (w Words) Hits(text string) int {
	if len(w.tokens) == 0 || w.absentFrom(text) {
		return 0
	}
	counts := make([]int, len(w.tokens))
	var scan scanner
	scan.reset(text)
	for scan.next() {
		word := foldWord(string(scan.word))
		for i := range w.tokens {
			counts[i] = min(counts[i]+w.tokens[i].hit(&scan, word), mostHits)
		}
	}
	sum := 0
	for _, n := range counts {
		if n == 0 {
			return 0
		}
		sum += n
	}
	return sum
}

var withoutJoiners = strings.NewReplacer("'", "", "&", "", "`", "")

// absentFrom reports that an ASCII text lacks one of the words. Most notes do, and reading them
// word by word takes ten times as long.
func (w Words) absentFrom(text string) bool {
	if !isASCII(text) {
		return false
	}
	plain := strings.ToLower(withoutJoiners.Replace(text))
	return slices.ContainsFunc(w.tokens, func(t token) bool { return !strings.Contains(plain, t.folded) })
}

// hit returns how much the current word of scan, folded, counts for the token.
func (t *token) hit(scan *scanner, word string) int {
	if t.unspaced {
		return partHit * strings.Count(word, t.folded)
	}
	best := t.worthIn(word)
	scan.parts(func(part []byte) { best = max(best, t.worthIn(foldWord(string(part)))) })
	return best
}

func (t *token) worthIn(word string) int {
	switch {
	case word == t.folded:
		return wholeHit
	case t.runes >= minWordyPrefix && strings.HasPrefix(word, t.folded):
		return partHit
	}
	return 0
}

// Snippet returns the text around the first hit, at most 160 characters on one
// line; "" when there is none.
func (w Words) Snippet(text string) string {
	var scan scanner
	scan.reset(text)
	for scan.next() {
		word := foldWord(string(scan.word))
		for i := range w.tokens {
			if w.tokens[i].hit(&scan, word) > 0 {
				return cut(scan.text, scan.start)
			}
		}
	}
	return ""
}
