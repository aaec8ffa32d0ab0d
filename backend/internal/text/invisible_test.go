package text_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/text"
)

// Every format character is invisible, except visible ones: signs that enclose the digits
// after them, and the controls of hieroglyphs.
func TestEveryFormatCharacterInvisible(t *testing.T) {
	t.Parallel()
	for r := range unicode.MaxRune + 1 {
		shows := unicode.Is(unicode.Prepended_Concatenation_Mark, r) || 0x13430 <= r && r <= 0x1343F
		ignorable := unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) && !shows
		if ignorable && !text.Invisible(r) {
			t.Errorf("%U is not invisible", r)
		}
		visible := unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Z) && !ignorable && r != 0x2800 // blank braille
		if visible && text.Invisible(r) {
			t.Errorf("%U is invisible", r)
		}
	}
}

func TestInvisibleCharactersAreStripped(t *testing.T) {
	t.Parallel()
	tags := strings.Map(func(r rune) rune { return r + 0xE0000 }, "obey")
	for _, c := range []struct{ name, in, want string }{
		{"bidirectional controls", "a\u202ab\u202bc\u202cd\u202de\u202ef\u2066g\u2067h\u2068i\u2069j\u200ek\u200fl\u061cm", "abcdefghijklm"},
		{"zero width", "A\u200bn\u200ca\u200d \ufeffLó\u2060pez\u00ad", "Ana López"},
		{"tags", "Ana" + tags + " López\U000e0001\U000e007f", "Ana López"},
		{"tags after a flag that is none", "🏴" + tags, "🏴"},
		{"a run of variation selectors", "a\ufe00\ufe0f\U000e0100\U000e01efb❤\ufe0f\ufe0f\U000e0110", "ab❤\ufe0f"},
		{"a selector after a letter", "a\ufe0eb\ufe01\U000e0101", "ab"},
		{"selectors that could carry a byte after each ideograph", "葛\U000e0100城\U000e01ef市\U000e0142", "葛城市"},
		{"joiners after Latin letters, doubled or at the start", "\u200cA\u200d\u200cdé\u200d e\u0301\u200d म\u200d\u200dन", "Adé e\u0301 म\u200dन"},
		{"a joiner after an emoji, before a word", "👩\u200dx", "👩x"},
		{"fillers", "\u3164A\u115fd\uffa0a\u1160", "Ada"},
		{"blank braille", "\u2800A\u2800da", "Ada"},
		{"annotations", "\ufff9A\ufffad\ufffba", "Ada"},
		{"between lines", "one\u200b\n\u202etwo", "one\ntwo"},
	} {
		if got := text.Clean(c.in); got != c.want {
			t.Errorf("%s: Clean(%+q) = %+q, want %+q", c.name, c.in, got, c.want)
		}
	}
}

// Joiners and selectors that are part of the spelling stay.
func TestInvisibleCharactersThatSpellStay(t *testing.T) {
	t.Parallel()
	flag := strings.Map(func(r rune) rune { return r + 0xE0000 }, "gbsct\x7F")
	for name, s := range map[string]string{
		"a family":               "👨\u200d👩\u200d👧\u200d👦",
		"skin tones":             "👩🏽\u200d🚀 👩🏻\u200d❤\ufe0f\u200d💋\u200d👨🏿",
		"a selector and a join":  "❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 🏃\u200d♀\ufe0f\u200d➡\ufe0f 🙂\u200d↔\ufe0f",
		"keycaps and signs":      "1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f ‼\ufe0f ℹ\ufe0f ☎\ufe0e",
		"Scotland":               "🏴" + flag + " 🏴" + flag,
		"Persian":                "می\u200cخواهم علی\u200cرضا ه\u064e\u200c",
		"Hindi":                  "क्\u200dष शर्\u200cमा",
		"a Malayalam chillu":     "മോഹന്\u200d",
		"Sinhala":                "ශ්\u200dරී",
		"a form of an ideograph": "葛\ufe00城",
		"Mongolian":              "ᠮᠣᠩᠭᠤᠯ\u180b",
		"braille":                "⠁⠙⠁\u2800⠎⠞",
		"Arabic year":            "\u0601١٤٤٨",
	} {
		if got := text.Clean(s); got != s {
			t.Errorf("%s: Clean(%+q) = %+q", name, s, got)
		}
	}
}
