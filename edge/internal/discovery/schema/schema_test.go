package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery/schema"
)

func parse(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// object returns the schema of an object with one required property.
func object(property string) string {
	return `{"type":"object","additionalProperties":false,"required":["p"],"properties":{"p":` + property + `}}`
}

// validate checks arguments against a schema with a full JSON Schema validator.
func validate(t *testing.T, text []byte, arguments map[string]any) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(plain, &value); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s: %v", plain, err)
	}
}

// TestExamplesOfTheCatalogue generates arguments for each tool: all of them, and the required ones
// only.
func TestExamplesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, rpc := range c.Tools() {
		s := parse(t, string(rpc.Tool.BoundedSchema))
		var all []string
		for _, a := range s.Arguments() {
			if !strings.ContainsAny(a.Name, ".[") { // nested arguments are left out
				all = append(all, a.Name)
			}
		}
		for _, also := range [][]string{nil, all} {
			made, err := s.Example(schema.Values{}, also...)
			if err != nil {
				t.Errorf("%s: %v", rpc.Tool.Name, err)
				continue
			}
			if len(made) < len(also) {
				t.Errorf("%s: %v lacks some of %v", rpc.Tool.Name, made, also)
			}
			validate(t, rpc.Tool.BoundedSchema, made)
		}
	}
}

func TestExampleOfEachKind(t *testing.T) {
	t.Parallel()
	for name, property := range map[string]string{
		"string":           `{"type":"string"}`,
		"long string":      `{"type":"string","minLength":30}`,
		"short string":     `{"type":"string","maxLength":2}`,
		"date-time":        `{"type":"string","format":"date-time"}`,
		"date":             `{"type":"string","format":"date"}`,
		"email":            `{"type":"string","format":"email"}`,
		"uri":              `{"type":"string","format":"uri"}`,
		"id":               `{"type":"string","pattern":"^con_[0-9A-HJKMNP-TV-Z]{26}$","maxLength":30}`,
		"day":              `{"type":"string","pattern":"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"}`,
		"address":          `{"type":"string","pattern":"^https?://[^\\s]+$"}`,
		"open pattern":     `{"type":"string","pattern":"a+b*c?.(d|e){2,}"}`,
		"enum":             `{"type":"string","enum":["b","a"]}`,
		"integer":          `{"type":"integer","minimum":5,"maximum":9}`,
		"small integer":    `{"type":"integer","maximum":0}`,
		"exclusive":        `{"type":"integer","exclusiveMinimum":7,"exclusiveMaximum":9}`,
		"number":           `{"type":"number"}`,
		"boolean":          `{"type":"boolean"}`,
		"array":            `{"type":"array","items":{"type":"string"},"maxItems":3}`,
		"array of two":     `{"type":"array","items":{"type":"string"},"minItems":2}`,
		"array of what":    `{"type":"array"}`,
		"array of objects": `{"type":"array","items":{"type":"object","required":["q"],"properties":{"q":{"type":"string"}}}}`,
		"object":           `{"type":"object","required":["q"],"properties":{"q":{"type":"integer"},"r":{"type":"string"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := parse(t, object(property)).Example(schema.Values{})
			if err != nil {
				t.Fatal(err)
			}
			validate(t, []byte(object(property)), made)
		})
	}
}

func TestExampleTakesWhatIsAllowed(t *testing.T) {
	t.Parallel()
	values := schema.Values{
		Named:   map[string][]any{"p": {"far too long for it", 12, "fits", []any{"a", "b"}, map[string]any{"q": "x"}}},
		Strings: []string{"nothing", "con_B"},
	}
	for property, want := range map[string]any{
		`{"type":"string","maxLength":5}`:                                            "fits",
		`{"type":"integer"}`:                                                         12,
		`{"type":"array","items":{"type":"string"}}`:                                 []any{"a", "b"},
		`{"type":"array","items":{"type":"integer"}}`:                                []any{12},
		`{"type":"array","maxItems":1,"items":{"type":"string"}}`:                    []any{"far too long for it"},
		`{"type":"string","pattern":"^con_[A-Z]$"}`:                                  "con_B",
		`{"type":"string","examples":["theirs"]}`:                                    "theirs",
		`{"type":"string","maxLength":2,"examples":["theirs","ok"]}`:                 "ok",
		`{"type":"object","properties":{"q":{"type":"string"}}}`:                     map[string]any{"q": "x"},
		`{"type":"string","enum":["a","fits"]}`:                                      "fits",
		`{"type":"boolean"}`:                                                         true,
		`{"type":"array","uniqueItems":true,"items":{"type":"string"},"minItems":1}`: []any{"a", "b"},
	} {
		made, err := parse(t, object(property)).Example(values)
		if err != nil {
			t.Errorf("%s: %v", property, err)
			continue
		}
		if diff := cmp.Diff(want, made["p"]); diff != "" {
			t.Errorf("%s:\n%s", property, diff)
		}
	}
}

func TestNoExample(t *testing.T) {
	t.Parallel()
	for name, property := range map[string]string{
		"two alike":        `{"type":"array","uniqueItems":true,"minItems":2,"items":{"type":"string"}}`,
		"no such type":     `{"type":"thing"}`,
		"impossible":       `{"type":"string","pattern":"^aaaa$","maxLength":2}`,
		"nested":           `{"type":"object","required":["q"],"properties":{"q":{"type":"thing"}}}`,
		"items":            `{"type":"array","items":{"type":"thing"}}`,
		"unknown format":   `{"type":"string","format":"date","enum":["x"]}`,
		"broken pattern":   `{"type":"string","pattern":"("}`,
		"between integers": `{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2}`,
	} {
		if made, err := parse(t, object(property)).Example(schema.Values{}); err == nil {
			t.Errorf("%s: %v", name, made)
		}
	}
	if _, err := parse(t, object(`{"type":"thing"}`)).Example(schema.Values{}); !errors.Is(err, schema.ErrNoExample) {
		t.Errorf("got %v", err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	got := parse(t, `{"type":"object","required":["z","list"],"properties":{
		"z":{"type":"string","minLength":1,"maxLength":9,"description":"Last, but required."},
		"a":{"type":"integer","minimum":0,"maximum":10},
		"b":{"type":"integer","minimum":1,"exclusiveMaximum":8},
		"c":{"type":"number","exclusiveMinimum":0.5,"maximum":2},
		"d":{"type":"string","format":"date-time"},
		"e":{"type":"string","enum":["x","y"],"minLength":1},
		"f":{"type":"array","items":{"type":"string","pattern":"^q$","maxLength":1},"maxItems":5,"minItems":1,"uniqueItems":true},
		"g":{"type":"string","minLength":2},
		"h":{},
		"i":{"type":"integer","enum":[1,2]},
		"j":{"type":"string","minLength":2,"maxLength":2},
		"k":{"type":"number","maximum":3},
		"list":{"type":"array","items":{"type":"object","required":["label"],"properties":{"label":{"type":"string"}}},"maxItems":1},
		"place":{"type":"object","properties":{"city":{"type":"string"}},"description":"Where."}
	}}`).Arguments()
	want := []schema.Argument{
		{Name: "list", Type: "array of object", Required: true, Bounds: []string{"at most 1 item"}},
		{Name: "list[].label", Type: "string", Required: true},
		{Name: "z", Type: "string", Required: true, Bounds: []string{"1 to 9 characters"}, Description: "Last, but required."},
		{Name: "a", Type: "integer", Bounds: []string{"0 to 10"}},
		{Name: "b", Type: "integer", Bounds: []string{"at least 1, less than 8"}},
		{Name: "c", Type: "number", Bounds: []string{"more than 0.5, at most 2"}},
		{Name: "d", Type: "string (date-time)"},
		{Name: "e", Type: "string", Bounds: []string{"one of x, y"}},
		{Name: "f", Type: "array of string", Bounds: []string{"1 to 5 items", "no two alike", "each at most 1 character"}, Pattern: "^q$"},
		{Name: "g", Type: "string", Bounds: []string{"at least 2 characters"}},
		{Name: "h", Type: "any"},
		{Name: "i", Type: "integer", Bounds: []string{"one of 1, 2"}},
		{Name: "j", Type: "string", Bounds: []string{"exactly 2 characters"}},
		{Name: "k", Type: "number", Bounds: []string{"at most 3"}},
		{Name: "place", Type: "object", Description: "Where."},
		{Name: "place.city", Type: "string"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	s := parse(t, `{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string"}}}}`)
	for arguments, want := range map[string]bool{
		`{"a":1}`: true, `{"a":1,"b":["x"]}`: true, `{}`: false, `{"a":1.5}`: false, `{"a":"1"}`: false, `{"a":1,"c":2}`: false,
		`{"a":1,"b":[1]}`: false, `{"a":null}`: false, `[]`: false, `nonsense`: false,
	} {
		if got := s.Allows([]byte(arguments)); got != want {
			t.Errorf("%s: %t", arguments, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`: "parse schema", `{"type":"string"}`: "not an object", `{"type":1}`: "parse schema", `{}`: "not an object",
	} {
		if _, err := schema.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The schemas of answers refer to definitions.
func TestReferences(t *testing.T) {
	t.Parallel()
	s := parse(t, `{"type":"object","properties":{"one":{"$ref":"#/$defs/A"},"many":{"type":"array","items":{"$ref":"#/$defs/A"}}},`+
		`"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"string"}}}`)
	var got []string
	for _, a := range s.Arguments() {
		got = append(got, a.Name+" "+a.Type)
	}
	if diff := cmp.Diff([]string{"many array of object", "many[].b string", "one object", "one.b string"}, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/A"}}}}`,
		`{"type":"object","$defs":{"B":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}`,
	} {
		if _, err := schema.Parse([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
