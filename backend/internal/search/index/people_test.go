package index_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/index/indextest"
)

var day = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// indexOf builds an index with one Put.
func indexOf(docs ...index.Document) *index.Index {
	ix := index.New()
	ix.Put(docs...)
	return ix
}

func ids(r index.Result) []string {
	out := make([]string, 0, len(r.Hits))
	for _, h := range r.Hits {
		out = append(out, h.ID)
	}
	return out
}

func wantIDs(t *testing.T, r index.Result, want ...string) {
	t.Helper()
	if got := ids(r); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// people returns n documents with names, places and handles of all sorts.
func people(n int) []index.Document {
	source := indextest.Tuned()
	return source.People(n)
}
