package rpc

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec is JSON as agents see it: snake_case names, fields present even when
// they hold their default, unknown and repeated fields refused. (The contract
// spells each json_name like the field's name, so there is one spelling only.)
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

func (jsonCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.MarshalAppend(dst, m)
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
		return decodeError{err}
	}
	return nil
}

// decodeError words a decoding failure for the model that has to correct it.
type decodeError struct{ cause error }

var (
	decodePosition = regexp.MustCompile(`^proto:[\s\x{a0}]+(syntax error )?\(line (\d+):(\d+)\):[\s\x{a0}]*`)
	decodeMessage  = regexp.MustCompile(`^proto:[\s\x{a0}]+`)
)

func (e decodeError) Error() string {
	text := decodePosition.ReplaceAllString(e.cause.Error(), "")
	text = decodeMessage.ReplaceAllString(text, "")
	return strings.ReplaceAll(text, "\u00a0", " ")
}

func (e decodeError) Unwrap() error { return e.cause }
