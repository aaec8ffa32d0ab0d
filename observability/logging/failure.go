package logging

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Failure holds the error of a request until its log line is written, so that a failed request is logged once. It is
// safe for concurrent use; the first error is kept.
type Failure struct{ first atomic.Pointer[failed] }

type failed struct {
	level slog.Level
	text  string
}

type failureKey struct{}

// WithFailure returns a context with a Failure, and the Failure, which the caller writes to its log line. If ctx
// has one already, because the edge is in the same process, it returns that one, and outer is true: the edge writes it.
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

// Seldom limits a repeated log line to one a minute. Its zero value is ready to use; it is safe for concurrent use.
type Seldom struct{ last atomic.Int64 }

// Now reports whether a line may be written, the first one or the first after a minute.
func (s *Seldom) Now() bool {
	now, last := time.Now().UnixNano(), s.last.Load()
	return (last == 0 || now-last >= int64(time.Minute)) && s.last.CompareAndSwap(last, now)
}
