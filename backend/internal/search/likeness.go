package search

import (
	"slices"
	"unicode/utf8"
)

// SameGivenName tells whether one folded given name is an everyday form of the
// other: maggie of margaret.
func SameGivenName(a, b string) bool {
	return slices.Contains(nicknames[a], b) || slices.Contains(nicknames[b], a)
}

// Misspelt tells whether two folded words are as few edits apart as a search
// forgives: none in a short word, one in a longer one, two in a long one.
func Misspelt(a, b string) bool {
	limit := min(editsFor(a, utf8.RuneCountInString(a)), editsFor(b, utf8.RuneCountInString(b)))
	return editDistance(a, b, limit) <= limit
}
