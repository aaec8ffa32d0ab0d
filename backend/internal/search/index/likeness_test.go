package index_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

func TestLikeness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b     string
		misspelt bool
	}{
		{"ana", "ana", true},
		{"ana", "ann", false}, // too short to tolerate a typo
		{"kowalska", "kowalsak", true},
		{"kowalska", "kowalczyk", false},
		{"", "", true},
	} {
		if got := index.Misspelt(c.a, c.b); got != c.misspelt {
			t.Errorf("Misspelt(%q, %q) is %v", c.a, c.b, got)
		}
	}
}
