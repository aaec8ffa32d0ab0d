package text_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/text"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("Osier and Finch ", 10))
	names := []string{"Nordwind GmbH", "Helios Energy", "Café Müller", "Osier & Finch", long, "a \"quoted\"\nname"}
	for wanted, want := range map[string]string{
		"helios":                     `; nearest: "Helios Energy"`,
		"Heliox":                     `; nearest: "Helios Energy"`,
		"cafe muller":                `; nearest: "Café Müller"`,
		"Norwind":                    `; nearest: "Nordwind GmbH"`,
		"Zebra":                      ``,
		"quoted":                     `; nearest: "a \"quoted\" name"`,
		strings.Repeat("Osier ", 50): ``,
		long:                         `; nearest: "` + long + `"`,
	} {
		if got := text.Nearest(t.Context(), names, wanted); got != want {
			t.Errorf("%s: %s, want %s", wanted, got, want)
		}
	}
	if got := text.Nearest(t.Context(), nil, "x"); got != "" {
		t.Errorf("of nothing: %s", got)
	}
}

// A search for near names ends with its request, and compares no more of a name than its first 60
// characters.
func TestNearestIsBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := text.Nearest(ctx, []string{"Helios"}, "Helios"); got != "" {
		t.Errorf("after the end of the request: %s", got)
	}
	a, b := strings.Repeat("ab", 30), strings.Repeat("ab", 31)
	if d := text.Distance([]rune(a), a, 2); d != 0 {
		t.Errorf("60 characters: %d", d)
	}
	for _, c := range [][2]string{{b, b}, {a, b}, {"abcdef", "abc"}, {"abcdef", "uvwxyz"}} {
		if d := text.Distance([]rune(c[0]), c[1], 2); d != 3 {
			t.Errorf("%s to %s: %d, want one more than the limit", c[0], c[1], d)
		}
	}
}
