package search_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/searchtest"
)

// TestRelevance asks each keyword class of both sets of 200 people and measures
// which part of the wanted ones is among the first five.
func TestRelevance(t *testing.T) {
	t.Parallel()
	for _, source := range searchtest.Sources() {
		docs := source.People(searchtest.Size)
		ix := indexOf(docs...)
		find := func(text string) []string {
			return ids(ix.Search(search.Query{Text: text, Limit: searchtest.RecallAt}))
		}
		for class, questions := range source.Classes(docs) {
			t.Run(source.Label+"/"+class, func(t *testing.T) {
				t.Parallel()
				recall := searchtest.Recall(questions, find)
				t.Logf("%s/%s: recall@%d %.3f over %d questions", source.Label, class, searchtest.RecallAt, recall, len(questions))
				if recall < searchtest.RecallWanted {
					t.Errorf("recall@%d is %.3f, want at least %.2f", searchtest.RecallAt, recall, searchtest.RecallWanted)
				}
			})
		}
	}
}
