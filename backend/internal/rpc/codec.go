package rpc

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kith-crm/kith/backend/internal/text"
)

// jsonCodec is JSON as agents see it: snake_case names, fields present even when
// they hold their default, unknown and repeated fields refused. (The contract
// spells each json_name like the field's name, so there is one spelling only.)
// Invisible characters, which rows of older versions may hold, are left out.
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

func (jsonCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	if r, ok := message.(*rendered); ok {
		return append(dst, r.text...), nil
	}
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	out, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.MarshalAppend(dst, m)
	if data := out[min(len(dst), len(out)):]; bytes.ContainsFunc(data, text.Invisible) {
		out = append(out[:len(dst)], text.WithoutInvisible(string(data))...)
	}
	return out, err
}

func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("the body is empty; send a JSON object")
	}
	if err := protojson.Unmarshal(data, m); err != nil {
		return newDecodeError(data, err)
	}
	return nil
}

// decodeError words a decoding failure for the model that has to correct it: the
// field at fault and what is wrong there.
type decodeError struct {
	text  string
	cause error
}

func newDecodeError(data []byte, cause error) decodeError {
	said := strings.ReplaceAll(cause.Error(), "\u00a0", " ") // protojson varies its spaces on purpose
	path := ""
	if at := decodePosition.FindStringSubmatch(said); at != nil {
		line, _ := strconv.Atoi(at[2])
		column, _ := strconv.Atoi(at[3])
		path = pathAt(data, line, column)
		said = said[len(at[0]):]
	}
	said = decodePrefix.ReplaceAllString(said, "")
	if wrong := decodeValue.FindStringSubmatch(said); wrong != nil {
		said = "must be " + kindName(wrong[1]) + ", not " + wrong[2]
	}
	// Messages about unknown and repeated fields name the field themselves.
	if path != "" && !strings.Contains(said, " field ") {
		said = path + ": " + said
	}
	return decodeError{text: said, cause: cause}
}

// kindName says in JSON's words what a field of a kind takes.
func kindName(kind string) string {
	switch kind {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "double", "float":
		return "a number"
	default:
		return "an integer"
	}
}

var (
	decodePosition = regexp.MustCompile(`^proto:\s+(syntax error )?\(line (\d+):(\d+)\):\s*`)
	decodePrefix   = regexp.MustCompile(`^proto:\s+`)
	decodeValue    = regexp.MustCompile(`^invalid value for (\w+) field \S+: (.*)$`)
)

func (e decodeError) Error() string { return e.text }

func (e decodeError) Unwrap() error { return e.cause }
