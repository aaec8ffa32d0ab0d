package rpc

import (
	"encoding/json"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/kith-crm/kith/proto/catalog"
)

// Every answer of a tool equals the JSON of protojson without empty values, but with the kept
// fields.
func TestAnswersAreTheContract(t *testing.T) {
	t.Parallel()
	rpcs, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range answersOf(rpcs) {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := kind.New()
				fill(t, m, 0)
				compareAnswer(t, m.Interface(), kept)
			})
		})
	}
}

func compareAnswer(t *rapid.T, m proto.Message, kept []keptField) {
	plain, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	written, err := appendAnswer([]byte("before"), m, kept)
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal(plain, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written[len("before"):], &got); err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	want = slimmed(want).(map[string]any)
	for _, one := range kept {
		if !one.in(m.ProtoReflect()) {
			continue
		}
		var zero map[string]any
		if err := json.Unmarshal([]byte("{"+one.zero+"}"), &zero); err != nil {
			t.Fatal(err)
		}
		maps.Copy(zero, want)
		want = zero
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got)\n%s", written, diff)
	}
}

// fill sets fields of a message to values of any kind that answers have.
func fill(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case !rapid.Bool().Draw(t, string(field.Name())):
		case field.IsList():
			list := m.Mutable(field).List()
			for range rapid.IntRange(0, 2).Draw(t, "entries") {
				list.Append(anyValue(t, field, list.NewElement, depth))
			}
		default:
			m.Set(field, anyValue(t, field, func() protoreflect.Value { return m.NewField(field) }, depth))
		}
	}
}

func anyValue(t *rapid.T, field protoreflect.FieldDescriptor, empty func() protoreflect.Value, depth int) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.OneOf(rapid.Just(""), rapid.String()).Draw(t, "text"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "flag"))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.OneOf(rapid.Just[int32](0), rapid.Int32()).Draw(t, "number"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "number") + 0) // no negative zero
	case protoreflect.MessageKind:
		return anyMessage(t, empty(), depth)
	default:
		t.Fatalf("%s: answers have no fields of kind %s", field.FullName(), field.Kind())
		return protoreflect.Value{}
	}
}

func anyMessage(t *rapid.T, v protoreflect.Value, depth int) protoreflect.Value {
	switch v.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		nanos := rapid.SampledFrom([]int64{0, 120_000_000, 120_300_000, 1, 999_999_999}).Draw(t, "nanoseconds")
		return protoreflect.ValueOfMessage(timestamppb.New(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), nanos)).ProtoReflect())
	case *structpb.Struct:
		return protoreflect.ValueOfMessage((&structpb.Struct{Fields: map[string]*structpb.Value{
			"text": structpb.NewStringValue("x" + rapid.String().Draw(t, "text")), "flag": structpb.NewBoolValue(true),
		}}).ProtoReflect())
	}
	if depth < 4 {
		fill(t, v.Message(), depth+1)
	}
	return v
}

// slimmed returns v without the empty texts, lists and objects of its objects.
func slimmed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if member = slimmed(member); !isEmpty(member) {
				out[name] = member
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

func isEmpty(v any) bool {
	switch v := v.(type) {
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return v == nil
	}
}
