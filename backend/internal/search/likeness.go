package search

import "unicode/utf8"

// Misspelt tells whether two folded words are as few edits apart as a search
// forgives: none in a short word, one in a longer one, two in a long one.
func Misspelt(a, b string) bool {
	limit := min(editsFor(a, utf8.RuneCountInString(a)), editsFor(b, utf8.RuneCountInString(b)))
	return editDistance([]rune(a), b, limit) <= limit
}
