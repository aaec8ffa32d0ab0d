package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/observability/logging"
)

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
		wire.Meta().Set(HeaderIdempotency, stateInFlight)
	case fault.KeyReused:
		wire.Meta().Set(HeaderIdempotency, stateReused)
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
	if id := h.Get(HeaderRequestID); logging.ValidRequestID(id) {
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
