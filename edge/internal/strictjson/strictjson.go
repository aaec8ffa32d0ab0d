// Package strictjson reads JSON bodies that two parsers cannot read in two ways.
// Duplicate names, names that differ from known ones only in case, bad UTF-8, lone
// surrogates, numbers outside of a double, data after the value and nesting deeper
// than MaxDepth are errors.
//
// Package mcp reads its messages with a decoder of its own, by the same rules.
package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// body is the name of a fault's field that concerns the whole body.
const body = "body"

// Error is a fault of a body. It may be shown to the caller: it repeats nothing of
// the body but the names of members.
type Error struct {
	// Field is the faulty member, such as requests[0].path, or "body".
	Field string
	// Message says what is wrong with it.
	Message string
}

// Error returns the fault as the part of a sentence.
func (e *Error) Error() string {
	if e.Field == body {
		return "the body " + e.Message
	}
	return e.Field + " " + e.Message
}

// Unmarshal reads a JSON object into v, a pointer to a struct. A member that v
// doesn't have is an error.
func Unmarshal(data []byte, v any) *Error {
	if fault := checkObject(data); fault != nil {
		return fault
	}
	return explain(json.Unmarshal(data, v, json.RejectUnknownMembers(true)))
}

// Check reports what is wrong with a JSON object some of whose members are known
// and whose other members are ignored.
func Check(data []byte, known ...string) *Error {
	if fault := checkObject(data); fault != nil {
		return fault
	}
	var members map[string]jsontext.Value
	if fault := explain(json.Unmarshal(data, &members)); fault != nil {
		return fault
	}
	for name := range members {
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				return &Error{Field: clip(name), Message: "differs from " + k + " only in case"}
			}
		}
	}
	return nil
}

func checkObject(data []byte) *Error {
	if err := CheckShape(data); err != nil {
		return &Error{Field: body, Message: "is refused: " + err.Error()}
	}
	switch value := jsontext.Value(data); {
	case value.Kind() == '{':
		return nil
	case value.IsValid():
		return &Error{Field: body, Message: "must be one JSON object"}
	default:
		return &Error{Field: body, Message: "is not well-formed JSON"}
	}
}

// explain says what is wrong with a body, and where, without repeating it.
func explain(err error) *Error {
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		if errors.Is(err, json.ErrUnknownName) {
			return &Error{Field: place(semantic.JSONPointer), Message: "is not known here"}
		}
		return &Error{Field: place(semantic.JSONPointer), Message: "has the wrong type"}
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && ok:
		return &Error{Field: place(syntactic.JSONPointer), Message: "is there twice"}
	case ok:
		return &Error{Field: body, Message: fmt.Sprintf("is not well-formed JSON, at byte %d", syntactic.ByteOffset)}
	default:
		return &Error{Field: body, Message: "is not well-formed JSON"}
	}
}

// place writes a JSON pointer as people do: requests[0].path.
func place(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(token))
	}
	if b.Len() == 0 {
		return body
	}
	return b.String()
}

// clip keeps a name of the caller's own making short.
func clip(name string) string {
	const most = 40
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}
