package rpc

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kith-crm/kith/proto/catalog"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
)

// keptField is a field that an answer has even if it is zero.
type keptField struct {
	field  protoreflect.FieldDescriptor
	zero   string                       // the field with its zero value, as JSON
	unless protoreflect.FieldDescriptor // not in answers that have this field; may be nil
}

// in reports whether an answer has the field even if it is zero.
func (k keptField) in(answer protoreflect.Message) bool {
	return k.unless == nil || !answer.Has(k.unless)
}

// answersOf returns the messages that tools answer with, and their kept fields.
func answersOf(rpcs *catalog.Catalog) map[protoreflect.FullName][]keptField {
	out := map[protoreflect.FullName][]keptField{}
	for _, rpc := range rpcs.Tools() {
		answer := methodOf(rpc.Procedure).Output()
		out[answer.FullName()] = keptFields(answer)
	}
	return out
}

func keptFields(answer protoreflect.MessageDescriptor) []keptField {
	var out []keptField
	for i := range answer.Fields().Len() {
		field := answer.Fields().Get(i)
		always, _ := proto.GetExtension(field.Options(), toolv1.E_Always).(bool)
		without, _ := proto.GetExtension(field.Options(), toolv1.E_AlwaysWithout).(string)
		if !always && without == "" {
			continue
		}
		zero := "0"
		switch {
		case field.IsList():
			zero = "[]"
		case field.Kind() == protoreflect.StringKind:
			zero = `""`
		case field.Kind() == protoreflect.BoolKind:
			zero = "false"
		}
		unless := answer.Fields().ByName(protoreflect.Name(without))
		out = append(out, keptField{field, `"` + string(field.Name()) + `":` + zero, unless})
	}
	return out
}

// appendAnswer appends the answer of a tool as JSON, with the kept fields and without other fields
// that are empty, zero or false, at any depth. It returns dst and an error if the answer cannot be
// encoded. The generated structs have the JSON names of the contract; TestAnswersAreTheContract
// compares all answers with those of protojson.
func appendAnswer(dst []byte, answer proto.Message, kept []keptField) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(out, answer, answerOptions); err != nil {
		return dst, err
	}
	b := bytes.TrimSuffix(out.Bytes(), []byte("}"))
	m := answer.ProtoReflect()
	for _, one := range kept {
		if m.Has(one.field) || !one.in(m) {
			continue
		}
		if len(b) > len(dst)+1 {
			b = append(b, ',')
		}
		b = append(b, one.zero...)
	}
	return append(b, '}'), nil
}

// answerOptions leave out zero values, and write the two well-known types of answers like
// protojson.
var answerOptions = json.JoinOptions(json.OmitZeroStructFields(true), json.WithMarshalers(json.JoinMarshalers(
	json.MarshalToFunc(func(e *jsontext.Encoder, t *timestamppb.Timestamp) error {
		text := t.AsTime().Format("2006-01-02T15:04:05.000000000")
		text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(text, "000"), "000"), ".000")
		return e.WriteToken(jsontext.String(text + "Z"))
	}),
	json.MarshalFunc(func(s *structpb.Struct) ([]byte, error) { return protojson.Marshal(s) }),
)))
