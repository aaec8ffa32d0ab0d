package mcp

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemasOfBothDrafts compiles each schema with a third-party validator, under both drafts
// of JSON Schema that clients use.
func TestSchemasOfBothDrafts(t *testing.T) {
	t.Parallel()
	c, _ := loadTools(t)
	for _, draft := range []*jsonschema.Draft{jsonschema.Draft7, jsonschema.Draft2020} {
		for _, rpc := range c.Tools() {
			for kind, text := range map[string][]byte{"input": rpc.Tool.InputSchema, "output": rpc.Tool.OutputSchema} {
				document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				compiler := jsonschema.NewCompiler()
				compiler.DefaultDraft(draft)
				if err := compiler.AddResource("schema.json", document); err != nil {
					t.Fatal(err)
				}
				if _, err := compiler.Compile("schema.json"); err != nil {
					t.Errorf("%s, %s schema, %v: %v", rpc.Tool.Name, kind, draft, err)
				}
			}
		}
	}
}
