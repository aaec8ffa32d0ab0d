package search_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/index/indextest"
	"github.com/kith-crm/kith/backend/internal/search/vector"
)

// Vectors of the built-in provider must not make the results of keyword queries worse, in
// any class of either set. Results for questions about meaning are only logged: the
// built-in provider does not know meanings.
func TestRelevanceWithVectors(t *testing.T) {
	t.Parallel()
	for _, source := range indextest.Sources() {
		docs := source.People(indextest.Size)
		w := newWorld(docs...)
		w.caller.EmbeddingsHost = ""
		w.start(vector.Local{})
		find := func(mode string) func(text string) []string {
			return func(text string) []string {
				var out []string
				for _, h := range w.find(t, mode, index.Query{Text: text, Limit: indextest.RecallAt}).Hits {
					out = append(out, h.ID)
				}
				return out
			}
		}
		for class, questions := range source.Classes(docs) {
			got := indextest.Recall(questions, find(search.ModeAuto))
			t.Logf("%s/%s: recall@%d %.3f hybrid, %.3f by likeness alone", source.Label, class, indextest.RecallAt, got,
				indextest.Recall(questions, find(search.ModeSemantic)))
			if got < indextest.RecallWanted {
				t.Errorf("%s/%s: recall@%d is %.3f, want at least %.2f", source.Label, class, indextest.RecallAt, got, indextest.RecallWanted)
			}
		}
		meaning, chance := source.Meaning(docs), 0.0
		for _, q := range meaning {
			chance += min(1, float64(len(q.Wanted))/float64(len(docs))) / float64(len(meaning))
		}
		t.Logf("%s/meaning: recall@%d %.3f by likeness alone, %.3f hybrid, %.3f by chance", source.Label, indextest.RecallAt,
			indextest.Recall(meaning, find(search.ModeSemantic)), indextest.Recall(meaning, find(search.ModeAuto)), chance)
	}
}
