package index_test

import (
	"sync"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

// TestConcurrent searches while documents are added and deleted. A document that does not change
// must always be found, and no answer may mix two states.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	docs := people(120)
	ix := indexOf(docs...)
	ix.Put(index.Document{ID: "fixed", Name: "Quillon Vesper", Notes: []string{"accordion lessons"}})
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 300 {
				d := docs[(2*i+w)%len(docs)]
				ix.Delete(d.ID)
				ix.Put(d)
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					readOnce(t, ix)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if ix.Len() != len(docs)+1 {
		t.Errorf("%d documents, want %d", ix.Len(), len(docs)+1)
	}
}

func readOnce(t *testing.T, ix *index.Index) {
	r := ix.Search(index.Query{Text: "quillon accordion"})
	if len(r.Hits) != 1 || r.Hits[0].ID != "fixed" || r.Hits[0].Snippet == "" {
		t.Errorf("found %v", ids(r))
	}
	seen := map[string]bool{}
	for _, h := range ix.Search(index.Query{Text: "a", Limit: 500}).Hits {
		if seen[h.ID] {
			t.Errorf("%s twice in one answer", h.ID)
		}
		seen[h.ID] = true
	}
	if ix.Bytes() <= 0 {
		t.Error("no bytes")
	}
}
