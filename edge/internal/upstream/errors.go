package upstream

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/proto/connectheader"
)

// Kind says what a failed call means to the caller of the edge.
type Kind uint8

// The kinds. The zero value is Internal, so that callers never see an unclassified error.
const (
	// Internal is an error of Kith itself; its cause is for the log only.
	Internal Kind = iota
	// Unavailable means that the backend cannot be reached or cannot answer now.
	Unavailable
	// Unauthenticated means that the bearer is expired, revoked or unknown. Only the backend's own
	// answer counts: a 401 of a proxy in between is Unavailable.
	Unauthenticated
	// Refused means that a valid bearer may not do this; see Reason and RequiredScopes.
	Refused
	// Invalid means that the request breaks a rule; see Fields, or Message if there are none.
	Invalid
	// ToolFailed means that the tool cannot do what was asked, such as "not found"; Message may be
	// shown.
	ToolFailed
	// Exhausted means that the member is out of credits; Message may be shown.
	Exhausted
	// InFlight means that another call with the same idempotency key is still running.
	InFlight
	// KeyReused means that the idempotency key was used for another request.
	KeyReused
)

// String returns the kind's name for logs.
func (k Kind) String() string {
	names := [...]string{"internal", "unavailable", "unauthenticated", "refused", "invalid", "tool_failed", "exhausted", "in_flight", "key_reused"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[Internal]
}

// reasonUnnamed is the reason of a refusal that names none.
const reasonUnnamed = "refused"

// Error is a failed call.
type Error struct {
	Kind Kind
	// Message is the backend's sentence for the caller; empty for Internal and
	// Unavailable.
	Message string
	// Reason and RequiredScopes say why a call was refused.
	Reason         string
	RequiredScopes []string
	// AllowedTools are the tools that the credential is limited to, if that is the reason.
	AllowedTools []string
	// Approval is set if the call waits for the member's decision.
	Approval *accessv1.Approval
	// Refusal is set if the edge refused this call, or an earlier one with the same idempotency key.
	Refusal *accessv1.CallError
	// Fields are the rules that the request breaks; it may be empty.
	Fields []Field
	// Receipt has the headers of the failed call.
	Receipt Receipt

	cause error
}

// Error returns the text for the log. It must not be sent to the caller.
func (e *Error) Error() string {
	if e.cause == nil {
		return "backend: " + e.Kind.String()
	}
	return "backend: " + e.Kind.String() + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as an *Error. A cancelled or expired context is Unavailable, any other
// error Internal; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: Unavailable, cause: err}
	}
	return &Error{Kind: Internal, cause: err}
}

// classify converts an error of Connect to an *Error.
func classify(err error) *Error {
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return &Error{Kind: Unavailable, cause: err}
	}
	if !connect.IsWireError(err) {
		return &Error{Kind: localKind(failure.Code()), cause: err}
	}
	e := &Error{Kind: wireKind(failure.Code()), cause: err, Receipt: newReceipt(failure.Meta())}
	switch failure.Meta().Get(connectheader.Idempotency) {
	case stateInFlight:
		e.Kind = InFlight
	case stateReused:
		e.Kind = KeyReused
	}
	if e.Kind != Internal && e.Kind != Unavailable {
		e.Message = failure.Message()
	}
	e.readDetails(failure)
	if e.Kind == Refused && e.Reason == "" {
		e.Reason = reasonUnnamed
	}
	return e
}

// wireKind returns the kind of a code that the backend sent.
func wireKind(code connect.Code) Kind {
	switch code {
	case connect.CodeUnauthenticated:
		return Unauthenticated
	case connect.CodePermissionDenied:
		return Refused
	case connect.CodeInvalidArgument:
		return Invalid
	case connect.CodeNotFound, connect.CodeAlreadyExists, connect.CodeAborted,
		connect.CodeFailedPrecondition, connect.CodeOutOfRange:
		return ToolFailed
	case connect.CodeResourceExhausted:
		return Exhausted
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return Unavailable
	default:
		return Internal
	}
}

// localKind returns the kind of a code that this side's Connect client set: for a broken
// connection, an expired deadline, or an answer that is not the backend's.
func localKind(code connect.Code) Kind {
	switch code {
	case connect.CodeInternal, connect.CodeInvalidArgument, connect.CodeResourceExhausted, connect.CodeUnimplemented:
		return Internal
	default:
		return Unavailable
	}
}

func (e *Error) readDetails(failure *connect.Error) {
	for _, detail := range failure.Details() {
		message, err := detail.Value()
		if err != nil {
			continue // a kind of detail that this edge does not know yet
		}
		if refusal, ok := message.(*accessv1.Refusal); ok {
			e.Reason, e.RequiredScopes, e.AllowedTools = refusal.GetReason(), refusal.GetRequiredScopes(), refusal.GetAllowedTools()
		}
		if approval, ok := message.(*accessv1.Approval); ok {
			e.Approval = approval
		}
		if refusal, ok := message.(*accessv1.CallError); ok {
			e.Refusal = refusal
		}
		e.Fields = appendViolations(e.Fields, message)
	}
}

// LogFailure records the error of a backend call, which the caller does not see, for the request's log line: at level info
// if the call failed because the caller disconnected.
func LogFailure(ctx context.Context, logger *slog.Logger, err error) {
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelInfo
	}
	logging.Fail(ctx, logger, level, "backend call failed", err.Error())
}

// Field is a rule that the request breaks.
type Field struct {
	// Path of the field, such as emails[1]; "" for a rule about the whole message.
	Path string
	// Message is a sentence that names the field and says what is wrong, for people
	// and models.
	Message string
}

// appendViolations appends the violations, if message is protovalidate's list of them.
func appendViolations(fields []Field, message proto.Message) []Field {
	violations, ok := message.(*validate.Violations)
	if !ok {
		return fields
	}
	for _, v := range violations.GetViolations() {
		fields = append(fields, Field{Path: fieldPath(v.GetField()), Message: v.GetMessage()})
	}
	return fields
}

// fieldPath writes a path as protovalidate does: a.b[1].c["key"].
func fieldPath(path *validate.FieldPath) string {
	var b strings.Builder
	for i, element := range path.GetElements() {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(element.GetFieldName())
		writeSubscript(&b, element)
	}
	return b.String()
}

func writeSubscript(b *strings.Builder, element *validate.FieldPathElement) {
	var subscript string
	switch s := element.GetSubscript().(type) {
	case *validate.FieldPathElement_Index:
		subscript = strconv.FormatUint(s.Index, 10)
	case *validate.FieldPathElement_IntKey:
		subscript = strconv.FormatInt(s.IntKey, 10)
	case *validate.FieldPathElement_UintKey:
		subscript = strconv.FormatUint(s.UintKey, 10)
	case *validate.FieldPathElement_BoolKey:
		subscript = strconv.FormatBool(s.BoolKey)
	case *validate.FieldPathElement_StringKey:
		subscript = strconv.Quote(s.StringKey)
	default:
		return
	}
	b.WriteString("[" + subscript + "]")
}
