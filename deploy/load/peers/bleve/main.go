// Command bleve searches the people with Bleve, with typos: each word of the query must
// match, up to two wrong letters in long words.
package main

import (
	"context"
	"os"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/kith-crm/kith/deploy/load/peers/data"
)

func main() {
	set := data.Load()
	dir, err := os.MkdirTemp("", "kith-bleve-")
	data.Must(err)
	index, err := bleve.New(dir+"/index", bleve.NewIndexMapping())
	data.Must(err)
	byID := make(map[string]data.Person, len(set.People))
	for start := 0; start < len(set.People); start += 1000 {
		batch := index.NewBatch()
		for _, p := range set.People[start:min(start+1000, len(set.People))] {
			byID[p.ID] = p
			data.Must(batch.Index(p.ID, p))
		}
		data.Must(index.Batch(batch))
	}
	data.ServeSearch(func(ctx context.Context, q string) ([]data.Person, error) {
		match := bleve.NewMatchQuery(q)
		match.SetAutoFuzziness(true)
		match.SetOperator(query.MatchQueryOperatorAnd)
		found, err := index.SearchInContext(ctx, bleve.NewSearchRequest(match))
		if err != nil {
			return nil, err
		}
		people := make([]data.Person, len(found.Hits))
		for i, hit := range found.Hits {
			people[i] = byID[hit.ID]
		}
		return people, nil
	})
}
