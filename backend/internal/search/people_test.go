package search_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/searchtest"
)

var day = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// indexOf builds an index in one go.
func indexOf(docs ...search.Document) *search.Index {
	ix := search.New()
	ix.Put(docs...)
	return ix
}

func ids(r search.Result) []string {
	out := make([]string, 0, len(r.Hits))
	for _, h := range r.Hits {
		out = append(out, h.ID)
	}
	return out
}

func wantIDs(t *testing.T, r search.Result, want ...string) {
	t.Helper()
	if got := ids(r); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// people returns n documents with names, places and handles of all sorts.
func people(n int) []search.Document {
	source := searchtest.Tuned()
	return source.People(n)
}
