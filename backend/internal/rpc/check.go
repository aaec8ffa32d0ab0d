package rpc

import (
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
	"google.golang.org/protobuf/proto"
)

// checkArguments refuses calls whose arguments break a rule of the contract, and
// says every one that they break.
func checkArguments(checker *arguments.Checker, now func() time.Time) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			message, ok := req.Any().(proto.Message)
			if !ok {
				return nil, fmt.Errorf("%T is no message", req.Any())
			}
			var problems []arguments.Problem
			var err error
			today := civil.Of(now(), call.ZoneOf(ctx)).Format(time.DateOnly)
			if data, bad := undecodedText(message); bad {
				problems, err = checker.CheckJSON(message, data, today)
			} else {
				problems, err = checker.Check(message, today)
			}
			if err != nil {
				return nil, err
			}
			if len(problems) > 0 {
				return nil, invalidArguments(problems)
			}
			return next(ctx, req)
		}
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
// characters. The message of each is a whole sentence that names its field.
func withViolations(wire *connect.Error, violations []*validate.Violation) *connect.Error {
	for _, v := range violations {
		v.Message = new(text.WithoutInvisible(v.GetMessage()))
		for _, element := range v.GetField().GetElements() {
			element.FieldName = new(text.WithoutInvisible(element.GetFieldName()))
		}
	}
	if detail, err := connect.NewErrorDetail(&validate.Violations{Violations: violations}); err == nil {
		wire.AddDetail(detail)
	}
	return wire
}
