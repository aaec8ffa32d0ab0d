package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	snippetRunes  = 160
	snippetBefore = 50 // the most of it before the match
	ellipsis      = "…"
)

// snippetOf returns the text around the first word of texts that the token
// matched with the given closeness, or "" if none does.
func snippetOf(texts []string, t *token, c closeness) string {
	var scan scanner
	for _, text := range texts {
		scan.reset(text)
		for scan.next() {
			if t.isIn(&scan, c) {
				return cut(scan.text, scan.start)
			}
		}
	}
	return ""
}

// isIn reports whether the token matches the current word of scan, or a part of it.
func (t *token) isIn(scan *scanner, c closeness) bool {
	word := foldWord(string(scan.word))
	if t.unspaced {
		return strings.Contains(word, t.folded)
	}
	if t.fits(word, c) {
		return true
	}
	fits := false
	scan.parts(func(part []byte) { fits = fits || t.fits(foldWord(string(part)), c) })
	return fits
}

func (t *token) fits(word string, c closeness) bool {
	if c == exact || c == folded {
		return word == t.folded
	}
	return strings.HasPrefix(word, t.folded)
}

// cut returns up to snippetRunes of text around offset at, on one line.
func cut(text string, at int) string {
	from, lead := at, ""
	for n := 0; from > 0 && n < snippetBefore; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	if from > 0 {
		from, lead = wordStart(text, from, at), ellipsis
	}
	var b strings.Builder
	b.WriteString(lead)
	n, space := utf8.RuneCountInString(lead), false
	for _, r := range text[from:] {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = n > utf8.RuneCountInString(lead)
			continue
		}
		if n+2 >= snippetRunes { // room for a space and the ellipsis
			return strings.TrimRight(b.String(), " ") + ellipsis
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// wordStart moves from forward to the beginning of a word, but not beyond at.
func wordStart(text string, from, at int) int {
	if i := strings.IndexFunc(text[from:at], unicode.IsSpace); i >= 0 {
		return from + i
	}
	return from
}
