package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
	toolv1 "github.com/kith-crm/kith/proto/gen/kith/tool/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// keptField is a field that an answer has even if it is zero.
type keptField struct {
	field  protoreflect.FieldDescriptor
	zero   string                       // the field with its zero value, as JSON
	unless protoreflect.FieldDescriptor // not in answers that have this field; may be nil
}

// in reports whether an answer has the field even if it is zero.
func (k keptField) in(answer protoreflect.Message) bool {
	return k.unless == nil || !answer.Has(k.unless)
}

// answersOf returns the messages that tools answer with, and their kept fields.
func answersOf(rpcs *catalog.Catalog) map[protoreflect.FullName][]keptField {
	out := map[protoreflect.FullName][]keptField{}
	for _, rpc := range rpcs.AllTools() {
		answer := methodOf(rpc.Procedure).Output()
		out[answer.FullName()] = keptFields(answer)
	}
	return out
}

func keptFields(answer protoreflect.MessageDescriptor) []keptField {
	var out []keptField
	for i := range answer.Fields().Len() {
		field := answer.Fields().Get(i)
		always, _ := proto.GetExtension(field.Options(), toolv1.E_Always).(bool)
		without, _ := proto.GetExtension(field.Options(), toolv1.E_AlwaysWithout).(string)
		if !always && without == "" {
			continue
		}
		zero := "0"
		switch {
		case field.IsList():
			zero = "[]"
		case field.Kind() == protoreflect.StringKind:
			zero = `""`
		case field.Kind() == protoreflect.BoolKind:
			zero = "false"
		}
		unless := answer.Fields().ByName(protoreflect.Name(without))
		out = append(out, keptField{field, `"` + string(field.Name()) + `":` + zero, unless})
	}
	return out
}

// appendAnswer appends the answer of a tool as JSON, with the kept fields and without other fields
// that are empty, zero or false, at any depth. It returns dst and an error if the answer cannot be
// encoded. The generated structs have the JSON names of the contract; TestAnswersAreTheContract
// compares all answers with those of protojson.
func appendAnswer(dst []byte, answer proto.Message, kept []keptField) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if err := jsonv2.MarshalWrite(out, answer, answerOptions); err != nil {
		return dst, err
	}
	b := bytes.TrimSuffix(out.Bytes(), []byte("}"))
	m := answer.ProtoReflect()
	for _, one := range kept {
		if m.Has(one.field) || !one.in(m) {
			continue
		}
		if len(b) > len(dst)+1 {
			b = append(b, ',')
		}
		b = append(b, one.zero...)
	}
	return append(b, '}'), nil
}

// answerOptions leave out zero values, and write the two well-known types of answers like
// protojson.
var answerOptions = jsonv2.JoinOptions(jsonv2.OmitZeroStructFields(true), jsonv2.WithMarshalers(jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, t *timestamppb.Timestamp) error {
		text := t.AsTime().Format("2006-01-02T15:04:05.000000000")
		text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(text, "000"), "000"), ".000")
		return e.WriteToken(jsontext.String(text + "Z"))
	}),
	jsonv2.MarshalFunc(func(s *structpb.Struct) ([]byte, error) { return protojson.Marshal(s) }),
)))

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
	res.Header().Set(connectheader.Idempotency, stateReplayed)
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
	wire.Meta().Set(connectheader.Idempotency, stateReplayed)
	return wire
}

// translator turns domain errors into Connect errors, once.
type translator struct{ logger *slog.Logger }

// translate returns an error that is safe to send. An error without a code is
// logged in full and shown as one sentence.
func (t *translator) translate(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return t.wire(ctx, err)
}

func (t *translator) wire(ctx context.Context, err error) *connect.Error {
	if !errors.Is(err, context.DeadlineExceeded) {
		err = db.Coded(err) // a connection may break while rows are read
	}
	var wire *connect.Error
	var coded *fault.Error
	decided := errors.As(err, &coded) && coded.Code != fault.Unavailable
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.Is(err, context.Canceled), !decided && errors.Is(ctx.Err(), context.Canceled): // a statement may fail in other ways because of that
		logging.Fail(ctx, t.logger, slog.LevelInfo, "call abandoned", causes(err))
		return connect.NewError(connect.CodeCanceled, errors.New("the caller hung up"))
	case coded != nil:
		if coded.Code == fault.Unavailable {
			logging.Fail(ctx, t.logger, slog.LevelWarn, "store unavailable", causes(err))
		}
		return withHeaders(codedError(coded), coded.Code, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, errors.New("the call took too long"))
	}
	logging.Fail(ctx, t.logger, slog.LevelError, "internal error", err.Error())
	return internalError()
}

func internalError() *connect.Error {
	return connect.NewError(connect.CodeInternal, errors.New("something went wrong on our side"))
}

// codedError returns a domain error as a Connect error, with its fields as details.
func codedError(coded *fault.Error) *connect.Error {
	wire := connect.NewError(wireCode(coded.Code), errors.New(text.WithoutInvisible(coded.Message)))
	if len(coded.Fields) == 0 {
		return wire
	}
	violations := make([]*validate.Violation, len(coded.Fields))
	for i, f := range coded.Fields {
		violations[i] = &validate.Violation{
			Field:   &validate.FieldPath{Elements: []*validate.FieldPathElement{{FieldName: &f.Name}}},
			Message: new(f.Name + ": " + f.Message),
		}
	}
	return withViolations(wire, violations)
}

// withHeaders adds the headers that belong to a failure.
func withHeaders(wire *connect.Error, code fault.Code, err error) *connect.Error {
	switch code {
	case fault.InFlight:
		wire.Meta().Set(connectheader.Idempotency, stateInFlight)
	case fault.KeyReused:
		wire.Meta().Set(connectheader.Idempotency, stateReused)
	}
	if short := (*billing.Shortage)(nil); errors.As(err, &short) {
		setReceiptHeaders(wire.Meta(), short.Receipt)
	}
	return wire
}

// causes returns the text of an error with the errors that it wraps; fault messages leave
// out their cause.
func causes(err error) string {
	text := err.Error()
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		text = fmt.Sprintf("%s: %s", text, cause)
	}
	return text
}

func wireCode(code fault.Code) connect.Code {
	switch code {
	case fault.Invalid:
		return connect.CodeInvalidArgument
	case fault.NotFound:
		return connect.CodeNotFound
	case fault.AlreadyExists:
		return connect.CodeAlreadyExists
	case fault.Conflict, fault.InFlight:
		return connect.CodeAborted
	case fault.KeyReused, fault.Full:
		return connect.CodeFailedPrecondition
	case fault.Exhausted:
		return connect.CodeResourceExhausted
	case fault.ReadOnly:
		return connect.CodePermissionDenied
	case fault.Unauthenticated:
		return connect.CodeUnauthenticated
	case fault.Unavailable:
		return connect.CodeUnavailable
	default:
		return connect.CodeInternal
	}
}

// WithRequestID adopts the id that the edge gave the request, from its header.
func WithRequestID(ctx context.Context, h http.Header) context.Context {
	if id := h.Get(connectheader.RequestID); logging.ValidRequestID(id) {
		return logging.WithRequestID(ctx, id)
	}
	return ctx
}

// interceptor translates what handlers return, and recovers their panics.
func (t *translator) interceptor() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (res connect.AnyResponse, err error) {
			procedure := req.Spec().Procedure
			defer func() {
				if p := recover(); p != nil {
					t.logger.ErrorContext(ctx, "panic", "procedure", procedure, "request_id", logging.RequestID(ctx), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
					res, err = nil, internalError()
				}
				err = t.translate(ctx, err)
			}()
			return next(ctx, req)
		}
	}
}
