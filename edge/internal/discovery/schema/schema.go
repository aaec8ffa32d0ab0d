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

// Parse reads a schema. It fails unless the root is an object.
func Parse(text []byte) (*Schema, error) {
	root := &node{}
	if err := json.Unmarshal(text, root); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if root.Type != typeObject {
		return nil, fmt.Errorf("parse schema: the root is of the type %q, not an object", root.Type)
	}
	return &Schema{root: root}, nil
}
