package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/views"
)

var update = flag.Bool("update", false, "rewrite the schemas")

const docs = "../../../deploy/docs"

// TestSchemas: the published JSON Schemas of contacts.json and account.json are those of the records, and
// format.md names every field. That exports are valid is tested where they are made of generated people:
// TestExportImport in internal/importer.
func TestSchemas(t *testing.T) {
	t.Parallel()
	document := schemaOf(t, reflect.TypeFor[Document]())
	document.Title, document.Properties["format"] = "contacts.json, "+Format, constant(Format)
	page, err := os.ReadFile(filepath.Join(docs, "format.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range map[string]*jsonschema.Schema{"kith-connections-1": document, "kith-export-1": accountSchema(t)} {
		schema.Schema = "https://json-schema.org/draft/2020-12/schema"
		got, err := json.MarshalIndent(schema, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join(docs, "schemas", name+".schema.json")
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs; go test -update writes it (-file +records):\n%s", path, diff)
		}
		for _, field := range fieldsOf(schema) {
			if !bytes.Contains(page, []byte("`"+field+"`")) {
				t.Errorf("format.md does not say what `%s` of %s is", field, name)
			}
		}
	}
}

// accountSchema returns the schema of account.json: the account, and a list for each kind of object.
func accountSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s := &jsonschema.Schema{Title: "account.json, " + AccountFormat, Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	add := func(name string, part *jsonschema.Schema) {
		s.Properties[name] = part
		s.PropertyOrder, s.Required = append(s.PropertyOrder, name), append(s.Required, name)
	}
	of := Account{Member: &account.Member{}, Profile: &account.Profile{}}
	for _, part := range of.objects(time.Time{}) {
		if part.name == "format" {
			add(part.name, constant(AccountFormat))
			continue
		}
		add(part.name, schemaOf(t, reflect.TypeOf(part.value)))
	}
	for _, object := range []any{
		&people.Connection{}, &people.Organization{}, &groups.Group{}, &people.Relationship{}, &people.DistinctPair{}, &reminders.Reminder{},
		&timeline.Note{}, &timeline.Interaction{}, &views.View{}, &people.Field{}, &history.Change{},
	} {
		list, shape := shapeOf(object)
		add(list, &jsonschema.Schema{Type: "array", Items: schemaOf(t, reflect.TypeOf(shape))})
	}
	for i, list := range lists() {
		if s.PropertyOrder[len(s.PropertyOrder)-len(lists())+i] != list {
			t.Errorf("the list %s has no schema", list)
		}
	}
	add("complete", constant(true))
	return s
}

func constant(value any) *jsonschema.Schema { return &jsonschema.Schema{Const: &value} }

// schemaOf returns the schema of a type. Times are in UTC, a list is never null, and what recorded changes were is any JSON.
func schemaOf(t *testing.T, of reflect.Type) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`},
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	withoutNull(s)
	return s
}

// withoutNull makes every list one that is never null.
func withoutNull(s *jsonschema.Schema) {
	if s.Items != nil {
		s.Type, s.Types = "array", nil
		withoutNull(s.Items)
	}
	for _, part := range s.Properties {
		withoutNull(part)
	}
}

// fieldsOf returns the names of all properties of a schema.
func fieldsOf(s *jsonschema.Schema) []string {
	var names []string
	for name, part := range s.Properties {
		names = append(append(names, name), fieldsOf(part)...)
	}
	if s.Items != nil {
		names = append(names, fieldsOf(s.Items)...)
	}
	return names
}
