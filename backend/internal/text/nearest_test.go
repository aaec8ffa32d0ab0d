package text_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/text"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"Nordwind", "Helios Energy", "Café Müller", "Osier & Finch"}
	for wanted, want := range map[string]string{
		"helios":      `; the nearest are "Helios Energy", "Nordwind", "Café Müller"`,
		"cafe muller": `; the nearest are "Café Müller", "Nordwind", "Helios Energy"`,
		"Norwind":     `; the nearest are "Nordwind", "Osier & Finch", "Helios Energy"`,
	} {
		if got := text.Nearest(names, wanted); got != want {
			t.Errorf("%s: %s, want %s", wanted, got, want)
		}
	}
	if got := text.Nearest(nil, "x"); got != "" {
		t.Errorf("of nothing: %s", got)
	}
}
