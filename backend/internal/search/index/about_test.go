package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

// A query finds people by their bio and by how they were met. People with the words in their name
// come first. The snippet shows the words.
func TestBioAndHowTheyMet(t *testing.T) {
	t.Parallel()
	docs := people(200)
	for i := range 4 {
		docs[10+i].Bio = fmt.Sprintf("Grew up in town %d and teaches applied linguistics there.", i)
	}
	for i := range 8 {
		docs[100+i].MetHow = "At Tideline Days, in the queue"
	}
	docs = append(docs, index.Document{ID: "con_named", Name: "Linguistics Applied"})
	ix := indexOf(docs...)

	got := ix.Search(index.Query{Text: "applied linguistics", Limit: 50})
	if len(got.Hits) != 5 || got.Hits[0].ID != "con_named" {
		t.Errorf("by bio: %v", ids(got))
	}
	for _, h := range got.Hits[1:] {
		if !slices.Equal(h.Matched, []string{"bio"}) || !strings.Contains(h.Snippet, "teaches applied linguistics") {
			t.Errorf("%s matched in %v, with %q", h.ID, h.Matched, h.Snippet)
		}
	}
	got = ix.Search(index.Query{Text: "tideline days", Limit: 50})
	for _, h := range got.Hits {
		if !slices.Equal(h.Matched, []string{"met_how"}) || h.Snippet != "At Tideline Days, in the queue" {
			t.Errorf("%s matched in %v, with %q", h.ID, h.Matched, h.Snippet)
		}
	}
	if len(got.Hits) != 8 {
		t.Errorf("by how they met: %v", ids(got))
	}
}
