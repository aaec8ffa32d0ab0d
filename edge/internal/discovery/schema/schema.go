package schema

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema is the input schema of a tool. It is immutable.
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
	AnyOf            []*node          `json:"anyOf"`
}

// types is the type keyword: one type, or a list of which one may be null.
type types string

// The types of JSON Schema.
const (
	typeString  types = "string"
	typeInteger types = "integer"
	typeNumber  types = "number"
	typeBoolean types = "boolean"
	typeArray   types = "array"
	typeObject  types = "object"
	typeNull    types = "null"
)

// UnmarshalJSON reads a type or the first type of a list that is not null.
func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		*t = types(one)
		return nil
	}
	var several []string
	if err := json.Unmarshal(data, &several); err != nil {
		return err
	}
	for _, name := range several {
		if types(name) != typeNull {
			*t = types(name)
			return nil
		}
	}
	return nil
}

// Parse reads a schema. It fails unless the root is an object.
func Parse(text []byte) (*Schema, error) {
	root := &node{}
	if err := json.Unmarshal(text, root); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	root.settle()
	if root.Type != typeObject {
		return nil, fmt.Errorf("parse schema: the root is of the type %q, not an object", root.Type)
	}
	return &Schema{root: root}, nil
}

// settle replaces each "X or null" by X.
func (n *node) settle() {
	for _, branch := range n.AnyOf {
		if branch.Type == typeNull {
			continue
		}
		description := n.Description
		*n = *branch
		if description != "" {
			n.Description = description
		}
		break
	}
	if n.Items != nil {
		n.Items.settle()
	}
	for _, property := range n.Properties {
		property.settle()
	}
}
