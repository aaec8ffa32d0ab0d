package mcp

import (
	"cmp"
	"slices"
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

// nearest returns the names that are nearest to the wanted one, the nearest first: those
// that contain it or are in it, then those with the fewest letters to insert, delete or
// replace.
func nearest(names []string, wanted string) []string {
	wanted = strings.ToLower(wanted[:min(len(wanted), maxQuoted)])
	edits := map[string]int{}
	for _, name := range names {
		if !strings.Contains(name, wanted) && !strings.Contains(wanted, name) {
			edits[name] = distance(name, wanted)
		}
	}
	names = slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(edits[a], edits[b]) })
	return names[:min(len(names), maxNearest)]
}

// distance returns the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			edits := corner
			if a[i] != b[j] {
				edits = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], edits
		}
	}
	return row[len(b)]
}
