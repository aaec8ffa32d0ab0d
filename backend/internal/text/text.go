// Package text cleans text for storing and folds it for comparing.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean returns s as it may be stored and shown. It removes control characters other than
// line break and tab, bytes that are not UTF-8, invisible characters (see
// WithoutInvisible), and white space at both ends.
func Clean(s string) string {
	return strings.TrimSpace(WithoutInvisible(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)))
}

// Visible reports whether s has a visible character. Zero-width and bidirectional marks
// are not, nor are letters and symbols that are blank by design, such as the Hangul
// fillers.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !Invisible(r)
	})
}

// Line is Clean for a single line: every run of white space becomes one space.
func Line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Truncate returns s, or its first n characters and an ellipsis when it has more.
func Truncate(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// maxQuoted is how many characters of a text Quote shows.
const maxQuoted = 60

// Quote returns s in double quotes, for a message that a model reads: on one line, of at most 60
// characters, without control and invisible characters, with quotes and backslashes escaped. Text
// that other people wrote is quoted, so that it cannot pass for what Kith says.
func Quote(s string) string { return QuoteUpTo(s, maxQuoted) }

// QuoteUpTo is Quote for at most n characters.
func QuoteUpTo(s string, n int) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Truncate(Line(s), n)) + `"`
}

// Invisible reports whether r shows nothing by itself: bidirectional controls, zero-width
// characters, joiners, fillers, tags and variation selectors (Unicode's
// Default_Ignorable_Code_Point), annotation marks and the blank braille pattern. Text
// that looks harmless to people can hide instructions to a model in them.
func Invisible(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFEFF, r == 0xFFA0:
		return true
	case 0x180B <= r && r <= 0x180F, 0x200B <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F,
		0xFE00 <= r && r <= 0xFE0F, 0xFFF0 <= r && r <= 0xFFFB, 0x1BCA0 <= r && r <= 0x1BCA3, 0x1D173 <= r && r <= 0x1D17A,
		0xE0000 <= r && r <= 0xE0FFF:
		return true
	}
	return false
}

const (
	zwnj      = '\u200C'
	zwj       = '\u200D'
	blackFlag = '\U0001F3F4'
)

// WithoutInvisible removes invisible characters, except where they are part of the
// spelling: a single joiner or variation selector that the script or the emoji needs,
// and the tags in the flags of England, Scotland and Wales. It always removes the 240
// supplementary variation selectors (U+E0100 to U+E01EF): one after each ideograph could
// carry almost a byte, and without it the ideograph is shown in its usual form.
func WithoutInvisible(s string) string {
	if !strings.ContainsFunc(s, Invisible) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(-1) // the last character that was kept
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if before == blackFlag {
			size = max(size, flagTags(s))
		}
		if part := s[:size]; size > utf8.RuneLen(r) || !Invisible(r) || spells(r, before, s[size:]) {
			b.WriteString(part)
			before = r
		}
		s = s[size:]
	}
	return b.String()
}

// flagTags returns the length of the tags at the beginning of s that follow a black
// flag to make it the flag of a country; 0 when there are none.
func flagTags(s string) int {
	for _, country := range []string{"gbeng", "gbsct", "gbwls"} {
		tags := strings.Map(func(r rune) rune { return r + 0xE0000 }, country+"\x7F")
		if strings.HasPrefix(s, tags) {
			return len(tags)
		}
	}
	return 0
}

// spells reports whether an invisible character is part of the spelling between the
// character before it and the text after it.
func spells(r, before rune, after string) bool {
	switch {
	case r == zwj || r == zwnj:
		next, _ := utf8.DecodeRuneInString(after)
		return joinsLetters(before) || r == zwj && isEmoji(before) && isEmoji(next)
	case r == 0xFE0E || r == 0xFE0F: // shown as text, or as an emoji
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Po, unicode.Pd, unicode.Nd, unicode.Han) || before == 'ℹ'
	case 0xFE00 <= r && r <= 0xFE02: // forms of an ideograph, as names need them
		return unicode.Is(unicode.Han, before)
	case r == 0x2800: // the space of braille
		return unicode.Is(unicode.Braille, before)
	case 0x180B <= r && r <= 0x180F:
		return unicode.Is(unicode.Mongolian, before) && !Invisible(before)
	}
	return false
}

// joinsLetters reports whether r is a letter or mark of a script in which a joiner after
// it changes how a word is written.
func joinsLetters(r rune) bool {
	if 0x64B <= r && r <= 0x655 || r == 0x670 { // vowel marks of Arabic
		return true
	}
	return !Invisible(r) && (unicode.IsLetter(r) || unicode.IsMark(r)) &&
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
			unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
			unicode.Tibetan, unicode.Myanmar, unicode.Khmer, unicode.Balinese, unicode.Javanese)
}

// isEmoji reports whether a joiner can join r to another emoji: pictures, arrows, skin
// tones, and the selector after a picture.
func isEmoji(r rune) bool {
	return r == 0xFE0F || unicode.In(r, unicode.So, unicode.Sm) || 0x1F3FB <= r && r <= 0x1F3FF
}

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
	case 'ى', 'ی': // as written in Persian and Urdu
		return "ي"
	case 'ک':
		return "ك"
	case 'ة', 'ہ', 'ھ', 'ە': // the forms of Urdu and Kurdish
		return "ه"
	case 'ـ': // tatweel only stretches a word
		return ""
	}
	return string(r)
}
