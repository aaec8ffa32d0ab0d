package rpc_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/kith-crm/kith/proto/catalog"
)

// schema is the part of JSON Schema that the catalogue uses. Decoding fails on any other
// keyword, so that the generator does not ignore one.
type schema struct {
	Type                 string
	Description          string
	Properties           map[string]*schema
	Required             []string
	AdditionalProperties bool
	Items                *schema
	MinItems, MaxItems   int
	UniqueItems          bool
	Enum                 []string
	Format               string
	Pattern              string
	MinLength, MaxLength int
	Minimum, Maximum     *float64
	ExclusiveMaximum     *float64

	pattern *regexp.Regexp
}

// inputs returns the schemas of what the tools take, by the tools' names.
func inputs(t *testing.T, rpcs *catalog.Catalog) map[string]*schema {
	t.Helper()
	all := map[string]*schema{}
	for _, tool := range rpcs.Tools() {
		reader := json.NewDecoder(bytes.NewReader(tool.Tool.BoundedSchema))
		reader.DisallowUnknownFields()
		s := &schema{}
		if err := reader.Decode(s); err != nil {
			t.Fatalf("%s: the generator of arguments does not know its schema: %v", tool.Tool.Name, err)
		}
		s.prepare()
		all[tool.Tool.Name] = s
	}
	return all
}

func (s *schema) prepare() {
	if s.Pattern != "" {
		s.pattern = regexp.MustCompile(s.Pattern)
	}
	for _, p := range s.Properties {
		p.prepare()
	}
	if s.Items != nil {
		s.Items.prepare()
	}
}

// takes reports whether a text meets the schema.
func (s *schema) takes(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= s.MinLength && (s.MaxLength == 0 || n <= s.MaxLength) && (s.pattern == nil || s.pattern.MatchString(text))
}
