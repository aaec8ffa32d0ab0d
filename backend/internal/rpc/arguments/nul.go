package arguments

import (
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// nuls returns a problem for each text of a message, at any depth, that has a NUL character (U+0000).
// PostgreSQL stores none, and no text of people has one.
func nuls(m protoreflect.Message, path ...*validate.FieldPathElement) (problems []Problem) {
	check := func(fd protoreflect.FieldDescriptor, v protoreflect.Value, path []*validate.FieldPathElement) {
		switch {
		case fd.Message() != nil:
			problems = append(problems, nuls(v.Message(), path...)...)
		case fd.Kind() == protoreflect.StringKind && strings.ContainsRune(v.String(), 0):
			p := Problem{Path: path}
			p.Text = p.Field() + " has a NUL character (U+0000), which no text may have"
			problems = append(problems, p)
		}
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(fd.Name())
		switch {
		case fd.IsMap(): // no request has one
		case fd.IsList():
			for i := range v.List().Len() {
				at := &validate.FieldPathElement{FieldName: &name, Subscript: &validate.FieldPathElement_Index{Index: uint64(i)}}
				check(fd, v.List().Get(i), append(slices.Clip(path), at))
			}
		default:
			check(fd, v, append(slices.Clip(path), &validate.FieldPathElement{FieldName: &name}))
		}
		return true
	})
	return problems
}
