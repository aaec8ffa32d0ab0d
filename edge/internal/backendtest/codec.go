package backendtest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonCodec writes the same JSON as the real backend's codec.
type jsonCodec struct{}

// Name returns the name of Connect's own codec, which this one replaces.
func (jsonCodec) Name() string { return "json" }

// Marshal writes snake_case names and empty values.
func (jsonCodec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("marshal: got %T", message)
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson adds spaces at random, the real codec does not
	err = json.Compact(&compact, data)
	return compact.Bytes(), err
}

// Unmarshal refuses unknown fields.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("unmarshal: got %T", message)
	}
	return protojson.Unmarshal(data, m)
}
