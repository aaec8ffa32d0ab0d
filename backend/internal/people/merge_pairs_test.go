package people_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/people"
)

// pairsOf reads pairs such as "a<b", where b is merged into a.
func pairsOf(text string) []people.MergePair {
	var out []people.MergePair
	for pair := range strings.FieldsSeq(text) {
		keep, merge, _ := strings.Cut(pair, "<")
		out = append(out, people.MergePair{Keep: keep, Merge: merge})
	}
	return out
}

func TestMergesOfPairs(t *testing.T) {
	t.Parallel()
	for pairs, want := range map[string][]people.MergeInto{
		"a<b":             {{Into: "a", From: []string{"b"}}},
		"a<b a<b":         {{Into: "a", From: []string{"b"}}},
		"a<b c<d":         {{Into: "a", From: []string{"b"}}, {Into: "c", From: []string{"d"}}},
		"a<b b<c":         {{Into: "a", From: []string{"b", "c"}}},
		"b<c a<b":         {{Into: "a", From: []string{"b", "c"}}},
		"a<b a<c b<c":     {{Into: "a", From: []string{"b", "c"}}},
		"c<d b<c a<b x<y": {{Into: "a", From: []string{"b", "c", "d"}}, {Into: "x", From: []string{"y"}}},
	} {
		got, err := people.MergesOf(pairsOf(pairs))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", pairs, err, diff)
		}
	}
	for pairs, words := range map[string]string{
		"a<b c<c":         "[1] has the same person twice",
		"a<b c<b":         "would merge b into both a and c",
		"a<b b<c d<c":     "would merge c into both a and d",
		"a<b b<a":         "into each other",
		"x<y a<b b<c c<a": "into each other",
	} {
		if got, err := people.MergesOf(pairsOf(pairs)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, %v", pairs, got, err)
		}
	}
}
