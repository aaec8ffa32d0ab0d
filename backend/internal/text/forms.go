package text

import (
	"slices"
	"strings"
)

// minSingular is how many letters a singular has at least.
const minSingular = 3

// Forms returns a word of lower-case letters a to z as singular and plural, as English, Spanish and French mostly
// write them: the word itself first, then what it may be the plural of, and the plurals of all these. Any other word is
// its only form.
func Forms(word string) []string {
	forms := []string{word}
	if len(word) < minSingular || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return forms
	}
	add := func(form string) {
		if len(form) >= minSingular && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	if stem, ok := strings.CutSuffix(word, "s"); ok && !endsIn(stem, "s", "u", "i") {
		add(stem)
	}
	if stem, ok := strings.CutSuffix(word, "es"); ok && hisses(stem) {
		add(stem)
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		add(stem + "y")
	}
	for _, singular := range slices.Clip(forms) {
		stem, y := strings.CutSuffix(singular, "y")
		switch {
		case hisses(singular):
			add(singular + "es")
		case y && !endsIn(stem, "a", "e", "o", "u"):
			add(stem + "ies")
		default:
			add(singular + "s")
		}
	}
	return forms
}

// hisses reports whether the plural of a word ends in es.
func hisses(word string) bool { return endsIn(word, "s", "x", "z", "ch", "sh") }

func endsIn(word string, endings ...string) bool {
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(word, ending) })
}
