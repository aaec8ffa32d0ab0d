package account

import (
	"context"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/proto/catalog"
)

// CheckTools fails with fault.Invalid unless a token with the scopes can be limited to
// the tools: each tool exists, is named once and needs no other scopes.
func CheckTools(c *catalog.Catalog, tools, scopes []string) error {
	for i, name := range tools {
		rpc, ok := c.Tool(name)
		switch {
		case !ok:
			return fault.InvalidField("tool", "there is no tool %q%s", name, text.Nearest(context.Background(), c.ToolNames(), name))
		case slices.Contains(tools[:i], name):
			return fault.InvalidField("tool", "%s is named twice", name)
		}
		if missing := rpc.Missing(scopes); len(missing) > 0 {
			return fault.InvalidField("tool", "%s needs the scope %s as well", name, strings.Join(missing, " and "))
		}
	}
	return nil
}

// ScopesOf returns the scopes that the tools need, in the catalogue's order. An unknown
// tool needs none.
func ScopesOf(c *catalog.Catalog, tools []string) []string {
	var needed []string
	for _, name := range tools {
		if rpc, ok := c.Tool(name); ok {
			needed = append(needed, rpc.Scopes...)
		}
	}
	return slices.DeleteFunc(c.Scopes(), func(scope string) bool { return !slices.Contains(needed, scope) })
}
