package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mozillazg/go-unidecode"
)

// OtherScript reports whether a word begins with a letter of a script that spells sounds and is not Latin: Cyrillic, Greek, kana,
// Arabic, Hangul and others. Chinese characters do not count, because each language reads them differently.
func OtherScript(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return r >= utf8.RuneSelf && unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Han)
}

// withoutVowels reports whether a word is of a script that leaves out short vowels.
func withoutVowels(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac)
}

// surnames are Korean family names that are usually not written as the standard romanises them.
var surnames = map[string]string{
	"김": "kim", "이": "lee", "박": "park", "최": "choi", "정": "jung", "조": "cho", "강": "kang", "임": "lim", "유": "yoo", "신": "shin", "우": "woo", "권": "kwon",
}

// Sounds returns the forms in which a folded word of a name is compared with names in other scripts: the word in Latin letters, with
// one spelling of each sound. A word of a script without vowels has its consonants alone, after an apostrophe; a Latin
// word has both forms. A Korean name also has those of its family name and of its given name.
func Sounds(word string) []string {
	switch {
	case withoutVowels(word):
		return []string{consonants(word)}
	case !OtherScript(word):
		return []string{sound(word), consonants(word)}
	}
	forms := []string{sound(word)}
	if r, size := utf8.DecodeRuneInString(word); unicode.Is(unicode.Hangul, r) && size < len(word) {
		family := word[:size]
		if usual, ok := surnames[family]; ok {
			family = usual
		}
		forms = append(forms, sound(family), sound(word[size:]))
	}
	return forms
}

var (
	// greek are letters that are not pronounced as their usual transliteration says. αυ and ευ end in f before a
	// voiceless letter, and in v before others.
	greek = strings.NewReplacer(append(beforeVoiceless("αυ", "af", "ευ", "ef"), "αυ", "av", "ευ", "ev", "η", "i", "β", "v", "ου", "u")...)
	// spellings maps the usual spellings of a sound to one of them.
	spellings = strings.NewReplacer("shch", "sh", "sch", "sh", "kh", "h", "ch", "h", "ck", "k", "ph", "f", "th", "t", "tz", "ts", "ou", "u", "oo", "u",
		"x", "ks", "q", "k", "c", "k", "w", "v", "y", "i", "j", "i")
)

// beforeVoiceless returns the pairs of spellings and sounds with each voiceless letter of Greek after them.
func beforeVoiceless(pairs ...string) []string {
	var longer []string
	for i := 0; i < len(pairs); i += 2 {
		for _, letter := range "θκξπσςτφχψ" {
			longer = append(longer, pairs[i]+string(letter), pairs[i+1]+string(letter))
		}
	}
	return longer
}

// sound returns a word in Latin letters, with one spelling of each sound and without doubled letters.
func sound(word string) string {
	return undouble(spellings.Replace(latin(greek.Replace(word))))
}

// latin transliterates a word and keeps its letters.
func latin(word string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(unidecode.Unidecode(word)))
}

// consonants returns the consonants of a word after an apostrophe; a vowel at the beginning is an a.
func consonants(word string) string {
	letters := undouble(latin(strings.ReplaceAll(word, "ا", "a"))) // between two equal letters it is a vowel
	if r, _ := utf8.DecodeRuneInString(word); strings.ContainsRune("اأإآعאע", r) {
		letters = "a" + strings.TrimPrefix(letters, "a")
	}
	letters = strings.TrimSuffix(letters, "h")
	if letters == "" {
		return "'"
	}
	first, rest := letters[:1], letters[1:]
	if strings.ContainsAny(first, "aeiou") {
		first = "a"
	}
	return "'" + strings.NewReplacer("q", "k", "c", "k").Replace(first+strings.Map(func(r rune) rune {
		if strings.ContainsRune("aeiouyw", r) {
			return -1
		}
		return r
	}, rest))
}

// undouble leaves one of each run of equal letters.
func undouble(s string) string {
	last := rune(-1)
	return strings.Map(func(r rune) rune {
		if r == last {
			return -1
		}
		last = r
		return r
	}, s)
}
