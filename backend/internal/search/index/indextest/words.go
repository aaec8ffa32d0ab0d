package indextest

import "github.com/kith-crm/kith/backend/internal/search/index"

// Hits counts how often words are in a text, by reading the whole text. It is 0 unless all words are found. Tests compare searches
// by the index of words with it.
func Hits(words index.Words, within string) int {
	counts := make([]int, words.Len())
	index.EachTerm(within, func(term string) {
		for i := range counts {
			counts[i] = min(counts[i]+words.Weight(i, term), index.MostHits)
		}
	})
	sum := 0
	for _, n := range counts {
		if n == 0 {
			return 0
		}
		sum += n
	}
	return sum
}
