package openapi

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// encode writes the node as JSON, in its order. Names that are there twice are an
// error.
func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	if err := write(jsontext.NewEncoder(&b), n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func write(e *jsontext.Encoder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		return writeAll(e, n, jsontext.BeginObject, jsontext.EndObject)
	case yaml.SequenceNode:
		return writeAll(e, n, jsontext.BeginArray, jsontext.EndArray)
	case yaml.ScalarNode:
		return writeScalar(e, n)
	default:
		return fmt.Errorf("line %d: this kind of YAML is not used here", n.Line)
	}
}

func writeAll(e *jsontext.Encoder, n *yaml.Node, begin, end jsontext.Token) error {
	if err := e.WriteToken(begin); err != nil {
		return err
	}
	for i, below := range n.Content {
		var err error
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			err = e.WriteToken(jsontext.String(below.Value)) // a status is a name, too
		} else {
			err = write(e, below)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", below.Line, err)
		}
	}
	return e.WriteToken(end)
}

func writeScalar(e *jsontext.Encoder, n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		return e.WriteToken(jsontext.Null)
	case tagBool, tagInteger, "!!float":
		var value any
		if err := n.Decode(&value); err != nil {
			return err
		}
		return e.WriteValue(jsontext.Value(fmt.Sprint(value)))
	default: // times too: they are written as they are read
		return e.WriteToken(jsontext.String(n.Value))
	}
}
