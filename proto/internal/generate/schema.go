package generate

import (
	"encoding/json"
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
)

// form is the purpose of a schema. The keywords of each form have the same meaning in JSON
// Schema draft-07 and 2020-12.
type form int

const (
	// input is the schema of the arguments for clients. It has no bounds and is open for
	// unknown fields, because the server refuses them with better messages than clients do.
	// Optional fields accept null, as the server does.
	input form = iota
	// boundedInput has the bounds and no unknown fields, for documentation and tests, and
	// no null.
	boundedInput
	// output describes answers by types and names. It is open for new fields, since a new field in
	// an answer is not a breaking change.
	output
)

// schema returns the JSON Schema of a message.
func (b *builder) schema(m protoreflect.MessageDescriptor, f form) json.RawMessage {
	s := &schemas{
		builder: b, form: f, uses: map[protoreflect.FullName]int{}, shared: map[string]protoreflect.FullName{},
		open: map[protoreflect.FullName]bool{},
	}
	if !s.count(m) {
		b.fault(m, "holds a message that contains itself")
		return nil
	}
	root := s.object(m, false)
	if len(s.defs) > 0 {
		root.set("$defs", s.defs)
	}
	data, err := encode(root)
	if err != nil {
		b.fault(m, "its JSON Schema cannot be written: %v", err)
	}
	return data
}

// schemas writes the schema of one message with all that it contains.
type schemas struct {
	*builder
	form form
	// uses counts the fields that hold a message.
	uses map[protoreflect.FullName]int
	// open are the messages that count is currently in.
	open map[protoreflect.FullName]bool
	// shared are the messages in defs, by their short names.
	shared map[string]protoreflect.FullName
	defs   object
}

// count counts the uses of a message and of the messages in it. It reports false if one contains
// itself.
func (s *schemas) count(m protoreflect.MessageDescriptor) bool {
	name := m.FullName()
	if s.open[name] {
		return false
	}
	if s.uses[name]++; s.uses[name] > 1 || name.Parent() == "google.protobuf" {
		return true
	}
	s.open[name] = true
	defer delete(s.open, name)
	for i := range m.Fields().Len() {
		if of := m.Fields().Get(i).Message(); of != nil && !s.count(of) {
			return false
		}
	}
	return true
}

func (s *schemas) object(m protoreflect.MessageDescriptor, nullable bool) object {
	out := typed("object", nullable)
	var required []string
	properties := object{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if s.form == output && isUnlisted(f) {
			continue
		}
		name := string(f.Name())
		properties.set(name, s.property(f))
		if s.isRequired(f) {
			required = append(required, name)
		}
	}
	out.set("properties", properties)
	if required != nil {
		out.set("required", required)
	}
	if s.form == boundedInput {
		out.set("additionalProperties", false)
	}
	return out
}

// unlisted returns the schema of the fields of an answer that its schema leaves out, with their
// comments; nil for none.
func (b *builder) unlisted(m protoreflect.MessageDescriptor) json.RawMessage {
	s := &schemas{builder: b, form: output}
	properties := object{}
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); isUnlisted(f) {
			property := s.property(f)
			property.set("description", paragraph(f))
			properties.set(string(f.Name()), property)
		}
	}
	if len(properties) == 0 {
		return nil
	}
	data, err := encode(object{{"type", "object"}, {"properties", properties}})
	if err != nil {
		b.fault(m, "the schema of its unlisted fields cannot be written: %v", err)
	}
	return data
}

func isUnlisted(f protoreflect.FieldDescriptor) bool {
	unlisted, _ := proto.GetExtension(f.Options(), toolv1.E_Unlisted).(bool)
	return unlisted
}

// isRequired reports whether an argument must be set, or for answers whether the field is always
// present.
func (s *schemas) isRequired(f protoreflect.FieldDescriptor) bool {
	rules := rulesOf(f)
	text := rules.GetString()
	refusesEmpty := !f.HasPresence() && (text.GetMinLen() > 0 || len(text.GetIn()) > 0 && !slices.Contains(text.GetIn(), ""))
	return rules.GetRequired() || s.form != output && (rules.GetRepeated().GetMinItems() > 0 || refusesEmpty)
}

func (s *schemas) property(f protoreflect.FieldDescriptor) object {
	rules, nullable := rulesOf(f), s.form == input && !s.isRequired(f)
	var out object
	if f.IsList() {
		out = typed("array", nullable)
		out.set("items", s.value(f, rules.GetRepeated().GetItems(), false))
		s.bound(&out, rules.GetRepeated())
	} else {
		out = s.value(f, rules, nullable)
	}
	explained, _ := proto.GetExtension(f.Options(), toolv1.E_Explained).(bool)
	obvious, _ := proto.GetExtension(f.Options(), toolv1.E_Obvious).(bool)
	if explained || s.form == boundedInput || s.form == input && !obvious {
		out.set("description", paragraph(f))
	}
	return out
}

// value returns the schema of a field's value, or of one entry of a list.
func (s *schemas) value(f protoreflect.FieldDescriptor, rules *validate.FieldRules, nullable bool) object {
	switch f.Kind() {
	case protoreflect.StringKind:
		return s.text(rules.GetString(), nullable)
	case protoreflect.BoolKind:
		return typed("boolean", nullable)
	case protoreflect.BytesKind:
		return typed("string", nullable)
	case protoreflect.FloatKind:
		return s.number("number", rules.GetFloat(), nullable)
	case protoreflect.DoubleKind:
		return s.number("number", rules.GetDouble(), nullable)
	case protoreflect.MessageKind:
		if undetailed, _ := proto.GetExtension(f.Options(), toolv1.E_Undetailed).(bool); undetailed && s.form != boundedInput {
			return typed("object", nullable)
		}
		return s.message(f.Message(), nullable)
	default: // Catalog refuses integers other than those of 32 bits
		return s.number("integer", rules.GetInt32(), nullable)
	}
}

func (s *schemas) text(rules *validate.StringRules, nullable bool) object {
	out := typed("string", nullable)
	if allowed := rules.GetIn(); len(allowed) > 0 && s.form != output {
		var values []any
		for _, value := range allowed {
			values = append(values, value)
		}
		if nullable {
			values = append(values, nil)
		}
		out.set("enum", values)
	}
	if rules.GetEmail() && s.form == boundedInput {
		out.set("format", "email")
	}
	s.bound(&out, rules)
	return out
}

func (s *schemas) number(kind string, rules proto.Message, nullable bool) object {
	out := typed(kind, nullable)
	s.bound(&out, rules)
	return out
}

// message returns the schema of a message. Outputs share the schema of a message that is used
// twice; inputs repeat it, because some clients do not follow references there.
func (s *schemas) message(m protoreflect.MessageDescriptor, nullable bool) object {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		out := typed("string", nullable)
		if s.form == boundedInput {
			out.set("format", "date-time")
		}
		return out
	case "google.protobuf.Struct":
		return typed("object", nullable)
	}
	if s.form != output || s.uses[m.FullName()] < 2 {
		return s.object(m, nullable)
	}
	name := string(m.Name())
	if other, shared := s.shared[name]; !shared {
		s.shared[name] = m.FullName()
		s.defs.set(name, s.object(m, false))
	} else if other != m.FullName() {
		s.fault(m, "has the name of %s in the answer of one tool", other)
	}
	return object{{"$ref", "#/$defs/" + name}}
}

// textByOthers returns the names of the fields of an answer that may have text by others,
// sorted. Fields in nested messages count too; each name comes once.
func textByOthers(m protoreflect.MessageDescriptor) []string {
	var names []string
	seen := map[protoreflect.FullName]bool{}
	var add func(m protoreflect.MessageDescriptor)
	add = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if marked, _ := proto.GetExtension(f.Options(), toolv1.E_TextByOthers).(bool); marked {
				names = append(names, string(f.Name()))
			} else if of := f.Message(); of != nil {
				add(of)
			}
		}
	}
	add(m)
	slices.Sort(names)
	return slices.Compact(names)
}

func typed(kind string, nullable bool) object {
	if nullable {
		return object{{"type", []string{kind, "null"}}}
	}
	return object{{"type", kind}}
}

// bound adds the bounds of the rules to a schema whose form has bounds.
func (s *schemas) bound(out *object, rules proto.Message) {
	if s.form != boundedInput {
		return
	}
	set := rules.ProtoReflect()
	for i := range set.Descriptor().Fields().Len() {
		f := set.Descriptor().Fields().Get(i)
		if keyword := keywords[f.Name()]; keyword != "" && set.Has(f) {
			out.set(keyword, set.Get(f).Interface())
		}
	}
}

// keywords are JSON Schema's, by the rules of protovalidate.
var keywords = map[protoreflect.Name]string{
	"min_len": "minLength", "max_len": "maxLength", "pattern": "pattern",
	"gte": "minimum", "lte": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum",
	"min_items": "minItems", "max_items": "maxItems", "unique": "uniqueItems",
}
