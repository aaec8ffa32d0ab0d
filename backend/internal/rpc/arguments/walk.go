package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// walk decodes a JSON text field by field, and collects what cannot be decoded.
type walk struct {
	problems []Problem
	// meant is set if a value was read that the contract does not allow in this form.
	meant bool
}

// walkJSON decodes the values that fit into m, and returns a problem for each value that
// does not.
func walkJSON(m protoreflect.Message, data []byte) []Problem {
	w := &walk{}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		w.add(nil, "the body is empty; send a JSON object")
	case !json.Valid(data):
		w.add(nil, "the arguments are not valid JSON")
	case kindOf(data) != "an object":
		w.add(nil, "the arguments must be an object, not %s", shown(data))
	default:
		w.message(nil, m, data)
	}
	if len(w.problems) == 0 && !w.meant { // the cause is in no field, such as a broken character in a name
		w.add(nil, "the arguments are not valid JSON")
	}
	return w.problems
}

func (w *walk) add(path []*validate.FieldPathElement, format string, args ...any) {
	p := Problem{Path: path}
	p.Text = text.Truncate(strings.TrimSpace(p.Field()+" "+fmt.Sprintf(format, args...)), maxText-1)
	w.problems = append(w.problems, p)
}

// message decodes the members of an object.
func (w *walk) message(path []*validate.FieldPathElement, m protoreflect.Message, data json.RawMessage) {
	fields := m.Descriptor().Fields()
	seen := map[string]bool{}
	for _, member := range members(data) {
		fd := fields.ByName(protoreflect.Name(member.name))
		if fd == nil {
			if fd, member.value = neighbour(member.name, member.value, fields); fd != nil {
				member.name, w.meant = string(fd.Name()), true
			}
		}
		at := append(slices.Clip(path), &validate.FieldPathElement{FieldName: &member.name})
		switch {
		case fd == nil:
			text := text.Truncate(unknownField(Problem{Path: path}.Field(), member.name, fields), maxText-1)
			w.problems = append(w.problems, Problem{Path: at, Text: text})
		case seen[member.name]:
			w.add(at, "is given twice")
		default:
			w.field(at, m, fd, member.value)
		}
		seen[member.name] = true
	}
}

func (w *walk) field(path []*validate.FieldPathElement, m protoreflect.Message, fd protoreflect.FieldDescriptor, value json.RawMessage) {
	kind := kindOf(value)
	switch {
	case kind == "null":
	case fd.IsList() && kind != "a list":
		w.single(path, m, fd, value)
	case fd.IsList():
		w.list(path, m, fd, value)
	case !isObject(fd):
		if v, ok := w.scalar(path, m, fd, value); ok {
			m.Set(fd, v)
		}
	case kind != "an object":
		w.add(path, "must be an object, not %s", shown(value))
	default:
		w.message(path, m.Mutable(fd).Message(), value)
	}
}

// single decodes a value that stands for a list: the list as JSON text, or its only entry.
func (w *walk) single(path []*validate.FieldPathElement, m protoreflect.Message, fd protoreflect.FieldDescriptor, value json.RawMessage) {
	read, text := value, ""
	if json.Unmarshal(value, &text) == nil && json.Valid([]byte(text)) {
		if kind := kindOf([]byte(text)); kind == "a list" || kind == "an object" && isObject(fd) {
			read = []byte(text)
		}
	}
	entries := read
	if kindOf(read) != "a list" {
		entries = slices.Concat([]byte{'['}, read, []byte{']'})
	}
	alone := &walk{}
	alone.list(path, m, fd, entries)
	if len(alone.problems) > 0 && kindOf(entries) != kindOf(read) && kindOf(read) != "an object" {
		m.Clear(fd)
		w.add(path, "must be a list, not %s", shown(value))
		return
	}
	w.meant = true
	w.problems = append(w.problems, alone.problems...)
}

// list decodes the entries of a list. An entry that does not fit becomes an empty one, so
// that the entries after it keep their indexes. Those that are null are left out.
func (w *walk) list(path []*validate.FieldPathElement, m protoreflect.Message, fd protoreflect.FieldDescriptor, data json.RawMessage) {
	var entries []json.RawMessage
	_ = json.Unmarshal(data, &entries) // it is a list
	entries = slices.DeleteFunc(entries, func(entry json.RawMessage) bool {
		null := kindOf(entry) == "null"
		w.meant = w.meant || null
		return null
	})
	list, last := m.Mutable(fd).List(), path[len(path)-1]
	for i, entry := range entries {
		at := append(slices.Clone(path[:len(path)-1]), &validate.FieldPathElement{
			FieldName: last.FieldName, Subscript: &validate.FieldPathElement_Index{Index: uint64(i)},
		})
		v := list.NewElement()
		switch {
		case !isObject(fd):
			if read, ok := w.scalar(at, m, fd, entry); ok {
				v = read
			}
		case kindOf(entry) != "an object":
			w.add(at, "must be an object, not %s", shown(entry))
		default:
			w.message(at, v.Message(), entry)
		}
		list.Append(v)
	}
}

// scalar decodes one value, or one entry of a list, the way protojson does.
func (w *walk) scalar(path []*validate.FieldPathElement, m protoreflect.Message, fd protoreflect.FieldDescriptor, value json.RawMessage) (protoreflect.Value, bool) {
	alone := m.New()
	format := `{%q:%s}`
	if fd.IsList() {
		format = `{%q:[%s]}`
	}
	if err := protojson.Unmarshal(fmt.Appendf(nil, format, fd.Name(), value), alone.Interface()); err != nil {
		w.add(path, "%s", mismatch(fd, value))
		return protoreflect.Value{}, false
	}
	if fd.IsList() {
		return alone.Get(fd).List().Get(0), true
	}
	return alone.Get(fd), true
}

// isObject reports whether a field takes an object of the contract.
func isObject(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && !fd.IsMap() && fd.Message().ParentFile().Package() != "google.protobuf"
}

// member is a name and its value in a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of a valid JSON object, repeated ones too.
func members(object []byte) []member {
	var out []member
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, _ = decoder.Token() // the opening brace
	for decoder.More() {
		var m member
		name, err := decoder.Token()
		if err != nil || decoder.Decode(&m.value) != nil {
			return out
		}
		m.name, _ = name.(string)
		out = append(out, m)
	}
	return out
}
