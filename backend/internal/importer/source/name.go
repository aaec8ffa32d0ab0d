package source

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

// nameParts are the parts of a name as address books keep them.
type nameParts struct{ full, prefix, given, middle, family, suffix string }

// String is the name as a person would write it: in full as the file has it, else
// put together from its parts.
func (n nameParts) String() string {
	if text.Visible(n.full) {
		return n.full
	}
	given, family := tidyPart(n.given), tidyPart(n.family)
	if family != "" && strings.HasSuffix(given, " "+family) { // the first name is all of it
		family = ""
	}
	if joiner, ok := familyFirst(given, family); ok {
		return family + joiner + given
	}
	words := []string{tidyPart(n.prefix), given, tidyPart(n.middle), family, tidyPart(n.suffix)}
	if isCivil(words[0]) {
		words[0] = ""
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// tidyPart bounds a part of a name before it is joined.
func tidyPart(s string) string {
	s, _ = line(s, maxName)
	return s
}

// isCivil tells titles that everybody has from those that somebody earned.
func isCivil(title string) bool {
	switch strings.TrimSuffix(text.Fold(title), ".") {
	case "mr", "mrs", "ms", "miss", "mx", "mister", "herr", "frau", "m", "mme", "mlle", "monsieur", "madame",
		"sr", "sra", "srta", "sig", "signor", "signora", "sig.ra", "dhr", "mevr", "mw", "pan", "pani", "hr", "fr":
		return true
	}
	return false
}

// familyFirst tells names that begin with the family name, and what stands after
// it: those in Han, kana and Hangul. Japanese names have a space there; those that
// are short and in Han alone are taken for Chinese ones, which have none.
func familyFirst(given, family string) (joiner string, ok bool) {
	both := family + given
	if given == "" || family == "" || !only(both, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		return "", false
	}
	const short = 3
	if only(both, unicode.Hangul) || only(both, unicode.Han) && utf8.RuneCountInString(both) <= short {
		return "", true
	}
	return " ", true
}

func only(s string, tables ...*unicode.RangeTable) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.In(r, tables...) && r != 'ー' && r != '々' })
}
