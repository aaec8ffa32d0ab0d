// Package text cleans text for storing and folds it for comparing.
package text

import (
	"strings"
	"unicode"
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
