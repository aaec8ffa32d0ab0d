package text

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

const (
	// maxNearest is how many names an error suggests.
	maxNearest = 3
	// maxSuggested is how many characters of a suggested name are shown: names of groups, tags and
	// organisations are no longer.
	maxSuggested = 200
	// maxCompared is how many characters of a text are compared, at most.
	maxCompared = 60
	// betweenChecks is how many names Nearest compares before it looks whether ctx has ended.
	betweenChecks = 500
)

// Nearest returns the end of an error about an unknown name: up to three names that may be meant,
// the nearest first. They are quoted as Quote does, because others may have written them. A name may
// be meant if one of the two contains the other, or if the wanted name is a few edits away from the
// name or from one of its words. Of long names, only the first 60 characters count. It is empty when there is no such name, and when ctx has ended.
func Nearest(ctx context.Context, names []string, wanted string) string {
	type candidate struct {
		name  string
		edits int
	}
	var candidates []candidate
	folded := []rune(Fold(Truncate(wanted, maxCompared)))
	limit := 1 + len(folded)/4
	for i, name := range names {
		if i%betweenChecks == 0 && ctx.Err() != nil {
			return ""
		}
		if edits := nearness(folded, Fold(Truncate(name, maxCompared)), limit); edits <= limit {
			candidates = append(candidates, candidate{name, edits})
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	quoted := make([]string, 0, maxNearest)
	for _, c := range candidates[:min(len(candidates), maxNearest)] {
		quoted = append(quoted, QuoteUpTo(c.name, maxSuggested))
	}
	if len(quoted) == 0 {
		return ""
	}
	return "; nearest: " + strings.Join(quoted, ", ")
}

// nearness returns 0 when one text contains the other, and otherwise the least Distance of wanted to
// the name or to one of its words.
func nearness(wanted []rune, name string, limit int) int {
	if text := string(wanted); strings.Contains(name, text) || name != "" && strings.Contains(text, name) {
		return 0
	}
	least := Distance(wanted, name, limit)
	for word := range strings.FieldsSeq(name) {
		if len(word) < len(name) {
			least = min(least, Distance(wanted, word, limit))
		}
	}
	return least
}

// Distance counts insertions, deletions, substitutions and transpositions of neighbours
// (optimal string alignment). Beyond limit, and for texts of more than 60 characters, it returns
// limit+1.
func Distance(x []rune, b string, limit int) int {
	y := []rune(b)
	if max(len(x), len(y)) > maxCompared || len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	var rows [3][maxCompared + 1]uint8
	two, one, row := &rows[0], &rows[1], &rows[2] // the row before the last, the last, the current
	for j := range len(y) + 1 {
		one[j] = uint8(j)
	}
	for i := 1; i <= len(x); i++ {
		row[0] = uint8(i)
		least := row[0]
		for j := 1; j <= len(y); j++ {
			cost := one[j-1]
			if x[i-1] != y[j-1] {
				cost++
			}
			row[j] = min(one[j]+1, row[j-1]+1, cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
			least = min(least, row[j])
		}
		if int(least) > limit {
			return limit + 1
		}
		two, one, row = one, row, two
	}
	return min(int(one[len(y)]), limit+1)
}
