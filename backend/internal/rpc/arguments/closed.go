package arguments

import (
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// readAsMeant sets the words of closed sets that are written in another way, such as "Child of" for
// child_of, to the spelling of the contract. It reports whether it changed m.
func readAsMeant(m protoreflect.Message, violations []*protovalidate.Violation) (changed bool) {
	for _, v := range violations {
		if v.Proto.GetRuleId() != "string.in" {
			continue
		}
		path := v.Proto.GetField().GetElements()
		words := rulesOf(m.Descriptor(), path).GetString().GetIn()
		meant := strings.Join(strings.FieldsFunc(strings.ToLower(v.FieldValue.String()), func(r rune) bool { return r == ' ' || r == '-' || r == '_' }), "_")
		if slices.Contains(words, meant) {
			changed = setText(m, path, meant) || changed
		}
	}
	return changed
}

// setText sets the text that a path leads to. It reports whether there is one.
func setText(m protoreflect.Message, path []*validate.FieldPathElement, value string) bool {
	for i, element := range path {
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(element.GetFieldName()))
		if fd == nil || fd.IsMap() {
			return false
		}
		last := i == len(path)-1
		switch {
		case fd.IsList():
			list, at := m.Mutable(fd).List(), int(element.GetIndex()) //nolint:gosec // an index of the list
			if at >= list.Len() {
				return false
			}
			if last {
				list.Set(at, protoreflect.ValueOfString(value))
				return true
			}
			m = list.Get(at).Message()
		case last:
			m.Set(fd, protoreflect.ValueOfString(value))
			return true
		default:
			m = m.Mutable(fd).Message()
		}
	}
	return false
}
