package recall_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/searchtest"
)

// Vectors of the built-in provider must not spoil what words find, in any keyword
// class of either set. What they make of questions that ask for meaning is told, and
// not wanted to be good: they know none.
func TestRelevanceWithVectors(t *testing.T) {
	t.Parallel()
	for _, source := range searchtest.Sources() {
		docs := source.People(searchtest.Size)
		w := newWorld(docs...)
		w.caller.EmbeddingsHost = ""
		w.start(embedding.Local{})
		find := func(mode string) func(text string) []string {
			return func(text string) []string {
				var out []string
				for _, h := range w.find(t, mode, search.Query{Text: text, Limit: searchtest.RecallAt}).Hits {
					out = append(out, h.ID)
				}
				return out
			}
		}
		for class, questions := range source.Classes(docs) {
			got := searchtest.Recall(questions, find(recall.ModeAuto))
			t.Logf("%s/%s: recall@%d %.3f hybrid, %.3f by likeness alone", source.Label, class, searchtest.RecallAt, got,
				searchtest.Recall(questions, find(recall.ModeSemantic)))
			if got < searchtest.RecallWanted {
				t.Errorf("%s/%s: recall@%d is %.3f, want at least %.2f", source.Label, class, searchtest.RecallAt, got, searchtest.RecallWanted)
			}
		}
		meaning, chance := source.Meaning(docs), 0.0
		for _, q := range meaning {
			chance += min(1, float64(len(q.Wanted))/float64(len(docs))) / float64(len(meaning))
		}
		t.Logf("%s/meaning: recall@%d %.3f by likeness alone, %.3f hybrid, %.3f by chance", source.Label, searchtest.RecallAt,
			searchtest.Recall(meaning, find(recall.ModeSemantic)), searchtest.Recall(meaning, find(recall.ModeAuto)), chance)
	}
}
