package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
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
	_ "github.com/kith-crm/kith/proto/gen/kith/research/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
	_ "github.com/kith-crm/kith/proto/gen/kith/timeline/v1"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
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
	data, err := os.ReadFile("catalog.json") // Load lists only tools
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

// A package of the contract that this file does not import would not be checked.
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

// The rules of access: only scoped RPCs have scopes; RPCs that write need the scope write; no
// anonymous RPC writes, except the one with which the edge announces removal dates.
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

func TestToolsFollowMCP(t *testing.T) {
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

// checkDescription fails unless a description is sentences on one line that end with the right
// price.
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

// TestSchemas compares the three schemas of each tool with its messages.
func TestSchemas(t *testing.T) {
	t.Parallel()
	known := methods(t)
	for _, rpc := range load(t).Tools() {
		m := known[rpc.Procedure]
		t.Run(rpc.Tool.Name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []*schema{
				{text: rpc.Tool.InputSchema, input: true},
				{text: rpc.Tool.BoundedSchema, input: true, bounded: true},
				{text: rpc.Tool.OutputSchema},
			} {
				s.check(t, m.Input(), m.Output())
			}
		})
	}
}

// schema is a schema with the rules that it must meet.
type schema struct {
	text json.RawMessage
	// input: it describes arguments, and each field has a description. bounded: it has
	// bounds, takes no other fields, and no null.
	input, bounded bool
	defs           map[string]any
}

// published are the keywords of the schemas for clients. They do not include bounds and
// additionalProperties, because a client that checks those fails with a worse message than the
// server's.
var published = []string{"type", "description", "enum", "items", "properties", "required", "$ref", "$defs"}

func (s *schema) check(t *testing.T, input, output protoreflect.MessageDescriptor) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(s.text, &root); err != nil {
		t.Fatal(err)
	}
	s.defs, _ = root["$defs"].(map[string]any)
	if s.input && s.defs != nil {
		t.Error("the arguments have $defs, which some clients do not follow")
	}
	m := output
	if s.input {
		m = input
	}
	s.object(t, string(m.FullName()), root, m)
	if root["type"] != "object" {
		t.Errorf("the root is of the type %v", root["type"])
	}
}

// object compares a schema with the message that it describes.
func (s *schema) object(t *testing.T, at string, node map[string]any, m protoreflect.MessageDescriptor) {
	t.Helper()
	if closed := node["additionalProperties"] == false; closed != s.bounded {
		t.Errorf("%s: additionalProperties is %v", at, node["additionalProperties"])
	}
	properties, _ := node["properties"].(map[string]any)
	listed := 0
	required := list(node["required"])
	for _, name := range required {
		if properties[name] == nil {
			t.Errorf("%s: %s is required and is not a property", at, name)
		}
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if !s.input && proto.GetExtension(f.Options(), toolv1.E_Unlisted) == true {
			continue
		}
		listed++
		property, _ := properties[string(f.Name())].(map[string]any)
		s.property(t, at+"."+string(f.Name()), property, f, slices.Contains(required, string(f.Name())))
	}
	if len(properties) != listed {
		t.Errorf("%s: %d properties, %d listed fields", at, len(properties), listed)
	}
}

func (s *schema) property(t *testing.T, at string, property map[string]any, f protoreflect.FieldDescriptor, required bool) {
	t.Helper()
	obvious := !s.bounded && proto.GetExtension(f.Options(), toolv1.E_Obvious) == true
	if text, _ := property["description"].(string); s.input && (text == "") != obvious {
		t.Errorf("%s: described as %q, obvious %t", at, text, obvious)
	}
	for keyword := range property {
		if !s.bounded && !slices.Contains(published, keyword) {
			t.Errorf("%s: %s is published", at, keyword)
		}
	}
	if nullable := len(list(property["type"])) == 2; nullable != (s.input && !s.bounded && !required) {
		t.Errorf("%s: required is %v, the type %v", at, required, property["type"])
	}
	if enum, nullable := property["enum"].([]any); nullable && slices.Contains(enum, nil) != (len(list(property["type"])) == 2) {
		t.Errorf("%s: the type is %v, enum %v", at, property["type"], enum)
	}
	if f.IsList() {
		if typeOf(property) != "array" || s.bounded && property["maxItems"] == nil {
			t.Errorf("%s: type %v, maxItems %v", at, property["type"], property["maxItems"])
		}
		property, _ = property["items"].(map[string]any)
	}
	if ref, ok := property["$ref"].(string); ok {
		property, _ = s.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	switch {
	case f.Kind() == protoreflect.StringKind && s.bounded && property["maxLength"] == nil && property["enum"] == nil:
		t.Errorf("%s: a string without bounds: %v", at, property)
	case !s.bounded && proto.GetExtension(f.Options(), toolv1.E_Undetailed) == true:
		if typeOf(property) != "object" || property["properties"] != nil {
			t.Errorf("%s: it is to be an object without details: %v", at, property)
		}
	case f.Kind() == protoreflect.MessageKind && strings.HasPrefix(string(f.Message().FullName()), "kith."):
		s.object(t, at, property, f.Message())
	case typeOf(property) == "":
		t.Errorf("%s: no type: %v", at, property)
	}
}

// typeOf returns the type of a schema that is not null.
func typeOf(node map[string]any) string {
	if name, ok := node["type"].(string); ok {
		return name
	}
	types := list(node["type"])
	if len(types) == 2 && types[1] == "null" {
		return types[0]
	}
	return ""
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
		{"a part of a name is not a scope", rpc, []string{"time", "writer"}, []string{"timeline", "write"}},
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
