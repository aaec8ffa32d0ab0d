package index_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/index/indextest"
)

// TestRelevance measures the recall of each class of keyword queries in the first five hits, for
// both sets of 200 people.
func TestRelevance(t *testing.T) {
	t.Parallel()
	for _, source := range indextest.Sources() {
		docs := source.People(indextest.Size)
		ix := indexOf(docs...)
		find := func(text string) []string {
			return ids(ix.Search(index.Query{Text: text, Limit: indextest.RecallAt}))
		}
		for class, questions := range source.Classes(docs) {
			t.Run(source.Label+"/"+class, func(t *testing.T) {
				t.Parallel()
				recall := indextest.Recall(questions, find)
				t.Logf("%s/%s: recall@%d %.3f over %d questions", source.Label, class, indextest.RecallAt, recall, len(questions))
				if recall < indextest.RecallWanted {
					t.Errorf("recall@%d is %.3f, want at least %.2f", indextest.RecallAt, recall, indextest.RecallWanted)
				}
			})
		}
	}
}
