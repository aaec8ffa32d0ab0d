package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/kith-crm/kith/proto/catalog"
	// The contract's services register themselves.
	_ "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/imports/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/jobs/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
)

func load(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// methods returns every RPC of the generated code, by its path.
func methods(t *testing.T) map[string]protoreflect.MethodDescriptor {
	t.Helper()
	out := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "kith.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				out[fmt.Sprintf("/%s/%s", service.FullName(), m.Name())] = m
			}
		}
		return true
	})
	if len(out) == 0 {
		t.Fatal("no generated service is registered")
	}
	return out
}

func TestEveryGeneratedMethodIsInTheCatalogue(t *testing.T) {
	t.Parallel()
	c := load(t)
	for path := range methods(t) {
		rpc, ok := c.Procedure(path)
		if !ok || rpc.Procedure != path {
			t.Errorf("%s is not in the catalogue: run make gen", path)
		}
	}
}

func TestEveryEntryIsAGeneratedMethod(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("catalog.json") // the reader does not list what is no tool
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ RPCs []catalog.RPC }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	known := methods(t)
	if len(file.RPCs) != len(known) {
		t.Errorf("%d entries, %d generated methods", len(file.RPCs), len(known))
	}
	for _, rpc := range file.RPCs {
		if _, ok := known[rpc.Procedure]; !ok {
			t.Errorf("%s is in the catalogue but not in the generated code", rpc.Procedure)
		}
	}
}

// A package of the contract that this file does not import would go unchecked.
func TestEveryGeneratedPackageIsChecked(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../gen/kith/*/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no generated code: %v", err)
	}
	for _, folder := range folders {
		version := filepath.Base(folder)
		name := protoreflect.FullName("kith." + filepath.Base(filepath.Dir(folder)) + "." + version)
		if protoregistry.GlobalFiles.NumFilesByPackage(name) == 0 {
			t.Errorf("import the generated code of %s here", name)
		}
	}
}

func TestUnknownProcedureIsNotFound(t *testing.T) {
	t.Parallel()
	c := load(t)
	for _, path := range []string{"", "/", "search_connections", "kith.account.v1.AccountService/GetAccount", "/kith.account.v1.AccountService/getaccount"} {
		if rpc, ok := c.Procedure(path); ok || rpc != nil {
			t.Errorf("%q is %v", path, rpc)
		}
	}
	for _, name := range []string{"", "SearchConnections", "Search_Connections", "search_connections "} {
		if rpc, ok := c.Tool(name); ok || rpc != nil {
			t.Errorf("the tool %q is %v", name, rpc)
		}
	}
}

// The rules of access: a scope for what is scoped, none for what is not; what
// writes asks for the writing scope; nothing anonymous writes, but for the removal
// dates that the edge itself announces.
func TestAccess(t *testing.T) {
	t.Parallel()
	c := load(t)
	for path := range methods(t) {
		rpc, _ := c.Procedure(path)
		switch rpc.Access {
		case catalog.AccessScoped:
			if len(rpc.Scopes) == 0 || slices.Contains(rpc.Scopes, catalog.ScopeWrite) != rpc.Writes {
				t.Errorf("%s: writes is %v, scopes are %v", path, rpc.Writes, rpc.Scopes)
			}
		case catalog.AccessAnonymous, catalog.AccessCredential:
			ofTheEdge := path == "/kith.sunset.v1.SunsetService/AnnounceSunset"
			if len(rpc.Scopes) != 0 || rpc.Writes && rpc.Access == catalog.AccessAnonymous && !ofTheEdge {
				t.Errorf("%s: %s, writes is %v, scopes are %v", path, rpc.Access, rpc.Writes, rpc.Scopes)
			}
		default:
			t.Errorf("%s: access is %q", path, rpc.Access)
		}
		for _, scope := range rpc.Scopes {
			if !c.HasScope(scope) {
				t.Errorf("%s: there is no scope %q", path, scope)
			}
		}
	}
}

func TestToolsAreWhatMCPWants(t *testing.T) {
	t.Parallel()
	c := load(t)
	if len(c.Tools()) == 0 {
		t.Fatal("no tools")
	}
	name := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`) // within MCP's [A-Za-z0-9_.-]{1,128}
	titles := map[string]string{}
	for _, rpc := range c.Tools() {
		t.Run(rpc.Tool.Name, func(t *testing.T) {
			tool := rpc.Tool
			if !name.MatchString(tool.Name) || len(tool.Name) > 64 {
				t.Errorf("the name is %q", tool.Name)
			}
			if found, ok := c.Tool(tool.Name); !ok || found != rpc {
				t.Error("it is not found by its name")
			}
			if tool.Title == "" || titles[tool.Title] != "" {
				t.Errorf("the title %q is empty or that of %s", tool.Title, titles[tool.Title])
			}
			titles[tool.Title] = tool.Name
			checkDescription(t, tool)
			if want := (catalog.Annotations{ReadOnly: !rpc.Writes, Destructive: tool.Annotations.Destructive && rpc.Writes,
				Idempotent: tool.Annotations.Idempotent || !rpc.Writes, OpenWorld: tool.Annotations.OpenWorld}); tool.Annotations != want {
				t.Errorf("annotations are %+v, writes is %v", tool.Annotations, rpc.Writes)
			}
			if !c.HasScope(tool.Group) || tool.Group == catalog.ScopeWrite {
				t.Errorf("the group is %q", tool.Group)
			}
			if rpc.Access == catalog.AccessScoped && rpc.Scopes[0] != tool.Group {
				t.Errorf("the scopes are %v, the group is %s", rpc.Scopes, tool.Group)
			}
		})
	}
}

// checkDescription wants sentences on one line, the price last, and agrees with
// the price.
func checkDescription(t *testing.T, tool *catalog.Tool) {
	t.Helper()
	price := fmt.Sprintf(" Costs %d credits.", tool.Credits)
	switch {
	case tool.Credits < 0:
		t.Errorf("the price is %d", tool.Credits)
	case tool.Credits == 0:
		price = " Free."
	case tool.Credits == 1:
		price = " Costs 1 credit."
	}
	text, ok := strings.CutSuffix(tool.Description, price)
	if !ok || len(text) < 20 || strings.ContainsAny(text, "\n\t") || !strings.HasSuffix(text, ".") {
		t.Errorf("the description is %q, the price %d", tool.Description, tool.Credits)
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	known := methods(t)
	for _, rpc := range load(t).Tools() {
		m := known[rpc.Procedure]
		t.Run(rpc.Tool.Name, func(t *testing.T) {
			t.Parallel()
			checkSchema(t, rpc.Tool.InputSchema, m.Input(), false)
			checkSchema(t, rpc.Tool.OutputSchema, m.Output(), true)
		})
	}
}

func checkSchema(t *testing.T, data json.RawMessage, m protoreflect.MessageDescriptor, output bool) {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatalf("%s: %v", m.FullName(), err)
	}
	for _, word := range []string{`"$ref"`, `"$id"`, `"$schema"`, `"$defs"`} {
		if strings.Contains(string(data), word) {
			t.Errorf("%s: the schema holds %s", m.FullName(), word)
		}
	}
	checkObject(t, string(m.FullName()), schema, m, output)
}

// checkObject compares a schema with the message that it describes.
func checkObject(t *testing.T, at string, schema map[string]any, m protoreflect.MessageDescriptor, output bool) {
	t.Helper()
	if schema["type"] != "object" {
		t.Errorf("%s: the type is %v", at, schema["type"])
	}
	if _, text := schema["title"].(string); text {
		t.Errorf("%s: has a title", at)
	}
	if closed := reflect.DeepEqual(schema["additionalProperties"], false); closed == output {
		t.Errorf("%s: additionalProperties is %v", at, schema["additionalProperties"])
	}
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) != m.Fields().Len() {
		t.Errorf("%s: %d properties, %d fields", at, len(properties), m.Fields().Len())
	}
	required := map[string]bool{}
	for _, name := range list(schema["required"]) {
		if required[name] || properties[name] == nil {
			t.Errorf("%s: %s is required twice or is no property", at, name)
		}
		required[name] = true
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		property, _ := properties[string(f.Name())].(map[string]any)
		checkProperty(t, at+"."+string(f.Name()), property, f, output)
		if output && f.IsList() && !required[string(f.Name())] {
			t.Errorf("%s.%s: a list that is not required", at, f.Name())
		}
	}
}

func checkProperty(t *testing.T, at string, property map[string]any, f protoreflect.FieldDescriptor, output bool) {
	t.Helper()
	if text, _ := property["description"].(string); text == "" {
		t.Errorf("%s: no description", at)
	}
	if f.IsList() {
		if property["type"] != "array" || property["maxItems"] == nil {
			t.Errorf("%s: type %v, maxItems %v", at, property["type"], property["maxItems"])
		}
		property, _ = property["items"].(map[string]any)
	}
	switch {
	case f.Kind() == protoreflect.StringKind && property["maxLength"] == nil && property["enum"] == nil && property["const"] == nil:
		t.Errorf("%s: a string without bounds: %v", at, property)
	case f.Kind() == protoreflect.MessageKind && strings.HasPrefix(string(f.Message().FullName()), "kith."):
		checkObject(t, at, property, f.Message(), output)
	case property["type"] == nil:
		t.Errorf("%s: no type: %v", at, property)
	}
}

// list returns the texts of a JSON list.
func list(v any) []string {
	var out []string
	items, _ := v.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func TestOrderIsThatOfTheGroups(t *testing.T) {
	t.Parallel()
	first, second := load(t), load(t)
	if !slices.Equal(first.ToolNames(), second.ToolNames()) || !slices.Equal(first.Scopes(), second.Scopes()) {
		t.Error("reading twice gives two orders")
	}
	var names []string
	last := -1
	for _, rpc := range first.Tools() {
		names = append(names, rpc.Tool.Name)
		group := slices.Index(first.Scopes(), rpc.Tool.Group)
		if group < last {
			t.Errorf("%s comes after a later group", rpc.Tool.Name)
		}
		last = group
	}
	if !slices.Equal(names, first.ToolNames()) {
		t.Errorf("Tools %v, ToolNames %v", names, first.ToolNames())
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(first.Tools()) {
		t.Error("a name is given twice")
	}
}

func TestHasScope(t *testing.T) {
	t.Parallel()
	c := load(t)
	for scope, want := range map[string]bool{
		"connections": true, "timeline": true, "account": true, catalog.ScopeWrite: true,
		"": false, "Connections": false, "write ": false, "admin": false, "connections write": false,
	} {
		if got := c.HasScope(scope); got != want {
			t.Errorf("HasScope(%q) = %v", scope, got)
		}
	}
	for _, scope := range c.Scopes() {
		if !c.HasScope(scope) {
			t.Errorf("%q is listed but not known", scope)
		}
	}
}

func TestCallersCannotChangeTheScopes(t *testing.T) {
	t.Parallel()
	c := load(t)
	c.Scopes()[0] = "changed"
	if c.HasScope("changed") {
		t.Error("the catalogue was changed")
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	rpc := &catalog.RPC{Scopes: []string{"timeline", "write"}}
	cases := []struct {
		name         string
		rpc          *catalog.RPC
		held, misses []string
	}{
		{"none held", rpc, nil, []string{"timeline", "write"}},
		{"one held", rpc, []string{"write"}, []string{"timeline"}},
		{"another held", rpc, []string{"connections", "timeline"}, []string{"write"}},
		{"all held, in any order", rpc, []string{"write", "connections", "timeline"}, nil},
		{"a part of a name is no scope", rpc, []string{"time", "writer"}, []string{"timeline", "write"}},
		{"none wanted", &catalog.RPC{}, nil, nil},
		{"none wanted, some held", &catalog.RPC{}, []string{"write"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.rpc.Missing(c.held); !slices.Equal(got, c.misses) {
				t.Errorf("Missing(%v) = %v, want %v", c.held, got, c.misses)
			}
		})
	}
}
