package generate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/internal/generate"
)

func TestCatalog(t *testing.T) {
	t.Parallel()
	file, err := generate.Catalog(compile(t, map[string]string{contractPath: contract}))
	if err != nil {
		t.Fatal(err)
	}
	service := "/kith.test.v1.ThingService/"
	// Tools are sorted by group in the order of the enum, then in the order of the contract; RPCs that
	// are not tools are last.
	want := []*catalog.RPC{
		{
			Procedure: service + "PutThing", Access: catalog.AccessScoped, Scopes: []string{"connections", "write"}, Writes: true,
			Tool: &catalog.Tool{
				Name: "put_thing", Title: "Put a thing", Description: "Put a thing in its place. Costs 1 credit.", Group: "connections", Credits: 1,
				Annotations: catalog.Annotations{Destructive: true, Idempotent: true, OpenWorld: true},
			},
		},
		{
			Procedure: service + "AddThing", Access: catalog.AccessScoped, Scopes: []string{"connections", "write"}, Writes: true,
			Tool: &catalog.Tool{
				Name: "add_thing", Title: "Add a thing", Description: "Add a thing. Free.", Group: "connections",
			},
		},
		{
			Procedure: service + "SearchThings", Access: catalog.AccessScoped, Scopes: []string{"timeline"},
			Tool: &catalog.Tool{
				Name: "search_things", Title: "Search things", Description: "Find things by a word. Changes nothing. Costs 2 credits.",
				Group: "timeline", Credits: 2, Annotations: catalog.Annotations{ReadOnly: true, Idempotent: true},
			},
		},
		{
			Procedure: service + "GetCaller", Access: catalog.AccessCredential,
			Tool: &catalog.Tool{
				Name: "get_caller", Title: "Who am I", Description: "Tell who calls. Free.", Group: "account",
				Annotations: catalog.Annotations{ReadOnly: true, Idempotent: true},
			},
		},
		{Procedure: service + "Ping", Access: catalog.AccessAnonymous},
		{Procedure: service + "Touch", Access: catalog.AccessCredential, Writes: true},
	}
	for _, rpc := range want { // a thing and its parts are in each answer
		if rpc.Tool != nil {
			rpc.Tool.TextByOthers = []string{"labels", "more"}
		}
	}
	if len(file.RPCs) != len(want) {
		t.Fatalf("%d RPCs, want %d", len(file.RPCs), len(want))
	}
	for i, got := range file.RPCs {
		if got.Tool != nil { // TestSchemas checks them
			got.Tool.InputSchema, got.Tool.BoundedSchema, got.Tool.OutputSchema, got.Tool.UnlistedSchema = nil, nil, nil, nil
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("RPC %d is\n%s, want\n%s", i, show(t, got), show(t, want[i]))
		}
	}
	scopes := []string{"connections", "timeline", "organize", "reminders", "insights", "imports", "directory", "account", "write"}
	if !slices.Equal(file.Scopes, scopes) {
		t.Errorf("scopes %v, want %v", file.Scopes, scopes)
	}
}

func show(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCatalogIsDeterministic(t *testing.T) {
	t.Parallel()
	other := strings.NewReplacer("kith.test.v1", "kith.another.v1", "rpc ", "rpc Other").Replace(contract)
	set := compile(t, map[string]string{contractPath: contract, "kith/another/v1/thing.proto": other})
	var first []byte
	for range 5 {
		file, err := generate.Catalog(set)
		if err != nil {
			t.Fatal(err)
		}
		data, err := file.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Fatalf("the catalogue differs:\n%s\n%s", first, data)
		}
		slices.Reverse(set.File) // whatever the order of the files
	}
	if !bytes.HasSuffix(first, []byte("}\n")) {
		t.Error("no line break at the end")
	}
}

func TestCatalogRefuses(t *testing.T) {
	t.Parallel()
	const rpc, message = "kith.test.v1.ThingService.", "kith.test.v1."
	addThing := "title: \"Add a thing\"};"
	count := "int32 count = 6;"
	cases := []struct {
		name             string
		old, replacement string
		culprit, fault   string
	}{
		{"a tool without a comment", "  // Add a thing.\n", "", rpc + "AddThing", "has no comment"},
		{"a tool without a title", `title: "Put a thing"`, "", rpc + "PutThing", "has no title"},
		{"a tool without a group", `{group: TOOL_GROUP_TIMELINE title`, "{title", rpc + "SearchThings", "has no group"},
		{"a tool of the unspecified group", "TOOL_GROUP_TIMELINE", "TOOL_GROUP_UNSPECIFIED", rpc + "SearchThings", "has no group"},
		{"neither option", "    option (kith.tool.v1.access) = ACCESS_ANONYMOUS;\n", "", rpc + "Ping", "neither the tool nor the access option"},
		{"unspecified access", "ACCESS_ANONYMOUS", "ACCESS_UNSPECIFIED", rpc + "Ping", "neither the tool nor the access option"},
		{"both options", addThing, addThing + " option (kith.tool.v1.access) = ACCESS_CREDENTIAL;", rpc + "AddThing", "both the tool and the access option"},
		{"a destructive tool without side effects", `title: "Search things"`, `title: "Search things" destructive: true`, rpc + "SearchThings", "is destructive but declares NO_SIDE_EFFECTS"},
		{"a writing tool for any credential", addThing, "title: \"Add a thing\" any_credential: true};", rpc + "AddThing", "writes and may be called by any credential"},
		{"a negative price", "credits: 2", "credits: -1", rpc + "SearchThings", "negative price"},
		{"two tools of one name", "rpc AddThing(", "rpc put_thing(", rpc + "put_thing", "its tool name put_thing is taken by " + rpc + "PutThing"},

		{"a message without a comment", "// A thing.\n", "", message + "Thing", "has no comment"},
		{"a nested message without a comment", "  // A part of a thing.\n", "", message + "Thing.Part", "has no comment"},
		{"a field without a comment", "  // How many there are.\n", "", message + "Thing.count", "has no comment"},
		{"a field of a nested message without a comment", "    // Its colour.\n", "", message + "Thing.Part.colour", "has no comment"},
		{"a field of two words without json_name", `json_name = "has_more", `, "", message + "SearchThingsResponse.has_more", `needs json_name = "has_more"`},
		{"a field with another json_name", count, `int32 count = 6 [json_name = "number"];`, message + "Thing.count", `needs json_name = "count"`},
		{"an unbounded string", `string title = 1 [(buf.validate.field).string.max_len = 20];`, "string title = 1;", message + "Thing.title", "is a string without max_len or in"},
		{"a string with a pattern only", `.string.max_len = 20];`, `.string.pattern = "^a*$"];`, message + "Thing.title", "is a string without max_len or in"},
		{"unbounded bytes", "[(buf.validate.field).bytes.max_len = 20]", "", message + "Thing.picture", "is bytes without max_len"},
		{"an unbounded list", "repeated Part parts = 4 [(buf.validate.field).repeated.max_items = 3];", "repeated Part parts = 4;", message + "Thing.parts", "is a list without max_items"},
		{"a list with a lower bound only", "repeated Part parts = 4 [(buf.validate.field).repeated.max_items = 3];", "repeated Part parts = 4 [(buf.validate.field).repeated.min_items = 3];", message + "Thing.parts", "is a list without max_items"},
		{"unbounded strings in a list", "items: {string: {max_len: 20}}", "", message + "Thing.labels", "is a string without max_len or in"},
		{"strings in a list with a pattern only", "items: {string: {max_len: 20}}", `items: {string: {pattern: "a"}}`, message + "Thing.labels", "is a string without max_len or in"},
		{"an int64", count, "int64 count = 6;", message + "Thing.count", "is a 64-bit integer"},
		{"a uint64", count, "uint64 count = 6;", message + "Thing.count", "is a 64-bit integer"},
		{"a sint64", count, "sint64 count = 6;", message + "Thing.count", "is a 64-bit integer"},
		{"a fixed64", count, "fixed64 count = 6;", message + "Thing.count", "is a 64-bit integer"},
		{"an sfixed64", count, "sfixed64 count = 6;", message + "Thing.count", "is a 64-bit integer"},
		{"a list of int64", count, "repeated int64 count = 6 [(buf.validate.field).repeated.max_items = 3];", message + "Thing.count", "is a 64-bit integer"},
		{"a map", count, "map<string, int32> count = 6;", message + "Thing.count", "is a map"},
		{"an enum", count, "Size count = 6; enum Size { SIZE_UNSPECIFIED = 0; }", message + "Thing.count", "is an enum"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := compile(t, map[string]string{contractPath: with(t, c.old, c.replacement)})
			file, err := generate.Catalog(set)
			if err == nil {
				t.Fatalf("it was accepted: %s", show(t, file))
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], c.culprit+": ") || !strings.Contains(lines[0], c.fault) {
				t.Errorf("got\n%v\nwant the one fault %q of %s", err, c.fault, c.culprit)
			}
		})
	}
}

func TestToolNamesAreUniqueAcrossServices(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(contract, "kith.test.v1", "kith.z.v1")
	_, err := generate.Catalog(compile(t, map[string]string{contractPath: contract, "kith/z/v1/z.proto": other}))
	want := "kith.z.v1.ThingService.AddThing: its tool name add_thing is taken by kith.test.v1.ThingService.AddThing"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestAllFaultsAreReported(t *testing.T) {
	t.Parallel()
	broken := with(t, "  // How many there are.\n", "")
	broken = strings.Replace(broken, "credits: 2", "credits: -2", 1)
	broken = strings.Replace(broken, "max_items: 3 unique", "unique", 1)
	_, err := generate.Catalog(compile(t, map[string]string{contractPath: broken}))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("want three lines, got\n%v", err)
	}
}

// Packages with another prefix are imported, but not checked.
func TestImportedPackagesAreNotChecked(t *testing.T) {
	t.Parallel()
	foreign := `syntax = "proto3"; package other.v1; message M { int64 n = 1; } service S { rpc R(M) returns (M); }`
	file, err := generate.Catalog(compile(t, map[string]string{"other/v1/m.proto": foreign}))
	if err != nil || len(file.RPCs) != 0 {
		t.Errorf("got %s, %v", show(t, file), err)
	}
}

func TestBrokenDescriptorsAreAnError(t *testing.T) {
	t.Parallel()
	set := compile(t, map[string]string{contractPath: contract})
	set.File = set.File[len(set.File)-1:] // without its imports
	if _, err := generate.Catalog(set); err == nil || !strings.Contains(err.Error(), "link descriptors") {
		t.Errorf("got %v", err)
	}
	if file, err := generate.Catalog(&descriptorpb.FileDescriptorSet{}); err != nil || len(file.RPCs) != 0 {
		t.Errorf("nothing at all: %v", err)
	}
}

func TestPriceSentence(t *testing.T) {
	t.Parallel()
	for credits, sentence := range map[int]string{0: "Free.", 1: "Costs 1 credit.", 2: "Costs 2 credits.", 25: "Costs 25 credits."} {
		set := compile(t, map[string]string{contractPath: with(t, "credits: 2", fmt.Sprint("credits: ", credits))})
		file, err := generate.Catalog(set)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(file.RPCs, func(r *catalog.RPC) bool { return r.Tool != nil && r.Tool.Name == "search_things" })
		if tool := file.RPCs[i].Tool; tool.Credits != credits || !strings.HasSuffix(tool.Description, "nothing. "+sentence) {
			t.Errorf("%d credits: %q", tool.Credits, tool.Description)
		}
	}
}

// The answer of a tool that records a change says what it did.
func TestRecordedChangeNeedsSummary(t *testing.T) {
	t.Parallel()
	broken := with(t, "rpc AddThing(Thing) returns (Thing)", "rpc AddThing(Thing) returns (Added)") + `
// The result.
message Added {
  // The recorded change.
  string change_id = 1 [json_name = "change_id", (buf.validate.field).string.max_len = 14];
}
`
	_, err := generate.Catalog(compile(t, map[string]string{contractPath: broken}))
	if want := "kith.test.v1.ThingService.AddThing: records a change, but its answer has no summary of it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
