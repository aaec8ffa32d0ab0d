package search

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Words are the words of a query, for texts that are in no index.
type Words struct{ tokens []token }

// ParseWords reads the words of a query, as [Query.Text] is read: "at", "in", "of"
// and the like do not count beside others.
func ParseWords(text string) Words {
	var p plan
	p.readWords(strings.TrimSpace(firstRunes(text, maxQueryRunes)))
	return Words{tokens: p.tokens}
}

// How much a hit counts, and how much all hits of one word count at most: a long
// text that repeats one word is not better than a short one about all of them.
const (
	wholeHit = 2
	partHit  = 1
	mostHits = 6
)

// Hits tells how often text holds the words, case and accents aside: whole words
// and, from three letters, beginnings of words. It is 0 unless all are there.
func (w Words) Hits(text string) int {
	if len(w.tokens) == 0 || w.absentFrom(text) {
		return 0
	}
	counts := make([]int, len(w.tokens))
	var scan scanner
	scan.reset(text)
	for scan.next() {
		word := foldBytes(scan.word)
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

// absentFrom tells of plain English at a glance that a word cannot be in it, which
// is so of most texts: reading it word by word takes ten times as long.
func (w Words) absentFrom(text string) bool {
	plain := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			return false
		case 'A' <= c && c <= 'Z':
			plain = append(plain, c+'a'-'A')
		case !isJoiner(rune(c)):
			plain = append(plain, c)
		}
	}
	for i := range w.tokens {
		if !bytes.Contains(plain, []byte(w.tokens[i].folded)) {
			return true
		}
	}
	return false
}

// hit is what the current word of scan, folded, counts for the token.
func (t *token) hit(scan *scanner, word []byte) int {
	if t.unspaced {
		return partHit * strings.Count(string(word), t.folded)
	}
	best := t.worthIn(word)
	if len(scan.joints) > 0 {
		scan.parts(func(part []byte) { best = max(best, t.worthIn(foldBytes(part))) })
	}
	return best
}

func (t *token) worthIn(word []byte) int {
	n := len(t.folded)
	switch {
	case len(word) < n || string(word[:n]) != t.folded:
		return 0
	case len(word) == n:
		return wholeHit
	case t.runes >= minWordyPrefix:
		return partHit
	}
	return 0
}

// foldBytes is foldWord without a copy of the words that it leaves as they are.
func foldBytes(word []byte) []byte {
	for _, c := range word {
		if c >= utf8.RuneSelf {
			return []byte(foldWord(string(word)))
		}
	}
	return word
}

// Snippet returns the text around the first hit, at most 160 characters on one
// line; "" when there is none.
func (w Words) Snippet(text string) string {
	var scan scanner
	scan.reset(text)
	for scan.next() {
		word := foldBytes(scan.word)
		for i := range w.tokens {
			if w.tokens[i].hit(&scan, word) > 0 {
				return cut(scan.text, scan.start)
			}
		}
	}
	return ""
}
