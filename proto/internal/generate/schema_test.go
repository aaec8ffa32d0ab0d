package generate_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/internal/generate"
)

// bundles are what protoc-gen-jsonschema writes of the contract's messages.
var bundles = map[string]string{
	"kith.test.v1.SearchThingsRequest": `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "kith.test.v1.SearchThingsRequest.bundle.json",
  "$ref": "#/$defs/kith.test.v1.SearchThingsRequest.json",
  "$defs": {
    "kith.test.v1.SearchThingsRequest.json": {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "additionalProperties": false,
      "description": "What to look for.",
      "properties": {
        "query": {"description": "Words.", "maxLength": 100, "type": "string"},
        "kinds": {"description": "Only these kinds.", "items": {"enum": ["a", "b"], "type": "string"}, "maxItems": 3, "type": "array"},
        "like_these": {"description": "Only these; their order counts.", "items": {"$ref": "#/$defs/kith.test.v1.Thing.json"}, "maxItems": 5, "type": "array"}
      },
      "title": "Search Things Request",
      "type": "object"
    },` + defs,
	"kith.test.v1.SearchThingsResponse": `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "kith.test.v1.SearchThingsResponse.bundle.json",
  "$ref": "#/$defs/kith.test.v1.SearchThingsResponse.json",
  "$defs": {
    "kith.test.v1.SearchThingsResponse.json": {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "additionalProperties": false,
      "description": "A page of things.",
      "properties": {
        "things": {"description": "The things.", "items": {"$ref": "#/$defs/kith.test.v1.Thing.json"}, "maxItems": 5, "type": "array"},
        "best": {"$ref": "#/$defs/kith.test.v1.Thing.json", "description": "The best one."},
        "has_more": {"description": "Whether more are there.", "type": "boolean"}
      },
      "required": ["things", "has_more"],
      "title": "Search Things Response",
      "type": "object"
    },` + defs,
}

const defs = `
    "kith.test.v1.Thing.json": {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$id": "kith.test.v1.Thing.json",
      "additionalProperties": false,
      "description": "A thing.",
      "properties": {
        "title": {"description": "Its title.", "maxLength": 20, "type": "string"},
        "picture": {"description": "Its picture.", "type": "string"},
        "labels": {"description": "Its labels.", "items": {"maxLength": 20, "type": "string"}, "maxItems": 3, "type": "array"},
        "parts": {"description": "Its parts.", "items": {"$ref": "#/$defs/kith.test.v1.Thing.Part.json"}, "maxItems": 3, "type": "array"},
        "made_at": {"$ref": "#/$defs/google.protobuf.Timestamp.json", "description": "When it was made."},
        "count": {"description": "How many there are.", "anyOf": [{"$ref": "#/$defs/count.json"}, {"type": "null"}]}
      },
      "required": ["title", "count"],
      "title": "Thing",
      "type": "object"
    },
    "kith.test.v1.Thing.Part.json": {
      "additionalProperties": false,
      "description": "A part of a thing.",
      "properties": {"colour": {"description": "Its colour.", "enum": ["red"], "type": "string"}},
      "required": ["colour"],
      "title": "Part",
      "type": "object"
    },
    "google.protobuf.Timestamp.json": {"$schema": "https://json-schema.org/draft/2020-12/schema", "format": "date-time", "title": "Timestamp", "type": "string"},
    "count.json": {"title": "Count", "type": "integer"}
  }
}`

func bundle(message string) ([]byte, error) {
	if text, ok := bundles[message]; ok {
		return []byte(text), nil
	}
	return anySchema(message)
}

// searchTool returns the tool that search_things became.
func searchTool(t *testing.T) *catalog.Tool {
	t.Helper()
	file, err := generate.Catalog(compile(t, map[string]string{contractPath: contract}), bundle)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(file.RPCs, func(r *catalog.RPC) bool { return r.Tool != nil && r.Tool.Name == "search_things" })
	return file.RPCs[i].Tool
}

// The property called title stays; titles of schemas, which repeat file names, go.
const (
	titleSchema   = `{"description": "Its title.", "maxLength": 20, "type": "string"}`
	pictureSchema = `{"description": "Its picture.", "type": "string"}`
	labelsSchema  = `{"description": "Its labels.", "items": {"maxLength": 20, "type": "string"}, "maxItems": 3, "type": "array", "uniqueItems": true}`
	madeAtSchema  = `{"description": "When it was made.", "format": "date-time", "type": "string"}`
	countSchema   = `{"description": "How many there are.", "anyOf": [{"type": "integer"}, {"type": "null"}]}`
)

func TestInputSchema(t *testing.T) {
	t.Parallel()
	thing := `{"additionalProperties": false, "description": "A thing.", "required": ["title", "count"], "type": "object", "properties": {
"title": ` + titleSchema + `, "picture": ` + pictureSchema + `, "labels": ` + labelsSchema + `, "made_at": ` + madeAtSchema + `, "count": ` + countSchema + `,
"parts": {"description": "Its parts.", "maxItems": 3, "type": "array", "items":
  {"additionalProperties": false, "description": "A part of a thing.", "required": ["colour"], "type": "object",
   "properties": {"colour": {"description": "Its colour.", "enum": ["red"], "type": "string"}}}}}}`
	wantJSON(t, searchTool(t).InputSchema, `{"type": "object", "additionalProperties": false, "properties": {
"query": {"description": "Words.", "maxLength": 100, "type": "string"},
"kinds": {"description": "Only these kinds.", "items": {"enum": ["a", "b"], "type": "string"}, "maxItems": 3, "type": "array", "uniqueItems": true},
"like_these": {"description": "Only these; their order counts.", "items": `+thing+`, "maxItems": 5, "type": "array"}}}`)
}

// Answers may grow fields, so that their schemas are open at every depth; and
// they always carry their lists, so that these are required, once each.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	thing := func(description string) string {
		return `{"description": "` + description + `", "required": ["title", "count", "labels", "parts"], "type": "object", "properties": {
"title": ` + titleSchema + `, "picture": ` + pictureSchema + `, "labels": ` + labelsSchema + `, "made_at": ` + madeAtSchema + `, "count": ` + countSchema + `,
"parts": {"description": "Its parts.", "maxItems": 3, "type": "array", "items":
  {"description": "A part of a thing.", "required": ["colour"], "type": "object",
   "properties": {"colour": {"description": "Its colour.", "enum": ["red"], "type": "string"}}}}}}`
	}
	wantJSON(t, searchTool(t).OutputSchema, `{"type": "object", "required": ["things", "has_more"], "properties": {
"things": {"description": "The things.", "items": `+thing("A thing.")+`, "maxItems": 5, "type": "array"},
"best": `+thing("The best one.")+`,
"has_more": {"description": "Whether more are there.", "type": "boolean"}}}`)
}

func wantJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got\n%s\nwant\n%s", show(t, g), show(t, w))
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, bundle, fault string }{
		{"no file", "", "has no JSON Schema: no such file"},
		{"no JSON", "{", "its JSON Schema cannot be read"},
		{"no object", "[]", "its JSON Schema cannot be read"},
		{"a reference into nowhere", `{"$ref": "#/$defs/y", "$defs": {}}`, "cannot be inlined: #/$defs/y is not in the bundle"},
		{"a reference into nowhere, in a list", `{"$ref": "#/$defs/x", "$defs": {"x": {"anyOf": [{"$ref": "#/$defs/y"}]}}}`, "#/$defs/y is not in the bundle"},
		{"a message within itself", `{"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}}}}`, "or recursive"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := generate.Catalog(compile(t, map[string]string{contractPath: contract}), func(message string) ([]byte, error) {
				switch {
				case message != "kith.test.v1.SearchThingsResponse":
					return anySchema(message)
				case c.bundle == "":
					return nil, errors.New("no such file")
				}
				return []byte(c.bundle), nil
			})
			if err == nil || !strings.HasPrefix(err.Error(), "kith.test.v1.SearchThingsResponse: ") || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got %v, want %q", err, c.fault)
			}
		})
	}
}
