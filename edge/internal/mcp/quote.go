package mcp

import (
	"strconv"
	"strings"
)

const (
	// maxNearest is how many names an error suggests for an unknown one.
	maxNearest = 2
	// maxQuoted bounds how much of a caller's name an error repeats, in bytes.
	maxQuoted = 40
)

// quoted returns the beginning of a caller's text in quotes.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.Quote(text)
}
