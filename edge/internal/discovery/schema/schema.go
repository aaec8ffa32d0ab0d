package schema

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema is the schema of a tool's arguments or of its answer. It is immutable.
type Schema struct {
	root *node
}

// node is a schema or a part of one.
type node struct {
	Type             types            `json:"type"`
	Description      string           `json:"description"`
	Format           string           `json:"format"`
	Pattern          string           `json:"pattern"`
	Enum             []jsontext.Value `json:"enum"`
	Examples         []jsontext.Value `json:"examples"`
	Minimum          *float64         `json:"minimum"`
	Maximum          *float64         `json:"maximum"`
	ExclusiveMinimum *float64         `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64         `json:"exclusiveMaximum"`
	MinLength        int              `json:"minLength"`
	MaxLength        *int             `json:"maxLength"`
	MinItems         int              `json:"minItems"`
	MaxItems         *int             `json:"maxItems"`
	UniqueItems      bool             `json:"uniqueItems"`
	Items            *node            `json:"items"`
	Properties       map[string]*node `json:"properties"`
	Required         []string         `json:"required"`
	Ref              string           `json:"$ref"`
	Definitions      map[string]*node `json:"$defs"`
}

type types string

// The types of JSON Schema.
const (
	typeString  types = "string"
	typeInteger types = "integer"
	typeNumber  types = "number"
	typeBoolean types = "boolean"
	typeArray   types = "array"
	typeObject  types = "object"
)

// Parse reads a schema. It fails unless the root is an object and every reference leads to
// a definition. Definitions must not refer to themselves.
func Parse(text []byte) (*Schema, error) {
	root := &node{}
	if err := json.Unmarshal(text, root); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if root.Type != typeObject {
		return nil, fmt.Errorf("parse schema: the root is of the type %q, not an object", root.Type)
	}
	for _, n := range root.Definitions {
		if err := n.resolve(root.Definitions); err != nil {
			return nil, err
		}
	}
	if err := root.resolve(root.Definitions); err != nil {
		return nil, err
	}
	return &Schema{root: root}, nil
}

const refPrefix = "#/$defs/"

// resolve puts the definitions in place of the references to them.
func (n *node) resolve(definitions map[string]*node) error {
	for name, property := range n.Properties {
		if target, err := property.target(definitions); err != nil {
			return err
		} else if target != nil {
			n.Properties[name] = target
		}
	}
	if n.Items == nil {
		return nil
	}
	target, err := n.Items.target(definitions)
	if target != nil {
		n.Items = target
	}
	return err
}

// target returns the definition that a node refers to. For a node that is not a reference, it
// resolves the references inside it and returns nil.
func (n *node) target(definitions map[string]*node) (*node, error) {
	if n.Ref == "" {
		return nil, n.resolve(definitions)
	}
	target := definitions[strings.TrimPrefix(n.Ref, refPrefix)]
	if target == nil {
		return nil, fmt.Errorf("parse schema: there is no definition %q", n.Ref)
	}
	return target, nil
}
