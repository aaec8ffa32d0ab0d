package logging

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Failure is why a request failed. It belongs on the request's log line, so that one line tells of one failure. It is
// safe for concurrent use; the first failure counts.
type Failure struct{ first atomic.Pointer[failed] }

type failed struct {
	level slog.Level
	text  string
}

type failureKey struct{}

// WithFailure returns a context whose failure is written by the caller, and the failure. If ctx has one already, of a
// request in the same process, it is returned with ctx, and outer is true: its owner writes it.
func WithFailure(ctx context.Context) (_ context.Context, f *Failure, outer bool) {
	if f, ok := ctx.Value(failureKey{}).(*Failure); ok {
		return ctx, f, true
	}
	f = &Failure{}
	return context.WithValue(ctx, failureKey{}, f), f, false
}

// Fail records why the request of ctx failed, for its log line. Without such a line it logs the failure itself, with
// what failed as the message.
func Fail(ctx context.Context, logger *slog.Logger, level slog.Level, what, text string) {
	if f, ok := ctx.Value(failureKey{}).(*Failure); ok {
		f.first.CompareAndSwap(nil, &failed{level, text})
		return
	}
	logger.LogAttrs(ctx, level, what, slog.String("request_id", RequestID(ctx)), slog.String("error", text))
}

// Line returns the level of the request's line, which is at least level, and the attribute error; none if nothing
// failed.
func (f *Failure) Line(level slog.Level) (slog.Level, []slog.Attr) {
	first := f.first.Load()
	if first == nil {
		return level, nil
	}
	return max(level, first.level), []slog.Attr{slog.String("error", first.text)}
}

// Seldom is true once a minute, for lines about a state that lasts. Its zero value is ready; it is safe for concurrent
// use.
type Seldom struct{ last atomic.Int64 }

// Now reports whether a line may be written, the first one or the first after a minute.
func (s *Seldom) Now() bool {
	now, last := time.Now().UnixNano(), s.last.Load()
	return (last == 0 || now-last > int64(time.Minute)) && s.last.CompareAndSwap(last, now)
}
