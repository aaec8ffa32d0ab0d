package upstream

import (
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
)

// Field is one broken rule of a request.
type Field struct {
	// Path of the field, such as emails[1]; "" for a rule about the whole message.
	Path string
	// Message is a sentence that names the field and says what is wrong, for people
	// and models.
	Message string
}

// appendViolations appends the broken rules, if message is protovalidate's list of them.
func appendViolations(fields []Field, message proto.Message) []Field {
	violations, ok := message.(*validate.Violations)
	if !ok {
		return fields
	}
	for _, v := range violations.GetViolations() {
		fields = append(fields, Field{Path: fieldPath(v.GetField()), Message: v.GetMessage()})
	}
	return fields
}

// fieldPath writes a path as protovalidate does: a.b[1].c["key"].
func fieldPath(path *validate.FieldPath) string {
	var b strings.Builder
	for i, element := range path.GetElements() {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(element.GetFieldName())
		writeSubscript(&b, element)
	}
	return b.String()
}

func writeSubscript(b *strings.Builder, element *validate.FieldPathElement) {
	var subscript string
	switch s := element.GetSubscript().(type) {
	case *validate.FieldPathElement_Index:
		subscript = strconv.FormatUint(s.Index, 10)
	case *validate.FieldPathElement_IntKey:
		subscript = strconv.FormatInt(s.IntKey, 10)
	case *validate.FieldPathElement_UintKey:
		subscript = strconv.FormatUint(s.UintKey, 10)
	case *validate.FieldPathElement_BoolKey:
		subscript = strconv.FormatBool(s.BoolKey)
	case *validate.FieldPathElement_StringKey:
		subscript = strconv.Quote(s.StringKey)
	default:
		return
	}
	b.WriteString("[" + subscript + "]")
}
