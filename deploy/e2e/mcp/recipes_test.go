// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestRecipes

package mcp

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
	"github.com/kith-crm/kith/proto/catalog"
)

// TestRecipes: the documentation has the recipes that MCP clients get as prompts, and their tools exist.
func TestRecipes(t *testing.T) {
	tools, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, r := range catalog.Recipes() {
		for _, name := range r.Tools {
			if _, ok := tools.Tool(name); !ok || !strings.Contains(r.Text(nil), name) {
				t.Errorf("%s needs %s, which does not exist or is not in its text", r.Name, name)
			}
		}
		fmt.Fprintf(&want, "### %s (`%s`)\n\n%s\n\n```text\n%s\n```\n\n", r.Title, r.Name, r.Description, r.Text(nil))
	}
	file := harness.Repository(taskTable...)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- recipes -->\n", "<!-- end of recipes -->\n"
	before, rest, found := strings.Cut(string(page), from)
	written, after, closed := strings.Cut(rest, to)
	if !found || !closed {
		t.Fatalf("%s has no marks for the recipes", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+from+want.String()+to+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if written != want.String() {
		t.Errorf("the recipes in %s are stale: make update", file)
	}
}
