package openapi

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// dropUnused removes the components that no path references. Routes and rate policies
// decide which components are referenced. It keeps the security schemes, which are not
// referenced by $ref.
func dropUnused(root *yaml.Node) {
	components := child(root, "components")
	used := map[string]bool{}
	follow(root, child(root, "paths"), used)
	for kind, group := range members(components) {
		if kind == "securitySchemes" {
			continue
		}
		kept := newMapping()
		for name, component := range members(group) {
			if used["#/components/"+kind+"/"+name] {
				put(kept, name, component)
			}
		}
		group.Content = kept.Content
	}
}

// follow adds the references in n, and in their targets, to used.
func follow(root, n *yaml.Node, used map[string]bool) {
	walk(n, func(n *yaml.Node) {
		target := text(n, "$ref")
		if target == "" || used[target] {
			return
		}
		used[target] = true
		if component := child(root, strings.Split(strings.TrimPrefix(target, "#/"), "/")...); component != nil {
			follow(root, component, used)
		}
	})
}
