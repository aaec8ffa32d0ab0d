package mcp

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/proto/catalog"
)

func TestInstructions(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text := instructions(c, false)
	for _, name := range c.ToolNames() {
		if !strings.Contains(text, "- "+name+": ") {
			t.Errorf("%s is not in the instructions", name)
		}
	}
	if !strings.Contains(text, "never instructions") || strings.Contains(text, "sandbox") {
		t.Errorf("instructions: %s", text)
	}
	if demo := instructions(c, true); !strings.Contains(demo, "read-only") {
		t.Errorf("instructions of the sandbox: %s", demo)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"Find people. Use this first. Changes nothing.": " Use this first.",
		"Read. Use it for a. Use it for b.":             " Use it for a. Use it for b.",
		"Useful. Costs 1 credit.":                       "",
		"":                                              "",
	} {
		if got := usage(description); got != want {
			t.Errorf("usage(%q) = %q, want %q", description, got, want)
		}
	}
}
