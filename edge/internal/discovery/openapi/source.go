package openapi

import (
	"embed"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed source/*.yaml
var sourceFiles embed.FS

// parts are the files of the source, in the order in which readers meet what they
// describe.
func parts() []string {
	return []string{"openapi", "common", "public", "mcp", "jobs", "access", "oauth", "documents", "pages"}
}

// load reads the source, with the facts filled in, as one document.
func load(f facts) (*yaml.Node, error) {
	root := newMapping()
	for _, name := range parts() {
		path := "source/" + name + ".yaml"
		text, err := sourceFiles.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		part, err := parse(text)
		if err == nil {
			err = f.fill(part)
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
		return nil, fmt.Errorf("is no mapping")
	}
	return document.Content[0], nil
}

// merge adds the members of a part. Mappings that both have are merged too; any
// other member that is there twice is an error.
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
			return fmt.Errorf("line %d: %s is there twice", value.Line, key)
		}
	}
	return nil
}
