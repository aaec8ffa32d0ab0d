// Package fault is the one coded error of the backend.
//
// Domain and store return a *fault.Error for every outcome that a caller can do
// something about; its message is safe to show. Any other error is internal: it
// is logged in full and shown as one sentence. The translation to the wire
// happens once, in internal/rpc.
package fault

import (
	"errors"
	"fmt"
)

// Code is the kind of an error, from the caller's point of view.
type Code string

// The codes. Internal has none: an error without a code is internal.
const (
	// Invalid: the request breaks a rule; repeating it will not help.
	Invalid Code = "invalid"
	// NotFound: the thing does not exist for this caller.
	NotFound Code = "not_found"
	// AlreadyExists: the thing exists already.
	AlreadyExists Code = "already_exists"
	// Conflict: another write changed the thing in between.
	Conflict Code = "conflict"
	// ReadOnly: the member's data may not be changed.
	ReadOnly Code = "read_only"
	// Unauthenticated: there is no valid credential.
	Unauthenticated Code = "unauthenticated"
	// Unavailable: the store cannot be reached; the same call may work later.
	Unavailable Code = "unavailable"
	// Exhausted: an allowance is used up; the same call works after it is renewed.
	Exhausted Code = "exhausted"
	// Full: the member's quota of stored bytes is used up; the same call works once there is room.
	Full Code = "full"
	// InFlight: the same request with an Idempotency-Key is still running.
	InFlight Code = "in_flight"
	// KeyReused: the Idempotency-Key was used for another request.
	KeyReused Code = "key_reused"
)

// Error is an outcome with a code and a sentence that is safe to show.
type Error struct {
	Code    Code
	Message string
	// Fields names the fields that broke a rule (Invalid only).
	Fields []Field
	cause  error
}

// Field is one field that broke a rule.
type Field struct{ Name, Message string }

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, which is for logs only.
func (e *Error) Unwrap() error { return e.cause }

// New makes an Error with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error whose cause is kept for the logs.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// InvalidField makes an Invalid error about one field.
func InvalidField(field, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: Invalid, Message: field + ": " + message, Fields: []Field{{field, message}}}
}

// Join returns one Invalid error with the fields of all Invalid errors; nil when all
// errors are nil. If an error is not Invalid, Join returns only the first such error.
func Join(errs ...error) error {
	var joined *Error
	for _, err := range errs {
		if err == nil {
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Code != Invalid {
			return err
		}
		if joined == nil {
			joined = &Error{Code: Invalid}
		} else {
			joined.Message += "; "
		}
		joined.Message += e.Message
		joined.Fields = append(joined.Fields, e.Fields...)
	}
	if joined == nil {
		return nil
	}
	return joined
}

// Is reports whether err has the code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
