package openapi

import (
	"embed"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/route"
)

//go:embed source/*.yaml
var sourceFiles embed.FS

// parts returns the files of the source, in the order of the document.
func parts() []string {
	return []string{"openapi", "common", "public", "mcp", "jobs", "access", "oauth", "documents", "pages"}
}

// Assemble returns openapi.json: the source, completed with the values that other code defines.
// The error names every route and method that the source does not describe.
func Assemble(c *catalog.Catalog, protocols []string, table []route.Route) ([]byte, error) {
	root, err := load(newVariables(c, protocols, table))
	if err != nil {
		return nil, err
	}
	if err := fillProblems(root, exampleBaseURL); err != nil {
		return nil, err
	}
	if err := addRoutes(root, route.Mounted(table, true)); err != nil {
		return nil, err
	}
	addRequestID(root)
	text, err := encode(root, jsontext.WithIndent(" "))
	return append(text, '\n'), err
}

// load reads the source, with the variables filled in, as one document.
func load(v variables) (*yaml.Node, error) {
	root := newMapping()
	for _, name := range parts() {
		path := "source/" + name + ".yaml"
		text, err := sourceFiles.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		part, err := parse(text)
		if err == nil {
			err = v.fill(part)
		}
		if err == nil {
			err = merge(root, part)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return root, nil
}

func parse(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("is not a mapping")
	}
	return document.Content[0], nil
}

// merge adds the members of a part to into. It merges mappings that both have; any
// other duplicate member is an error.
func merge(into, part *yaml.Node) error {
	for key, value := range members(part) {
		there := child(into, key)
		switch {
		case there == nil:
			put(into, key, value)
		case there.Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			if err := merge(there, value); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		default:
			return fmt.Errorf("line %d: %s is defined twice", value.Line, key)
		}
	}
	return nil
}
