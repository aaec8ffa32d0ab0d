package generate

import (
	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// message checks every field of a public message, nested messages included.
func (b *builder) message(m protoreflect.MessageDescriptor) {
	if m.IsMapEntry() {
		return // reported with its field
	}
	if comment(m) == "" {
		b.fault(m, "has no comment")
	}
	for i := range m.Fields().Len() {
		b.field(m.Fields().Get(i))
	}
	for i := range m.Messages().Len() {
		b.message(m.Messages().Get(i))
	}
}

func (b *builder) field(f protoreflect.FieldDescriptor) {
	if comment(f) == "" {
		b.fault(f, "has no comment; agents read it in the schema")
	}
	if f.JSONName() != string(f.Name()) {
		b.fault(f, "needs json_name = %q, so that JSON has one spelling only", f.Name())
	}
	rules := rulesOf(f)
	switch {
	case f.IsMap():
		b.fault(f, "is a map; public messages use lists of entries")
		return
	case f.IsList():
		if rules.GetRepeated() == nil || rules.GetRepeated().MaxItems == nil {
			b.fault(f, "is a list without max_items")
		}
		rules = rules.GetRepeated().GetItems()
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		if s := rules.GetString(); s == nil || (s.MaxLen == nil && len(s.GetIn()) == 0) {
			b.fault(f, "is a string without max_len or in")
		}
	case protoreflect.BytesKind:
		if rules.GetBytes() == nil || rules.GetBytes().MaxLen == nil {
			b.fault(f, "is bytes without max_len")
		}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Uint64Kind,
		protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		b.fault(f, "is a 64-bit integer, which JSON writes as a string; use 32 bits")
	case protoreflect.EnumKind:
		b.fault(f, "is an enum; public vocabularies are strings with in")
	}
}

// rulesOf returns the protovalidate rules of a field; nil-safe getters apply.
func rulesOf(f protoreflect.FieldDescriptor) *validate.FieldRules {
	rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
	return rules
}
