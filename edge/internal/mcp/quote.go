package mcp

import (
	"strconv"
	"strings"
)

const (
	// maxNearest is how many similar names an error suggests for an unknown one.
	maxNearest = 2
	// maxQuoted is how many bytes of a caller's text an error repeats.
	maxQuoted = 40
)

// quoted returns at most maxQuoted bytes of a caller's text in quotes.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.Quote(text)
}
