package catalog_test

import (
	"slices"
	"testing"

	"github.com/kith-crm/kith/proto/catalog"
)

// Each of AddingTools must exist, write, and not be destructive.
func TestAddingTools(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range catalog.AddingTools() {
		rpc, ok := c.Tool(name)
		if !ok || !rpc.Writes || rpc.Tool.Annotations.Destructive {
			t.Errorf("%s: %+v", name, rpc)
		}
	}
	tools, adds := c.ReadAndAdd(c.Scopes())
	for _, rpc := range c.Tools() {
		if wanted := !rpc.Writes || slices.Contains(catalog.AddingTools(), rpc.Tool.Name); slices.Contains(tools, rpc.Tool.Name) != wanted {
			t.Errorf("%s: wanted %t", rpc.Tool.Name, wanted)
		}
	}
	if !adds {
		t.Error("with all scopes, nothing can be added")
	}
	for _, scopes := range [][]string{nil, {"connections", "timeline"}, {"insights", "imports", catalog.ScopeWrite}} {
		tools, adds := c.ReadAndAdd(scopes)
		if adds {
			t.Errorf("%v adds by %v", scopes, tools)
		}
		if !slices.Contains(tools, "get_account") || !slices.Contains(tools, "get_job") {
			t.Errorf("%v: not those that need no scope: %v", scopes, tools)
		}
	}
}
