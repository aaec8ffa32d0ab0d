package names

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Relatives reports whether compatible names may be those of two relatives, and says why in a few
// words: a generation suffix or a given name that only one of them has. "Karl Brenner" and "Karl
// Brenner jun." may be father and son, "María Ruiz" and "José María Ruiz" brother and sister. An
// initial, a title, a nickname and a further family name are no reason.
func Relatives(a, b Names) (why string, ok bool) {
	first, one := generation(a.Full)
	second, other := generation(b.Full)
	if one != other && first != "" && second != "" {
		return "one of the names has a suffix such as " + cmp.Or(one, other), true
	}
	short, long, taken, ok := match(Parse(first), Parse(second))
	if !ok || len(short) == 0 {
		return "", false
	}
	nicknames := slices.Concat(Parse(a.Nickname).parts(), Parse(b.Nickname).parts())
	if extra := extraGiven(short, long, taken, nicknames); extra != "" {
		return "only one of the names has " + extra, true
	}
	return "", false
}

// extraGiven returns a given name of the longer name that the shorter one lacks; empty if there is
// none. Given names stand before the family name: words after the last matched word are further
// family names, unless the names are in different orders.
func extraGiven(short, long []string, taken []bool, nicknames []string) string {
	last := len(long) - 1
	for !taken[last] {
		last--
	}
	first, family := slices.Index(long, short[0]), slices.Index(long, short[len(short)-1])
	reversed := first >= 0 && family >= 0 && family < first
	for i, word := range long {
		switch {
		case taken[i], isTitle(word), isParticle(word), i > 0 && utf8.RuneCountInString(word) == 1, slices.Contains(nicknames, word):
		case slices.ContainsFunc(long, func(other string) bool { return SameGiven(word, other) }):
		case len(short) == 1 && (taken[0] || taken[len(long)-1]): // a given name or a family name alone
		case i < last || reversed:
			return word
		}
	}
	return ""
}

// isTitle reports whether a word stands before names and is none.
func isTitle(word string) bool {
	switch word {
	case "dr", "prof", "professor", "doctor", "dipl", "ing", "mag", "mr", "mrs", "ms", "miss", "mx", "herr", "frau", "mme", "mlle", "monsieur", "madame",
		"sr", "sra", "srta", "sir", "dame", "lord", "lady", "rev", "capt", "don", "dona", "dott", "med", "phil", "rer", "nat", "hc", "phd", "mba", "md", "msc", "bsc", "ma":
		return true
	}
	return false
}

// isParticle reports whether a word is a part of family names, not a given name.
func isParticle(word string) bool {
	switch word {
	case "van", "von", "vom", "zu", "zur", "zum", "der", "den", "de", "del", "della", "di", "da", "do", "dos", "das", "du", "des", "la", "le", "los", "las",
		"ten", "ter", "te", "el", "al", "bin", "ibn", "bint", "ben", "af", "av", "y", "e", "i", "und", "st", "saint", "mac", "mc", "o":
		return true
	}
	return false
}

// The generations that suffixes stand for.
const (
	genNone   = ""
	genSenior = "senior"
	genJunior = "junior"
	genSecond = "II"
	genThird  = "III"
	genFourth = "IV"
)

// generation returns a name without its generation suffix, and the generation: the end of the name,
// or of the part before or after a comma. "Brenner jun., Karl" is Karl Brenner, the younger.
func generation(name string) (rest, which string) {
	parts := strings.Split(text.Fold(name), ",")
	before := 0
	for i, part := range parts {
		words := strings.Fields(part)
		if n := len(words); n > 0 && (n > 1 || i > 0) {
			// In "Ruiz, Pere" the word after the comma is the given name.
			others := before + n - 1
			familyFirst := i == 1 && n == 1 && before == 1
			if of := generationWord(words[n-1], others); of != genNone && !familyFirst {
				which, words = of, words[:n-1]
			}
		}
		before += len(words)
		parts[i] = strings.Join(words, " ")
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ","), which
}

// generationWord returns the generation that the last word of a name stands for, if others words are
// before it. Words that are also family names or given names count after two others only.
func generationWord(word string, others int) string {
	if others == 0 {
		return genNone
	}
	switch strings.TrimSuffix(word, ".") {
	case "jun", "jr", "jnr":
		return genJunior
	case "sr", "snr":
		return genSenior
	case "ii", "2nd":
		return genSecond
	case "iii", "3rd":
		return genThird
	case "iv", "4th":
		return genFourth
	}
	if word == "ml." || word == "мл." {
		return genJunior
	}
	if word == "sen." || word == "st." || word == "ст." {
		return genSenior
	}
	if others < 2 {
		return genNone
	}
	switch strings.TrimSuffix(word, ".") {
	case "junior", "fils", "hijo", "filho", "figlio", "младшии":
		return genJunior
	case "senior", "pere", "padre", "pai", "старшии":
		return genSenior
	case "neto", "nieto":
		return "neto"
	case "sobrinho":
		return "sobrinho"
	}
	return genNone
}
