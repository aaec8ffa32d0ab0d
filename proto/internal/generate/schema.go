package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// schema turns the plugin's bundle of a message into one self-contained
// object: references are replaced by what they refer to (MCP wants
// "type": "object" at the root), names meant for files are dropped.
//
// An output schema stays open for new fields, since a new field in an answer is
// no breaking change, and requires the lists, since answers always carry them.
func (b *builder) schema(m protoreflect.MessageDescriptor, output bool) json.RawMessage {
	data, err := b.schemas(string(m.FullName()))
	if err != nil {
		b.fault(m, "has no JSON Schema: %v", err)
		return nil
	}
	var bundle map[string]any
	if err := json.Unmarshal(data, &bundle); err != nil {
		b.fault(m, "its JSON Schema cannot be read: %v", err)
		return nil
	}
	defs, _ := bundle["$defs"].(map[string]any)
	root, err := inline(map[string]any{"$ref": bundle["$ref"]}, defs, 0)
	if err != nil {
		b.fault(m, "its JSON Schema cannot be inlined: %v", err)
		return nil
	}
	delete(root, "description")
	adjust(root, m, output)
	out, err := json.Marshal(root)
	if err != nil {
		b.fault(m, "its JSON Schema cannot be written: %v", err)
	}
	return out
}

// maxDepth ends the inlining of a message that contains itself.
const maxDepth = 12

func inline(node map[string]any, defs map[string]any, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d messages, or recursive", maxDepth)
	}
	out := map[string]any{}
	if ref, ok := node["$ref"].(string); ok {
		target, ok := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is not in the bundle", ref)
		}
		resolved, err := inline(target, defs, depth+1)
		if err != nil {
			return nil, err
		}
		out = resolved
	}
	for key, value := range node {
		switch key {
		case "$ref", "$schema", "$id":
			continue
		case "title":
			if _, isText := value.(string); isText {
				continue
			}
		}
		inlined, err := inlineValue(value, defs, depth)
		if err != nil {
			return nil, err
		}
		out[key] = inlined
	}
	return out, nil
}

func inlineValue(value any, defs map[string]any, depth int) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		return inline(v, defs, depth)
	case []any:
		for i := range v {
			inlined, err := inlineValue(v[i], defs, depth)
			if err != nil {
				return nil, err
			}
			v[i] = inlined
		}
		return v, nil
	default:
		return value, nil
	}
}

// adjust adds what the plugin leaves out: unique lists, and for answers the
// lists that are always there.
func adjust(node map[string]any, m protoreflect.MessageDescriptor, output bool) {
	if output {
		delete(node, "additionalProperties")
	}
	properties, _ := node["properties"].(map[string]any)
	required, _ := node["required"].([]any)
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		property, ok := properties[string(f.Name())].(map[string]any)
		if !ok {
			continue
		}
		if f.IsList() {
			if rulesOf(f).GetRepeated().GetUnique() {
				property["uniqueItems"] = true
			}
			if output && !slices.Contains(required, any(string(f.Name()))) {
				required = append(required, string(f.Name()))
			}
			property, _ = property["items"].(map[string]any)
		}
		if f.Kind() == protoreflect.MessageKind && property["type"] == "object" {
			adjust(property, f.Message(), output)
		}
	}
	if len(required) > 0 {
		node["required"] = required
	}
}
