package search_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/search"
)

func TestLikeness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b                string
		sameGiven, misspelt bool
	}{
		{"margaret", "maggie", true, false},
		{"maggie", "margaret", true, false},
		{"ana", "ana", false, true},
		{"ana", "ann", false, false}, // too short for a mistake
		{"kowalska", "kowalsak", false, true},
		{"kowalska", "kowalczyk", false, false},
		{"", "", false, true},
	} {
		if got := search.SameGivenName(c.a, c.b); got != c.sameGiven {
			t.Errorf("SameGivenName(%q, %q) is %v", c.a, c.b, got)
		}
		if got := search.Misspelt(c.a, c.b); got != c.misspelt {
			t.Errorf("Misspelt(%q, %q) is %v", c.a, c.b, got)
		}
	}
}
