package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/rpc/arguments"
	"github.com/kith-crm/kith/backend/internal/text"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// jsonCodec is JSON as agents see it: snake_case names, fields present even when
// they hold their default (but see answers), unknown and repeated fields refused. (The contract
// spells each json_name like the field's name, so there is only one spelling.)
// Invisible characters, which rows of older versions may contain, are removed.
type jsonCodec struct {
	// defers makes the codec accept a text that cannot be decoded. checkArguments, which
	// must follow, reads it field by field: only there can an error carry details.
	defers bool
	// answers are the messages that agents read, which are written without zeros.
	answers map[protoreflect.FullName][]keptField
}

func (jsonCodec) Name() string { return "json" }

func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

func (c jsonCodec) MarshalAppend(dst []byte, message any) ([]byte, error) {
	if r, ok := message.(*rendered); ok {
		return append(dst, r.text...), nil
	}
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	var out []byte
	var err error
	if kept, isAnswer := c.answers[m.ProtoReflect().Descriptor().FullName()]; isAnswer {
		out, err = appendAnswer(dst, m, kept)
	} else {
		out, err = protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.MarshalAppend(dst, m)
	}
	if data := out[min(len(dst), len(out)):]; bytes.ContainsFunc(data, text.Invisible) {
		out = append(out[:len(dst)], text.WithoutInvisible(string(data))...)
	}
	return out, err
}

func (c jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	err := protojson.Unmarshal(data, m)
	switch {
	case err == nil:
		return nil
	case !c.defers:
		return errors.New("the body is not JSON of this message")
	}
	proto.Reset(m)
	kept := protowire.AppendTag(nil, undecoded, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendBytes(kept, data))
	return nil
}

// undecoded is the number of the unknown field in which the codec passes a JSON text that
// could not be decoded to checkArguments. No message of the contract uses the number.
const undecoded = protowire.MaxValidNumber

// undecodedText returns the JSON text that could not be decoded into the message. It
// returns false when the message was decoded.
func undecodedText(m proto.Message) ([]byte, bool) {
	number, _, n := protowire.ConsumeTag(m.ProtoReflect().GetUnknown())
	if n < 0 || number != undecoded {
		return nil, false
	}
	data, read := protowire.ConsumeBytes(m.ProtoReflect().GetUnknown()[n:])
	return data, read >= 0
}

// checkArguments returns the function that decodes arguments that the codec could not decode, and
// that fails if arguments break rules of the contract, naming every broken rule.
func checkArguments(checker *arguments.Checker, now func() time.Time) func(context.Context, connect.AnyRequest) error {
	return func(ctx context.Context, req connect.AnyRequest) error {
		message, ok := req.Any().(proto.Message)
		if !ok {
			return fmt.Errorf("%T is no message", req.Any())
		}
		var problems []arguments.Problem
		var err error
		today := civil.Of(now(), call.ZoneOf(ctx)).Format(time.DateOnly)
		if data, bad := undecodedText(message); bad {
			proto.Reset(message)
			problems, err = checker.CheckJSON(message, data, today)
		} else {
			problems, err = checker.Check(message, today)
		}
		if err == nil && len(problems) > 0 {
			err = invalidArguments(problems)
		}
		return err
	}
}

func invalidArguments(problems []arguments.Problem) *connect.Error {
	texts := make([]string, len(problems))
	violations := make([]*validate.Violation, len(problems))
	for i, p := range problems {
		texts[i] = p.Text
		violations[i] = &validate.Violation{Field: &validate.FieldPath{Elements: p.Path}, Message: &p.Text}
	}
	return withViolations(connect.NewError(connect.CodeInvalidArgument, errors.New(text.WithoutInvisible(strings.Join(texts, "; ")))), violations)
}

// withViolations adds the details of an error about fields, without invisible
// characters. The message of each is a whole sentence that names its field. It changes no
// violation: the validator shares the elements of their paths among calls.
func withViolations(wire *connect.Error, violations []*validate.Violation) *connect.Error {
	clean := make([]*validate.Violation, len(violations))
	for i, v := range violations {
		path := &validate.FieldPath{}
		for _, element := range v.GetField().GetElements() {
			element = proto.CloneOf(element)
			element.FieldName = new(text.WithoutInvisible(element.GetFieldName()))
			path.Elements = append(path.Elements, element)
		}
		clean[i] = &validate.Violation{Field: path, Message: new(text.WithoutInvisible(v.GetMessage()))}
	}
	if detail, err := connect.NewErrorDetail(&validate.Violations{Violations: clean}); err == nil {
		wire.AddDetail(detail)
	}
	return wire
}
