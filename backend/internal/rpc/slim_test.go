package rpc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestSlim(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                                `{}`,
		`{"hits":[], "note":"", "count":0}`: `{"hits":[],"note":"","count":0}`,
		`{"a":{"b":"", "c":[], "d":0, "e":false, "f":null, "g":{}}}`:           `{"a":{"d":0,"e":false,"f":null,"g":{}}}`,
		`{"hits":[{"id":"x", "email":""}, {"emails":[], "id":"y"}, {"z":""}]}`: `{"hits":[{"id":"x"},{"id":"y"},{}]}`,
		`{"a":{"b":"\"\"", "c":"\\", "d":["", []], "":"x"}}`:                   `{"a":{"b":"\"\"","c":"\\","d":["",[]],"":"x"}}`,
		`{"a":{"b":{"c":[]}, "d":"", "e":"", "f":1}}`:                          `{"a":{"b":{},"f":1}}`,
	} {
		if got := string(slim([]byte(in))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

// Whatever the object, slim removes nothing but empty texts and lists of nested objects.
func TestSlimOfAnyJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(rapid.String(), anyJSON(3), 0, 4).Draw(t, "object")
		in, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{}
		for name, v := range object {
			want[name] = slimmed(v)
		}
		var got map[string]any
		if err := json.Unmarshal(slim(bytes.Clone(in)), &got); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\ngot  %v\nwant %v", in, got, want)
		}
	})
}

func anyJSON(depth int) *rapid.Generator[any] {
	leaf := []*rapid.Generator[any]{
		rapid.Just[any](""), rapid.Just[any](nil), rapid.Just[any](0.0), rapid.Just[any](true), rapid.Just[any]([]any{}),
		rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
	}
	if depth > 0 {
		leaf = append(leaf,
			rapid.Custom(func(t *rapid.T) any { return rapid.MapOfN(rapid.String(), anyJSON(depth-1), 0, 4).Draw(t, "map") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(anyJSON(depth-1), 0, 4).Draw(t, "list") }))
	}
	return rapid.OneOf(leaf...)
}

func slimmed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if list, ok := member.([]any); member != "" && (!ok || len(list) > 0) {
				out[name] = slimmed(member)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, entry := range v {
			out = append(out, slimmed(entry))
		}
		return out
	default:
		return v
	}
}
