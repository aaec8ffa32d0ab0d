package generate_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/internal/generate"
)

// searchTool returns the tool search_things.
func searchTool(t *testing.T, contract string) *catalog.Tool {
	t.Helper()
	file, err := generate.Catalog(compile(t, map[string]string{contractPath: contract}))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(file.RPCs, func(r *catalog.RPC) bool { return r.Tool != nil && r.Tool.Name == "search_things" })
	return file.RPCs[i].Tool
}

// Input schemas for clients have no bounds and are open; optional arguments may be null.
func TestInputSchema(t *testing.T) {
	t.Parallel()
	wantText(t, searchTool(t, contract).InputSchema, `{"type":"object","properties":{
"query":{"type":["string","null"],"description":"Words, or \"<a & b>\"."},
"kinds":{"type":["array","null"],"items":{"type":"string","enum":["a","b"]},"description":"Only these kinds."},
"like_these":{"type":"array","items":{"type":"object","properties":{
"title":{"type":["string","null"],"description":"Its title."},
"picture":{"type":["string","null"],"description":"Its picture."},
"labels":{"type":["array","null"],"items":{"type":"string"},"description":"Its labels."},
"parts":{"type":["array","null"],"items":{"type":"object","properties":{
"colour":{"type":"string","enum":["red"],"description":"Its colour."},
"fresh":{"type":["boolean","null"],"description":"Whether it is new."},
"more":{"type":["object","null"],"description":"Whatever else there is."}
},"required":["colour"]},"description":"Its parts."},
"made_at":{"type":["string","null"],"description":"When it was made."},
"count":{"type":["integer","null"],"description":"How many there are."}
}},"description":"Only these; their order counts."},
"kind":{"type":["string","null"],"enum":["a","b",null],"description":"One of them."},
"limit":{"type":["integer","null"]},
"weight":{"type":["number","null"],"description":"Its weight."},
"asker":{"type":"string","description":"Who asks."}
},"required":["like_these","asker"]}`)
}

func TestBoundedSchema(t *testing.T) {
	t.Parallel()
	wantText(t, searchTool(t, contract).BoundedSchema, `{"type":"object","properties":{
"query":{"type":"string","maxLength":100,"description":"Words, or \"<a & b>\"."},
"kinds":{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":3,"uniqueItems":true,"description":"Only these kinds."},
"like_these":{"type":"array","items":{"type":"object","properties":{
"title":{"type":"string","maxLength":20,"description":"Its title."},
"picture":{"type":"string","description":"Its picture."},
"labels":{"type":"array","items":{"type":"string","maxLength":20},"maxItems":3,"uniqueItems":true,"description":"Its labels."},
"parts":{"type":"array","items":{"type":"object","properties":{
"colour":{"type":"string","enum":["red"],"description":"Its colour."},
"fresh":{"type":"boolean","description":"Whether it is new."},
"more":{"type":"object","description":"Whatever else there is."}
},"required":["colour"],"additionalProperties":false},"maxItems":3,"description":"Its parts."},
"made_at":{"type":"string","format":"date-time","description":"When it was made."},
"count":{"type":"integer","description":"How many there are."}
},"additionalProperties":false},"minItems":1,"maxItems":5,"description":"Only these; their order counts."},
"kind":{"type":"string","enum":["a","b"],"description":"One of them."},
"limit":{"type":"integer","maximum":50,"minimum":1,"description":"Hits per page."},
"weight":{"type":"number","exclusiveMaximum":1,"exclusiveMinimum":0,"description":"Its weight."},
"asker":{"type":"string","format":"email","minLength":3,"maxLength":9,"pattern":"^.*$","description":"Who asks."}
},"required":["like_these","asker"],"additionalProperties":false}`)
}

// Answers are described by names and types, with the comments of fields that are marked; a message
// that is used twice is written once. They are open for new fields.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	wantText(t, searchTool(t, contract).OutputSchema, `{"type":"object","properties":{
"things":{"type":"array","items":{"$ref":"#/$defs/Thing"}},
"best":{"$ref":"#/$defs/Thing","description":"The best one."},
"has_more":{"type":"boolean","description":"Whether more are there."},
"others":{"type":"array","items":{"type":"object"}}
},"required":["things"],"$defs":{
"Thing":{"type":"object","properties":{
"title":{"type":"string"},
"picture":{"type":"string"},
"labels":{"type":"array","items":{"type":"string"}},
"parts":{"type":"array","items":{"type":"object","properties":{
"colour":{"type":"string"},
"fresh":{"type":"boolean"},
"more":{"type":"object"}
}}},
"made_at":{"type":"string"},
"count":{"type":"integer"}
}}}}`)
	wantText(t, searchTool(t, contract).UnlistedSchema, `{"type":"object","properties":{"summary":{"type":"string","description":"What was done."}}}`)
}

// wantText compares texts, because the order of members is the contract's.
func wantText(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	if want = strings.ReplaceAll(want, "\n", ""); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Two shared messages of one answer need two names.
func TestSharedNamesAreUnique(t *testing.T) {
	t.Parallel()
	broken := with(t, "  Thing best = 2 [(kith.tool.v1.explained) = true];", `  Thing.Part best = 2;
  // The next one.
  Thing.Part next = 4;
  // Another.
  Other.Part other = 5;
  // And another.
  Other.Part last = 6;`) + `
// Holds a message with the name of another.
message Other {
  // A part of another.
  message Part {
  }
}
`
	_, err := generate.Catalog(compile(t, map[string]string{contractPath: broken}))
	if err == nil || !strings.Contains(err.Error(), "kith.test.v1.Other.Part: has the name of kith.test.v1.Thing.Part in the answer of one tool") {
		t.Errorf("got %v", err)
	}
}

func TestMessageWithinItself(t *testing.T) {
	t.Parallel()
	_, err := generate.Catalog(compile(t, map[string]string{contractPath: with(t, "int32 count = 6;", "Thing inner = 6;")}))
	if err == nil || !strings.Contains(err.Error(), "kith.test.v1.Thing: holds a message that contains itself") {
		t.Errorf("got %v", err)
	}
}
