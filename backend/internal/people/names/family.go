package names

import (
	"strings"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/text"
)

// maxInverted is how many words each side of a name such as "Holm, Vera" has at most.
const maxInverted = 3

// Inverted returns the two parts of a name that is written family name first, such as "Holm, Vera". It returns false for other
// names, and if a title, a generation or the form of a company follows the comma.
func Inverted(name string) (family, given string, ok bool) {
	family, given, ok = strings.Cut(text.Line(name), ", ")
	if !ok || strings.ContainsFunc(family+given, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune(" .-'’", r)
	}) {
		return "", "", false
	}
	for _, part := range []string{family, given} {
		words := strings.Fields(part)
		if len(words) == 0 || len(words) > maxInverted || isSuffix(words[len(words)-1]) {
			return "", "", false
		}
	}
	return family, given, true
}

// isSuffix reports whether a word after a name is a title, a generation or the form of a company.
func isSuffix(word string) bool {
	word = text.Fold(word)
	bare := strings.ReplaceAll(word, ".", "")
	switch bare {
	case "esq", "cpa", "rn", "dds", "jd", "llm", "inc", "incorporated", "llc", "llp", "ltd", "limited", "gmbh", "ag", "kg", "kgaa", "ug", "ev", "eg", "se", "sa", "sas",
		"sarl", "srl", "sl", "spa", "bv", "nv", "plc", "corp", "corporation", "co", "company", "oy", "ab", "aps", "kft":
		return true
	}
	return isTitle(bare) || generationWord(word, maxInverted) != genNone
}

// Family guesses the folded family name in a name, for sorting: the word before the comma of "Holm, Vera", the first word or
// character of a name in Chinese, Japanese or Korean characters, otherwise the last word that is no title and no generation.
func Family(name string) string {
	if family, _, ok := Inverted(name); ok {
		return text.Fold(family)
	}
	words := strings.FieldsFunc(text.Fold(name), func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 0 {
		return ""
	}
	if isUnspaced(words[0]) {
		if first := []rune(words[0]); len(words) == 1 {
			return string(first[:1])
		}
		return words[0]
	}
	at := len(words) - 1
	for at > 0 && isSuffix(words[at]) {
		at--
	}
	return strings.TrimFunc(words[at], func(r rune) bool { return !isNameRune(r) })
}
