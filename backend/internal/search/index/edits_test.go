package index

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/text"
	"pgregory.net/rapid"
)

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"maria", "maria", 0},
		{"marai", "maria", 1},
		{"mria", "maria", 1},
		{"mariia", "maria", 1},
		{"naria", "maria", 1},
		{"elisabet", "elizabeth", 2},
		{"łódź", "łóz", 2},
		{"abcd", "dcba", 3},
		{"", "ab", 2},
		{strings.Repeat("a", 61), strings.Repeat("a", 61), 3}, // too long to compare
	} {
		if got := text.Distance([]rune(c.a), c.b, 2); got != c.want {
			t.Errorf("%q to %q: %d edits, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestSignaturesFindAllTerms: a search by signature finds the same terms as a comparison with every
// term.
func TestSignaturesFindAllTerms(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[abcé小]{1,9}`)
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfNDistinct(word, 1, 30, rapid.ID).Draw(t, "terms")
		b := newBuilder()
		for _, w := range terms {
			b.terms.add(0, kind(fieldName), []byte(w))
		}
		v := newVocabulary(b.terms.terms)
		query := foldWord(rapid.StringMatching(`[abcé小]{4,9}`).Draw(t, "query"))
		limit := rapid.IntRange(1, 2).Draw(t, "limit")
		found := map[string]int{}
		for term, edits := range v.misspelt(query, limit) {
			found[term.typed] = edits
		}
		for _, w := range terms {
			d := text.Distance([]rune(query), foldWord(w), limit)
			if long := len(foldWord(w)) >= minFuzzyRunes-1 && len([]rune(w)) >= minFuzzyRunes-1; !long || d > limit {
				d = 0
			}
			if found[w] != d {
				t.Errorf("%q to %q: found with %d edits, want %d", query, w, found[w], d)
			}
		}
	})
}

func TestEditsFor(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{
		"bob": 0, "anna": 1, "seveneq": 1, "elisabet": 2, "2026": 0, "room101": 0, strings.Repeat("x", 33): 0,
	} {
		if got := editsFor(word, len(word)); got != want {
			t.Errorf("%d edits for %q, want %d", got, word, want)
		}
	}
}

// TestEditDistanceWithinTheLimit: distances within the limit are right although cells beyond it are
// not computed.
func TestEditDistanceWithinTheLimit(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[abcé小]{0,7}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, limit := word.Draw(t, "a"), word.Draw(t, "b"), rapid.IntRange(0, 3).Draw(t, "limit")
		want := min(wholeTable([]rune(a), []rune(b)), limit+1)
		if got := text.Distance([]rune(a), b, limit); got != want {
			t.Errorf("%q to %q within %d: %d, want %d", a, b, limit, got, want)
		}
	})
}

// wholeTable computes the edit distance with all cells of the table.
func wholeTable(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	i, j := len(a)-1, len(b)-1
	replaced := wholeTable(a[:i], b[:j])
	if a[i] != b[j] {
		replaced++
	}
	best := min(wholeTable(a[:i], b)+1, wholeTable(a, b[:j])+1, replaced)
	if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
		best = min(best, wholeTable(a[:i-1], b[:j-1])+1)
	}
	return best
}
