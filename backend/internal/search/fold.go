package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldWord takes the accents off one lower-case word: marks on Latin, Greek,
// Cyrillic, Arabic and Hebrew letters go, letters that do not decompose are
// spelled out (ß is ss, ø is o, ł is l). Marks of other scripts are letters of
// their own and stay. The result of a non-empty word is never empty.
func foldWord(word string) string {
	if isASCII(word) {
		return word
	}
	var b strings.Builder
	strip := false
	for _, r := range norm.NFKD.String(word) {
		if unicode.Is(unicode.Mn, r) {
			if !strip {
				b.WriteRune(r)
			}
			continue
		}
		r = unicode.ToLower(r)
		strip = dropsMarks(r)
		b.WriteString(spelledOut(r))
	}
	if b.Len() == 0 {
		return word
	}
	return norm.NFC.String(b.String())
}

// foldText folds a value that is compared as a whole, spaces trimmed.
func foldText(text string) string {
	return foldWord(strings.ToLower(strings.TrimSpace(text)))
}

// foldCase is for names of tags and groups: case does not count, accents do.
func foldCase(text string) string {
	return norm.NFC.String(strings.ToLower(strings.TrimSpace(text)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func dropsMarks(base rune) bool {
	return base < 0x80 && base != ' ' ||
		unicode.In(base, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew)
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
