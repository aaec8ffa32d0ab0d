// Package names compares names of people. Compatible decides whether two records
// with the same address can be one person; Parse ignores punctuation and spacing.
package names

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Name is a name in the forms that are compared.
type Name struct {
	// Words are the folded words, the given name first: "Lopez, Ana" is ana lopez.
	// Apostrophes are removed, hyphens stay: oconnor, anne-marie.
	Words []string
	// Key is the letters and digits alone: "Maya O'Connor" and "Maya OConnor" have
	// the same one. Empty when the name has none.
	Key string
}

// Parse parses a name in any usual order and spelling.
func Parse(name string) Name {
	folded := text.Fold(strings.Map(withoutApostrophe, name))
	if last, first, ok := strings.Cut(folded, ","); ok {
		folded = first + " " + last
	}
	n := Name{Words: strings.FieldsFunc(folded, func(r rune) bool { return !isNameRune(r) && r != '-' })}
	n.Words = slices.DeleteFunc(n.Words, func(w string) bool { return strings.Trim(w, "-") == "" })
	n.Key = strings.ReplaceAll(strings.Join(n.Words, ""), "-", "")
	return n
}

func withoutApostrophe(r rune) rune {
	switch r {
	case '\'', '`', '´', '‘', '’', 'ʼ', 'ʻ', '＇':
		return -1
	case '‐', '‑', '‒', '–', '—', '−', '－': // hyphens and characters typed in their place
		return '-'
	}
	return r
}

func isNameRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// Names are the names of a person.
type Names struct{ Full, Nickname string }

// Compatible reports whether two people can be the same by their names. The names are
// equal except for accents, punctuation, spacing or the order of words; or each word of
// the shorter name is a word of the longer one, a nickname of it, or its initial; or a
// name is empty. "A. Stone", "Ada" and "Stone, Ada M." are compatible with "Ada Stone";
// "Ben Stone" is not. A nickname counts as one more word.
func Compatible(a, b Names) bool {
	if fullCompatible(a.Full, b.Full) {
		return true
	}
	return a.Nickname != "" && fullCompatible(a.Nickname+" "+a.Full, b.Full) ||
		b.Nickname != "" && fullCompatible(a.Full, b.Nickname+" "+b.Full)
}

func fullCompatible(a, b string) bool {
	a, _ = generation(a)
	b, _ = generation(b)
	x, y := Parse(a), Parse(b)
	if x.Key == "" || y.Key == "" || x.Key == y.Key {
		return true
	}
	_, _, _, ok := match(x, y)
	return ok
}

// maxWords limits the words that are compared.
const maxWords = 12

// parts returns the words, with hyphenated words split.
func (n Name) parts() []string {
	var out []string
	for _, w := range n.Words {
		out = append(out, strings.FieldsFunc(w, func(r rune) bool { return r == '-' })...)
	}
	return out[:min(len(out), maxWords)]
}

// match reports whether each word of the shorter name matches words of the longer one, with
// no word matched twice. It returns the words of both, and which words of the longer one are
// matched. Equal words are matched first, so that an initial does not take their place.
func match(x, y Name) (short, long []string, taken []bool, ok bool) {
	short, long = x.parts(), y.parts()
	if len(short) > len(long) {
		short, long = long, short
	}
	taken = make([]bool, len(long))
	var rest []string
	for _, word := range short {
		if !take(long, taken, func(run []string) bool { return strings.Join(run, "") == word }) {
			rest = append(rest, word)
		}
	}
	for _, word := range rest {
		if !take(long, taken, func(run []string) bool { return abbreviates(word, run) }) {
			return short, long, taken, false
		}
	}
	return short, long, taken, true
}

// MaxRun limits how many words may be written as one: Vanderberg is van der Berg.
const MaxRun = 3

// take marks the first run of unmarked words that meets the condition.
func take(words []string, taken []bool, meets func(run []string) bool) bool {
	for from := range words {
		for to := from + 1; to <= min(from+MaxRun, len(words)) && !taken[to-1]; to++ {
			if meets(words[from:to]) {
				for i := from; i < to; i++ {
					taken[i] = true
				}
				return true
			}
		}
	}
	return false
}

// abbreviates reports whether a word is a short form of words of a name: one is the
// initial or a nickname of the other; or it is jdoe of John Doe, as in addresses; or, in
// a script without spaces, one is the beginning or the end of the other.
func abbreviates(word string, run []string) bool {
	if len(run) > 1 {
		return word == initial(run[0])+strings.Join(run[1:], "")
	}
	other := run[0]
	if word == initial(other) || other == initial(word) || SameGiven(word, other) {
		return true
	}
	return isUnspaced(word) && isUnspaced(other) && (partOf(word, other) || partOf(other, word))
}

func initial(word string) string {
	_, size := utf8.DecodeRuneInString(word)
	return word[:size]
}

func isUnspaced(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func partOf(part, whole string) bool {
	return strings.HasPrefix(whole, part) || strings.HasSuffix(whole, part)
}
