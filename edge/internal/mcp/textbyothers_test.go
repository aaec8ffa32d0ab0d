package mcp

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var marked = othersText{`"body"`, `"name"`, `"tags"`}

func TestMark(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{}`:                          ``,
		`{"id":"con_1","count":2}`:    ``,
		`{"name":"Ana"}`:              `"text_by_others":["name"],`,
		`{"name":"","tags":[]}`:       ``,
		`{"name":"","tags":[""]}`:     `"text_by_others":["tags"],`,
		`{"name" : "", "tags": [ ] }`: ``,
		"{\"a\":{\"name\"\n:\t\"x\"},\"tags\":[ \"y\" ]}":       `"text_by_others":["name","tags"],`,
		`{"hits":[{"name":""},{"name":"Zoë"}]}`:                 `"text_by_others":["name"],`,
		`{"kind":"name","note":"\"name\":\"x\" \\","body":"b"}`: `"text_by_others":["body"],`,
		`{"name":{"a":1}}`:       `"text_by_others":["name"],`,
		`{"name":{}}`:            ``,
		`{"name":"]"}`:           `"text_by_others":["name"],`,
		`{"name":null,"body":0}`: ``,
	} {
		compact := jsontext.Value(answer)
		if err := compact.Compact(); err != nil {
			t.Fatal(err)
		}
		if got := string(marked.mark(compact)); got != want {
			t.Errorf("%s is marked %q, want %q", answer, got, want)
		}
	}
}

// mark finds the same fields as a JSON decoder, for any text.
func TestMarkAgreesWithDecoder(t *testing.T) {
	t.Parallel()
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"name":"x"`, `\"body":`, `\`, `{"tags":["`, "name", ""}))
	rapid.Check(t, func(rt *rapid.T) {
		objects := rapid.SliceOfN(rapid.MapOfN(rapid.SampledFrom([]string{"name", "body", "tags", "note", "id"}), words, 0, 5), 0, 3).Draw(rt, "objects")
		want := map[string]bool{}
		for _, object := range objects {
			for name, text := range object {
				if text != "" && slices.Contains([]string{"name", "body", "tags"}, name) {
					want[name] = true
				}
			}
		}
		answer, err := json.Marshal(map[string]any{"objects": objects})
		if err != nil {
			rt.Fatal(err)
		}
		var read struct {
			Names []string `json:"text_by_others"`
		}
		whole := append(append([]byte{'{'}, marked.mark(answer[1:])...), answer[1:]...)
		if err := json.Unmarshal(whole, &read); err != nil {
			rt.Fatalf("%s: %v", whole, err)
		}
		got := map[string]bool{}
		for _, name := range read.Names {
			got[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("%s:\n%s", answer, diff)
		}
	})
}
