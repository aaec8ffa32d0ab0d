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

	"github.com/kith-crm/kith/edge/internal/requestlog"
)

// Kind says what a failed call means to the caller of the edge.
type Kind uint8

// The kinds. The zero value is Internal, so that nothing unforeseen is shown.
const (
	// Internal is a fault of ours; its cause is for the log only.
	Internal Kind = iota
	// Unavailable is a backend that cannot be reached or cannot answer now.
	Unavailable
	// Unauthenticated is a dead bearer. Only the backend itself can say so: a 401 of a proxy in
	// between is Unavailable.
	Unauthenticated
	// Refused is a live bearer that may not do this; see Reason and RequiredScopes.
	Refused
	// Invalid is a request that breaks a rule; see Fields or else Message.
	Invalid
	// ToolFailed is an answer of the domain, such as "not found"; Message may be shown.
	ToolFailed
	// Exhausted is a member out of credits; Message may be shown.
	Exhausted
	// InFlight is a call whose idempotency key belongs to a call that is still running.
	InFlight
	// KeyReused is a call whose idempotency key was used for another request.
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

// reasonUnnamed is the reason of a refusal that comes without one.
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
	// Fields are the rules that a request breaks; there may be none.
	Fields []Field
	// Receipt has the headers of the failed call.
	Receipt Receipt

	cause error
}

// Error returns the text for the log. It is not for the caller.
func (e *Error) Error() string {
	if e.cause == nil {
		return "backend: " + e.Kind.String()
	}
	return "backend: " + e.Kind.String() + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// AsError returns err as an *Error. The end of a context is Unavailable, any other
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

// classify turns an error of Connect into an *Error.
func classify(err error) *Error {
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return &Error{Kind: Unavailable, cause: err}
	}
	if !connect.IsWireError(err) {
		return &Error{Kind: localKind(failure.Code()), cause: err}
	}
	e := &Error{Kind: wireKind(failure.Code()), cause: err, Receipt: newReceipt(failure.Meta())}
	switch failure.Meta().Get(headerIdempotency) {
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

// wireKind is the kind of a code that the backend sent.
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

// localKind is the kind of a code that this side made up: from a broken
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
		e.Fields = appendViolations(e.Fields, message)
	}
}

// LogFailure logs the error of a backend call, which the caller is not told. It logs at level info
// if the call failed because the caller went away.
func LogFailure(ctx context.Context, logger *slog.Logger, err error) {
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelInfo
	}
	logger.LogAttrs(ctx, level, "backend call failed",
		slog.String("request_id", requestlog.RequestID(ctx)), slog.String("error", err.Error()))
}

// Field is one broken rule of a request.
type Field struct {
	// Path of the field, such as emails[1]; "" for a rule about the whole message.
	Path string
	// Message is a sentence that names the field and says what is wrong, for people
	// and models.
	Message string
}

// appendViolations appends the broken rules, if message is protovalidate's list of them.
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
