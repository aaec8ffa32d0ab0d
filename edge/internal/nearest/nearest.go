// Package nearest suggests existing names for one that does not exist.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// maxLength is how many bytes of the wanted name are compared.
const maxLength = 40

// Names returns at most n of the names, the most similar to the wanted one first: the name
// itself, then names that contain it or are contained in it, then those with the smallest
// Levenshtein distance. Names are in lower case; the wanted one may have any case.
func Names(names []string, wanted string, n int) []string {
	wanted = strings.ToLower(wanted[:min(len(wanted), maxLength)])
	edits := map[string]int{}
	for _, name := range names {
		switch {
		case name == wanted:
			edits[name] = -1
		case !strings.Contains(name, wanted) && !strings.Contains(wanted, name):
			edits[name] = distance(name, wanted)
		}
	}
	names = slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(edits[a], edits[b]) })
	return names[:min(len(names), n)]
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
