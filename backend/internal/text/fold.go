package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns s for comparison, in stored keys and in searches: in lower case, with
// single spaces, with plain characters in place of compatibility forms, in NFC, without
// invisible characters. Latin, Greek and Cyrillic letters lose their accents. Marks of
// other scripts stay, since they are vowels or make another letter (कि is not क, バ is
// not ハ).
func Fold(s string) string {
	if !isASCII(s) {
		s = foldMarks(s)
	}
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

// Words returns the words of Fold(s): runs of letters, digits and marks.
func Words(s string) []string {
	return strings.FieldsFunc(Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
}

func foldMarks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	accents := false // the marks that follow are accents
	for _, r := range norm.NFKD.String(s) {
		switch {
		case Invisible(r):
		case !unicode.IsMark(r):
			r = unicode.ToLower(r)
			accents = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
			b.WriteString(spelledOut(r))
		case !accents:
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// spelledOut replaces letters that compatibility decomposition does not change.
func spelledOut(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'þ':
		return "th"
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'ħ':
		return "h"
	case 'ı':
		return "i"
	case 'ŧ':
		return "t"
	case 'ŋ':
		return "n"
	case 'ə':
		return "e"
	case 'ς':
		return "σ"
	case 'ى':
		return "ي"
	case 'ة':
		return "ه"
	case 'ـ': // tatweel only stretches a word
		return ""
	}
	return string(r)
}
