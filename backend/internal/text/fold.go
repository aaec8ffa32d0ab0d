package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns s for comparison, in stored keys and in searches alike: lower case,
// white space as single spaces, compatibility forms as plain ones, NFC. Letters
// with accents lose them if they are Latin, Greek or Cyrillic. Marks of all other
// scripts stay: there they are vowels or make another letter (कि is not क, バ is
// not ハ). Invisible characters go.
func Fold(s string) string {
	if !isASCII(s) {
		s = foldMarks(s)
	}
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

// Words returns the words of s as Fold has them: runs of letters, digits and marks.
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

// spelledOut replaces the letters that compatibility decomposition leaves alone.
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
