package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
)

var errTooLarge = errors.New("this request was done before and is not done again; its answer was too large to be kept")

// keptResponse is the stored outcome of a call with a key.
type keptResponse struct {
	// Body is the message as it was sent, byte for byte: JSON, as a string, which takes less room than base64.
	Body string `json:"body,omitempty"`
	// Failure is set instead of Body when the call failed.
	Failure *keptFailure `json:"failure,omitempty"`
	// Header holds the headers that say what the call cost.
	Header http.Header `json:"header,omitempty"`
}

type keptFailure struct {
	Code    connect.Code `json:"code"`
	Message string       `json:"message"`
	// Details are google.protobuf.Any messages.
	Details [][]byte `json:"details,omitempty"`
}

// rendered is a message with its JSON, so that a first answer and its replays have
// the same bytes. Other codecs use the message.
type rendered struct {
	proto.Message

	text []byte
}

// response returns the response to send, and the bytes to store.
func (c jsonCodec) response(res connect.AnyResponse) (connect.AnyResponse, []byte, error) {
	message, ok := res.Any().(proto.Message)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no message", res.Any())
	}
	text, err := c.Marshal(message)
	if err != nil {
		return nil, nil, fmt.Errorf("keep a response: %w", err)
	}
	body, err := json.Marshal(keptResponse{Body: string(text), Header: res.Header()})
	same := connect.NewResponse(&rendered{Message: message, text: text})
	maps.Copy(same.Header(), res.Header())
	return same, body, err
}

func encodeFailure(wire *connect.Error) ([]byte, error) {
	kept := &keptFailure{Code: wire.Code(), Message: wire.Message()}
	for _, detail := range wire.Details() {
		message, err := detail.Value()
		if err != nil {
			return nil, fmt.Errorf("keep a failure: %w", err)
		}
		packed, err := anypb.New(message)
		if err != nil {
			return nil, fmt.Errorf("keep a failure: %w", err)
		}
		data, err := proto.Marshal(packed)
		if err != nil {
			return nil, fmt.Errorf("keep a failure: %w", err)
		}
		kept.Details = append(kept.Details, data)
	}
	return json.Marshal(keptResponse{Failure: kept, Header: wire.Meta()})
}

// decodeResponse decodes a stored response and marks it as a replay.
func decodeResponse(spec connect.Spec, data []byte) (connect.AnyResponse, error) {
	var kept keptResponse
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("read a kept response: %w", err)
	}
	if kept.Failure != nil {
		return nil, kept.failure()
	}
	message, err := newResponse(spec)
	if err != nil {
		return nil, err
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(kept.Body), message); err != nil {
		return nil, fmt.Errorf("read a kept response: %w", err)
	}
	res := connect.NewResponse(&rendered{Message: message, text: []byte(kept.Body)})
	maps.Copy(res.Header(), kept.Header)
	res.Header().Set(HeaderIdempotency, stateReplayed)
	return res, nil
}

func newResponse(spec connect.Spec) (proto.Message, error) {
	method, ok := spec.Schema.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s has no schema", spec.Procedure)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err != nil {
		return nil, fmt.Errorf("find the response of %s: %w", spec.Procedure, err)
	}
	return kind.New().Interface(), nil
}

// failure returns the stored failure, marked as a replay.
func (k *keptResponse) failure() error {
	wire := connect.NewError(k.Failure.Code, errors.New(k.Failure.Message))
	maps.Copy(wire.Meta(), k.Header)
	for _, data := range k.Failure.Details {
		packed := &anypb.Any{}
		if err := proto.Unmarshal(data, packed); err != nil {
			return fmt.Errorf("read a kept failure: %w", err)
		}
		detail, err := connect.NewErrorDetail(packed)
		if err != nil {
			return fmt.Errorf("read a kept failure: %w", err)
		}
		wire.AddDetail(detail)
	}
	wire.Meta().Set(HeaderIdempotency, stateReplayed)
	return wire
}
