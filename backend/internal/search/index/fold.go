package index

import (
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

// foldWord folds one lower-case word. The result of a non-empty word is never
// empty.
func foldWord(word string) string {
	if isASCII(word) {
		return word
	}
	if folded := text.Fold(word); folded != "" {
		return folded
	}
	return word
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
