package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ReadJSON reads a JSON object of at most limit bytes into v, a pointer to a struct, by the rules
// of UnmarshalStrict. On failure it answers and returns false: 415 for another media type or a
// content encoding, 413 for a body that is too large, 408 for one that takes too long, 400 for one
// that is not valid.
func ReadJSON(w http.ResponseWriter, r *http.Request, problems *Problems, limit int64, v any) bool {
	if !IsJSON(r) {
		problems.Write(w, r, UnsupportedMediaType, "Send the body as application/json, without a content encoding.")
		return false
	}
	body, fault := ReadBody(w, r, limit)
	if fault == nil {
		fault = UnmarshalStrict(body, v).httpError()
	}
	if fault != nil {
		problems.WriteError(w, r, *fault)
		return false
	}
	return true
}

// IsJSON reports whether a request's body is JSON by its media type.
func IsJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// Encoded reports whether a request's body has a content encoding other than "identity".
func Encoded(h http.Header) bool {
	lines := h["Content-Encoding"]
	return len(lines) > 1 || len(lines) == 1 && !strings.EqualFold(strings.TrimSpace(lines[0]), "identity")
}

// ReadBody reads the body of a request. It fails if the body has a content encoding, is
// larger than limit bytes, does not arrive in time, or is cut off.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *Error) {
	if Encoded(r.Header) {
		return nil, &Error{Code: UnsupportedMediaType, Detail: "Send the body without a content encoding."}
	}
	if r.ContentLength > limit {
		return nil, tooLarge(w, limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, BodyError(w, err, limit)
	}
	return body, nil
}

// BodyError returns the error for a body that could not be read. It closes the connection, because
// the client may still be sending the rest.
func BodyError(w http.ResponseWriter, err error, limit int64) *Error {
	slow, isNet := errors.AsType[net.Error](err)
	_, large := errors.AsType[*http.MaxBytesError](err)
	w.Header().Set("Connection", "close")
	switch {
	case large:
		return tooLarge(w, limit)
	case isNet && slow.Timeout():
		return &Error{Code: RequestTimeout, Detail: "The body took too long to arrive."}
	default:
		return &Error{
			Code: MalformedRequest, Detail: "The body did not arrive in full.",
			Fields: []Field{{Field: "body", Message: "did not arrive in full"}},
		}
	}
}

func tooLarge(w http.ResponseWriter, limit int64) *Error {
	w.Header().Set("Connection", "close")
	return &Error{Code: ContentTooLarge, Detail: fmt.Sprintf("The body takes %d bytes at most.", limit)}
}

// MaxDepth is the maximum nesting depth of JSON bodies.
const MaxDepth = 32

// bodyField is the Field of an error about the whole body.
const bodyField = "body"

// JSONError says why a JSON body is invalid. The caller may see it: of the body it repeats only
// the names of members.
type JSONError struct {
	// Field is the invalid member, such as requests[0].path, or "body".
	Field string
	// Message says what is wrong with it.
	Message string
}

// Error returns the error as a part of a sentence.
func (e *JSONError) Error() string {
	if e.Field == bodyField {
		return "the body " + e.Message
	}
	return e.Field + " " + e.Message
}

func (e *JSONError) httpError() *Error {
	if e == nil {
		return nil
	}
	return &Error{
		Code: MalformedRequest, Detail: "The body cannot be read: " + e.Error() + ".",
		Fields: []Field{{Field: e.Field, Message: e.Message}},
	}
}

// UnmarshalStrict reads a JSON object into v, a pointer to a struct. It refuses everything
// that parsers may interpret differently: duplicate names, names that differ from known ones
// only in case, bad UTF-8, lone surrogates, numbers outside the range of a double, data after
// the value, and nesting deeper than MaxDepth. A member that v does not have is an error too.
func UnmarshalStrict(data []byte, v any) *JSONError {
	if fault := checkObject(data); fault != nil {
		return fault
	}
	return explain(json.Unmarshal(data, v, json.RejectUnknownMembers(true)))
}

// CheckJSON refuses what UnmarshalStrict refuses, except unknown members. It ignores those
// unless they differ from a known one only in case.
func CheckJSON(data []byte, known ...string) *Error {
	return checkMembers(data, known).httpError()
}

func checkMembers(data []byte, known []string) *JSONError {
	if fault := checkObject(data); fault != nil {
		return fault
	}
	var members map[string]jsontext.Value
	if fault := explain(json.Unmarshal(data, &members)); fault != nil {
		return fault
	}
	for name := range members {
		if k := Lookalike(name, known...); k != "" {
			return &JSONError{Field: clip(name), Message: "differs from " + k + " only in case"}
		}
	}
	return nil
}

// Lookalike returns the known name that name differs from only in case, or "".
func Lookalike(name string, known ...string) string {
	for _, k := range known {
		if name != k && strings.EqualFold(name, k) {
			return k
		}
	}
	return ""
}

// CheckShape refuses JSON that is nested too deep, or has a number outside the range of a
// double, which some parsers read as infinity and others refuse. It stops without an error
// where the text is not valid JSON.
func CheckShape(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil //nolint:nilerror // the decoder that reads the values reports it
		}
		if decoder.StackDepth() > MaxDepth {
			return errors.New("the JSON is nested more than 32 levels deep")
		}
		if token.Kind() == '0' {
			if _, err := strconv.ParseFloat(token.String(), 64); errors.Is(err, strconv.ErrRange) {
				return errors.New("a number is outside of the range of a double")
			}
		}
	}
}

func checkObject(data []byte) *JSONError {
	if err := CheckShape(data); err != nil {
		return &JSONError{Field: bodyField, Message: "is refused: " + err.Error()}
	}
	switch value := jsontext.Value(data); {
	case value.Kind() == '{':
		return nil
	case value.IsValid():
		return &JSONError{Field: bodyField, Message: "must be one JSON object"}
	default:
		return &JSONError{Field: bodyField, Message: "is not well-formed JSON"}
	}
}

// explain returns what is wrong with a body, and where, without repeating it.
func explain(err error) *JSONError {
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		if errors.Is(err, json.ErrUnknownName) {
			return &JSONError{Field: place(semantic.JSONPointer), Message: "is not known here"}
		}
		return &JSONError{Field: place(semantic.JSONPointer), Message: "has the wrong type"}
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && ok:
		return &JSONError{Field: place(syntactic.JSONPointer), Message: "is defined twice"}
	case ok:
		return &JSONError{Field: bodyField, Message: fmt.Sprintf("is not well-formed JSON, at byte %d", syntactic.ByteOffset)}
	default:
		return &JSONError{Field: bodyField, Message: "is not well-formed JSON"}
	}
}

// place converts a JSON pointer to the form requests[0].path.
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
		return bodyField
	}
	return b.String()
}

// clip shortens a name that the caller chose.
func clip(name string) string {
	const most = 40
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}
