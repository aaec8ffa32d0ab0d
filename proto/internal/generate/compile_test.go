package generate_test

import (
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// contract is a small contract that Catalog accepts; tests change one place to make it invalid.
const contract = `syntax = "proto3";
package kith.test.v1;

import "buf/validate/validate.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "kith/tool/v1/tool.proto";

// Things.
service ThingService {
  // Find things by
  // a word.
  //
  // Changes nothing.
  rpc SearchThings(SearchThingsRequest) returns (SearchThingsResponse) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (kith.tool.v1.tool) = {group: TOOL_GROUP_TIMELINE title: "Search things" credits: 2};
  }

  // Put a thing in its place.
  rpc PutThing(Thing) returns (Thing) {
    option idempotency_level = IDEMPOTENT;
    option (kith.tool.v1.tool) = {group: TOOL_GROUP_CONNECTIONS title: "Put a thing" credits: 1 destructive: true open_world: true};
  }

  // Add a thing.
  rpc AddThing(Thing) returns (Thing) {
    option (kith.tool.v1.tool) = {group: TOOL_GROUP_CONNECTIONS title: "Add a thing"};
  }

  // Tell who calls.
  rpc GetCaller(Thing) returns (Thing) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (kith.tool.v1.tool) = {group: TOOL_GROUP_ACCOUNT title: "Who am I" any_credential: true};
  }

  rpc Ping(Thing) returns (Thing) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (kith.tool.v1.access) = ACCESS_ANONYMOUS;
  }

  rpc Touch(Thing) returns (Thing) {
    option (kith.tool.v1.access) = ACCESS_CREDENTIAL;
  }
}

// What to look for.
message SearchThingsRequest {
  // Words, or
  // "<a & b>".
  optional string query = 1 [(buf.validate.field).string.max_len = 100];
  // Only these kinds.
  repeated string kinds = 2 [(buf.validate.field).repeated = {max_items: 3 unique: true items: {string: {in: ["a", "b"]}}}];
  // Only these; their order counts.
  repeated Thing like_these = 3 [json_name = "like_these", (buf.validate.field).repeated = {min_items: 1 max_items: 5}];
  // One of them.
  optional string kind = 4 [(buf.validate.field).string = {in: ["a", "b"]}];
  // Hits per page.
  optional int32 limit = 5 [(kith.tool.v1.obvious) = true, (buf.validate.field).int32 = {gte: 1 lte: 50}];
  // Its weight.
  optional double weight = 6 [(buf.validate.field).double = {gt: 0 lt: 1}];
  // Who asks.
  string asker = 7 [(buf.validate.field).required = true, (buf.validate.field).string = {email: true min_len: 3 max_len: 9 pattern: "^.*$"}];
}

// A page of things.
message SearchThingsResponse {
  // The things.
  repeated Thing things = 1 [(buf.validate.field).required = true, (buf.validate.field).repeated.max_items = 5];
  // The best one.
  Thing best = 2 [(kith.tool.v1.explained) = true];
  // Whether
  // more are there.
  bool has_more = 3 [json_name = "has_more", (kith.tool.v1.explained) = true];
  // The others.
  repeated Thing others = 9 [(buf.validate.field).repeated.max_items = 3, (kith.tool.v1.undetailed) = true];
  // What was done.
  string summary = 10 [(buf.validate.field).string.max_len = 20, (kith.tool.v1.unlisted) = true];
}

// A thing.
message Thing {
  // Its title.
  string title = 1 [(buf.validate.field).string.max_len = 20];
  // Its picture.
  bytes picture = 2 [(buf.validate.field).bytes.max_len = 20];
  // Its labels.
  repeated string labels = 3 [(buf.validate.field).repeated = {max_items: 3 unique: true items: {string: {max_len: 20}}}, (kith.tool.v1.text_by_others) = true];
  // Its parts.
  repeated Part parts = 4 [(buf.validate.field).repeated.max_items = 3];
  // When it was made.
  google.protobuf.Timestamp made_at = 5 [json_name = "made_at"];
  // How many there are.
  int32 count = 6;

  // A part of a thing.
  message Part {
    // Its colour.
    string colour = 1 [(buf.validate.field).string.in = "red"];
    // Whether it is new.
    bool fresh = 2;
    // Whatever else there is.
    google.protobuf.Struct more = 3 [(kith.tool.v1.text_by_others) = true];
  }
}
`

const contractPath = "kith/test/v1/thing.proto"

// compile returns the descriptor set of sources (path → text) and all that they
// import, with comments, as buf writes it. tool.proto is the module's own file;
// validate.proto and Google's files are those compiled into the program.
func compile(t *testing.T, sources map[string]string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)},
			&protocompile.SourceResolver{ImportPaths: []string{"../.."}},
			protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
				file, err := protoregistry.GlobalFiles.FindFileByPath(path)
				return protocompile.SearchResult{Desc: file}, err
			}),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	paths := make([]string, 0, len(sources))
	for path := range sources {
		paths = append(paths, path)
	}
	files, err := compiler.Compile(t.Context(), paths...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			imported := file.Imports().Get(i).FileDescriptor
			if found := files.FindFileByPath(imported.Path()); found != nil {
				imported = found
			}
			add(imported)
		}
		set.File = append(set.File, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, file := range files {
		add(file)
	}
	return reread(t, set)
}

// reread gives options their generated types, as reading the file from disk does.
func reread(t *testing.T, set *descriptorpb.FileDescriptorSet) *descriptorpb.FileDescriptorSet {
	t.Helper()
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatalf("encode descriptors: %v", err)
	}
	out := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, out); err != nil {
		t.Fatalf("decode descriptors: %v", err)
	}
	return out
}

// with returns the contract with one piece of its text replaced.
func with(t *testing.T, old, replacement string) string {
	t.Helper()
	if strings.Count(contract, old) != 1 {
		t.Fatalf("%q is %d times in the contract", old, strings.Count(contract, old))
	}
	return strings.Replace(contract, old, replacement, 1)
}
