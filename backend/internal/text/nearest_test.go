package text_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/text"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"Nordwind", "Helios Energy", "Café Müller", "Osier & Finch"}
	for wanted, want := range map[string]string{
		"helios":      `; nearest: "Helios Energy", "Nordwind", "Café Müller"`,
		"cafe muller": `; nearest: "Café Müller", "Nordwind", "Helios Energy"`,
		"Norwind":     `; nearest: "Nordwind", "Osier & Finch", "Helios Energy"`,
	} {
		if got := text.Nearest(names, wanted); got != want {
			t.Errorf("%s: %s, want %s", wanted, got, want)
		}
	}
	if got := text.Nearest(nil, "x"); got != "" {
		t.Errorf("of nothing: %s", got)
	}
}
