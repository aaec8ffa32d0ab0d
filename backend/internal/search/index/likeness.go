package index

import (
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Misspelt reports whether two folded words are within the number of edits that a search
// allows: none in a word of up to three letters, one up to seven, two from eight.
func Misspelt(a, b string) bool {
	limit := min(editsFor(a, utf8.RuneCountInString(a)), editsFor(b, utf8.RuneCountInString(b)))
	return text.Distance([]rune(a), b, limit) <= limit
}
