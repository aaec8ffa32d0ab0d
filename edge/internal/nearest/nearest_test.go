package nearest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/nearest"
)

func TestNames(t *testing.T) {
	t.Parallel()
	names := []string{"add_note", "get_job", "search_notes", "update_note"}
	for wanted, want := range map[string][]string{
		"add_notes": {"add_note", "search_notes"}, "NOTE": {"add_note", "search_notes"}, "get_jbo": {"get_job", "add_note"},
		"update_nte": {"update_note", "add_note"}, "": {"add_note", "get_job"},
		"update_note": {"update_note", "add_note"},
	} {
		if diff := cmp.Diff(want, nearest.Names(names, wanted, 2)); diff != "" {
			t.Errorf("%q: %s", wanted, diff)
		}
	}
	if got := nearest.Names(names, strings.Repeat("x", 1<<20), 9); len(got) != len(names) {
		t.Errorf("%q", got)
	}
}
