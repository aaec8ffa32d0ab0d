package rpc

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
)

// includeRecord is the value of include that asks for the fields of the record.
const includeRecord = "record"

// recordFilter returns a function that clears the fields of the record, such as a version, in an answer
// of a method, unless the request asks for them.
func recordFilter(method protoreflect.MethodDescriptor) func(req, answer proto.Message) {
	if !hasRecord(method.Output(), map[protoreflect.FullName]bool{}) {
		return func(_, _ proto.Message) {}
	}
	return func(req, answer proto.Message) {
		if !asksForRecord(req.ProtoReflect()) {
			clearRecord(answer.ProtoReflect())
		}
	}
}

func isRecord(field protoreflect.FieldDescriptor) bool {
	record, _ := proto.GetExtension(field.Options(), toolv1.E_Record).(bool)
	return record
}

// hasRecord reports whether a message has fields of the record, at any depth.
func hasRecord(message protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[message.FullName()] {
		return false
	}
	seen[message.FullName()] = true
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if isRecord(field) || field.Message() != nil && hasRecord(field.Message(), seen) {
			return true
		}
	}
	return false
}

// asksForRecord reports whether a request includes the record, or names the version that it expects.
func asksForRecord(req protoreflect.Message) bool {
	fields := req.Descriptor().Fields()
	if version := fields.ByName("expected_version"); version != nil && req.Has(version) {
		return true
	}
	include := fields.ByName("include")
	if include == nil {
		return false
	}
	values := req.Get(include).List()
	for i := range values.Len() {
		if values.Get(i).String() == includeRecord {
			return true
		}
	}
	return false
}

func clearRecord(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case isRecord(field):
			message.Clear(field)
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				clearRecord(value.List().Get(i).Message())
			}
		default:
			clearRecord(value.Message())
		}
		return true
	})
}
