package backendtest

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec writes what the real backend's codec writes.
type jsonCodec struct{}

// Name replaces Connect's own codec.
func (jsonCodec) Name() string { return "json" }

// Marshal writes snake_case names and empty values.
func (jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("marshal: got %T", message)
	}
	return protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
}

// Unmarshal refuses unknown fields. protojson puts a space or a no-break space
// into its errors, depending on the build: golden files need one of them.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("unmarshal: got %T", message)
	}
	if err := protojson.Unmarshal(data, m); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\u00a0", " "))
	}
	return nil
}
