package discovery

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	got, err := argumentsOf([]byte(`{"type":"object","required":["z","list"],"properties":{
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
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []argument{
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

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`: "parse schema", `{"type":"string"}`: "not an object", `{"type":1}`: "parse schema", `{}`: "not an object",
	} {
		if _, err := argumentsOf([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The schemas of answers refer to definitions.
func TestReferences(t *testing.T) {
	t.Parallel()
	all, err := argumentsOf([]byte(`{"type":"object","properties":{"one":{"$ref":"#/$defs/A"},"many":{"type":"array","items":{"$ref":"#/$defs/A"}}},` +
		`"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range all {
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
		if _, err := argumentsOf([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
