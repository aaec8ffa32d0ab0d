package text

import (
	"cmp"
	"slices"
	"strings"
)

// maxNearest is how many names an error suggests.
const maxNearest = 3

// Nearest returns the end of an error about an unknown name: up to three names that are
// nearest to it. It is empty when there are no names.
func Nearest(names []string, wanted string) string {
	type candidate struct {
		name  string
		edits int
	}
	folded := Fold(wanted)
	candidates := make([]candidate, len(names))
	for i, name := range names {
		candidates[i] = candidate{name, distance(folded, Fold(name))}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	quoted := make([]string, 0, maxNearest)
	for _, c := range candidates[:min(len(candidates), maxNearest)] {
		quoted = append(quoted, `"`+c.name+`"`)
	}
	if len(quoted) == 0 {
		return ""
	}
	return "; nearest: " + strings.Join(quoted, ", ")
}

// distance returns Edits, or 0 when one text contains the other.
func distance(a, b string) int {
	if strings.Contains(b, a) || strings.Contains(a, b) {
		return 0
	}
	return Edits(a, b)
}

// Edits returns the Levenshtein distance of a and b: how many letters to insert, delete
// or replace.
func Edits(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		corner := row[0]
		row[0] = i + 1
		for j, s := range to {
			cost := corner
			if r != s {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
		}
	}
	return row[len(to)]
}
